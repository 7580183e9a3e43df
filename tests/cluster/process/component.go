package process

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"windlass.dev/cluster/state"
)

// Component is one long-running program of a cluster.
type Component struct {
	Name string
	Args []string
	// Grace is how long the component may take to end by itself when it alone is stopped.
	Grace time.Duration
	// Ready tells whether it does its work yet; nil means that running is enough.
	Ready func(context.Context) error
}

// Record is what is stored about a component's running process.
type Record struct {
	Identity
	Since time.Time `json:"since"`
}

// StartComponent starts the component unless it runs, and records its process.
func StartComponent(cluster *state.Cluster, component Component) error {
	if record, err := Recorded(cluster, component.Name); err == nil && record.Alive() {
		return nil
	}
	identity, err := Start(Command{Args: component.Args, Log: cluster.Log(component.Name), Owner: cluster.Dir})
	if err != nil {
		return fmt.Errorf("failed to start component %s: %w", component.Name, err)
	}
	raw, err := json.Marshal(Record{identity, time.Now().Truncate(time.Second)})
	if err != nil {
		return fmt.Errorf("failed to encode the record of %s: %w", component.Name, err)
	}
	return state.WriteFile(cluster.ProcessFile(component.Name), raw, 0o644)
}

// Recorded reads which process runs, or ran, the component.
func Recorded(cluster *state.Cluster, name string) (Record, error) {
	var record Record
	raw, err := os.ReadFile(cluster.ProcessFile(name))
	if errors.Is(err, fs.ErrNotExist) {
		return record, nil
	}
	if err != nil {
		return record, fmt.Errorf("failed to read the record of %s: %w", name, err)
	}
	if err := json.Unmarshal(raw, &record); err != nil {
		return record, fmt.Errorf("failed to parse the record of %s: %w", name, err)
	}
	return record, nil
}

// pollInterval is the time between two looks at something that has no event to wait for.
const pollInterval = 100 * time.Millisecond

// Await waits until the component is ready. It fails at once when the process ends, and when the context does; the
// error then ends with the last lines of the component's log.
func Await(ctx context.Context, cluster *state.Cluster, component Component) error {
	for {
		record, err := Recorded(cluster, component.Name)
		if err != nil {
			return err
		}
		if !record.Alive() {
			return withLog(cluster, component.Name, errors.New("ended right after its start"))
		}
		if component.Ready == nil {
			return nil
		}
		notReady := component.Ready(ctx)
		if notReady == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return withLog(cluster, component.Name, fmt.Errorf("did not become ready in time: %w", notReady))
		case <-time.After(pollInterval):
		}
	}
}

func withLog(cluster *state.Cluster, name string, err error) error {
	log := cluster.Log(name)
	return fmt.Errorf("%s %w\nthe last lines of %s:\n%s", name, err, log, tail(log, 15))
}

// tail returns the last lines of a file, or why it cannot be read.
func tail(path string, count int) string {
	raw, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	lines := bytes.Split(bytes.TrimRight(raw, "\n"), []byte("\n"))
	var text strings.Builder
	for _, line := range lines[max(0, len(lines)-count):] {
		fmt.Fprintf(&text, "  %.300s\n", line)
	}
	return strings.TrimRight(text.String(), "\n")
}
