// Package lifecycle makes clusters, looks after them and removes them: it puts the other packages in their order.
package lifecycle

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"time"

	"windlass.dev/cluster/state"
)

// Home is where clusters live and what they are made with.
type Home struct {
	// State is the directory of all clusters' files.
	State string
	// Cache holds bin/ and images/, which somebody else fills.
	Cache string
	// Binary is this program, which contains most components.
	Binary string
	// Progress takes one line for each stage.
	Progress io.Writer
}

// stage does one step of something long and tells how long it took.
func (h Home) stage(name string, do func() error) error {
	start := time.Now()
	if err := do(); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	fmt.Fprintf(h.Progress, "%6.1fs  %s\n", time.Since(start).Seconds(), name)
	return nil
}

// withCluster calls do with the record of a cluster that exists, while nobody else changes that cluster.
func (h Home) withCluster(name string, do func(*state.Cluster) error) error {
	if err := state.CheckName(name); err != nil {
		return err
	}
	lock, err := state.LockExisting(state.DirOf(h.State, name))
	if errors.Is(err, fs.ErrNotExist) {
		return h.unknown(name)
	}
	if err != nil {
		return err
	}
	defer lock.Release()
	cluster, err := h.load(name)
	if err != nil {
		return err
	}
	return do(cluster)
}

// load reads the record of a cluster that should exist.
func (h Home) load(name string) (*state.Cluster, error) {
	if err := state.CheckName(name); err != nil {
		return nil, err
	}
	cluster, err := state.Load(h.State, name)
	if errors.Is(err, state.ErrNoCluster) {
		return nil, h.unknown(name)
	}
	return cluster, err
}

// unknown names the clusters that there are: the asked one is often a slip of the pen.
func (h Home) unknown(name string) error {
	names, err := state.Names(h.State)
	if err != nil {
		return err
	}
	if len(names) == 0 {
		return fmt.Errorf("%w: %q; there is none in %s, `windlass-cluster up` makes one", state.ErrNoCluster, name, h.State)
	}
	return fmt.Errorf("%w: %q; in %s there are: %v", state.ErrNoCluster, name, h.State, names)
}
