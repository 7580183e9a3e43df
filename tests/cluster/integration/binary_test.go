// Package integration holds the tests that make real clusters. They run the built binary, so they need no minutes of
// linking.
package integration

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"windlass.dev/cluster/leftovers"
)

// home is a state directory and a cache of a test's own.
type home struct {
	t                    *testing.T
	binary, state, cache string
}

// newHome prepares a cache with the pause image alone: the clusters of these tests are up in seconds.
func newHome(t *testing.T) home {
	t.Helper()
	binary := os.Getenv("WINDLASS_CLUSTER_BINARY")
	if binary == "" {
		t.Skip("WINDLASS_CLUSTER_BINARY does not name a built windlass-cluster; `cargo xtask test` sets it")
	}
	if os.Geteuid() != 0 {
		t.Skip("not root: clusters with a node need it")
	}
	h := home{t, binary, filepath.Join(t.TempDir(), "state"), t.TempDir()}
	h.makePauseImage()
	t.Cleanup(h.removeAll)
	return h
}

func (h home) makePauseImage() {
	h.t.Helper()
	program := filepath.Join(h.t.TempDir(), "image")
	build := exec.Command("go", "build", "-trimpath", "-o", program, "windlass.dev/cluster/cmd/image")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if output, err := build.CombinedOutput(); err != nil {
		h.t.Fatalf("failed to build the image command: %v: %s", err, output)
	}
	if output, err := exec.Command(program, "pause", "--cache", h.cache).CombinedOutput(); err != nil {
		h.t.Fatalf("failed to make the pause image: %v: %s", err, output)
	}
}

// removeAll takes down what a failed test left.
func (h home) removeAll() {
	output, err := h.command("list").Output()
	if err != nil {
		h.t.Errorf("failed to list clusters: %v", err)
	}
	for _, name := range strings.Fields(string(output)) {
		if output, err := h.command("down", "--name", name).CombinedOutput(); err != nil {
			h.t.Errorf("failed to remove cluster %s: %v: %s", name, err, output)
		}
	}
}

func (h home) command(args ...string) *exec.Cmd {
	return exec.Command(h.binary, append([]string{"--state", h.state, "--cache", h.cache}, args...)...)
}

// run fails the test when the command does, and returns what it printed.
func (h home) run(args ...string) string {
	h.t.Helper()
	command := h.command(args...)
	var complaint bytes.Buffer
	command.Stderr = &complaint
	output, err := command.Output()
	if err != nil {
		h.t.Fatalf("%v: %v: %s%s", args, err, output, complaint.String())
	}
	return strings.TrimSpace(string(output))
}

// fails returns the complaint of a command that must fail.
func (h home) fails(args ...string) string {
	h.t.Helper()
	command := h.command(args...)
	var complaint bytes.Buffer
	command.Stderr = &complaint
	if err := command.Run(); err == nil {
		h.t.Fatalf("%v succeeds", args)
	}
	return strings.TrimSpace(complaint.String())
}

// kubectl runs upstream's kubectl on the cluster.
func (h home) kubectl(cluster string, args ...string) string {
	h.t.Helper()
	kubeconfig := filepath.Join(h.state, "clusters", cluster, "kubeconfig")
	command := exec.Command(h.binary, append([]string{"kubectl", "--kubeconfig", kubeconfig, "--cache-dir", h.cache}, args...)...)
	output, err := command.CombinedOutput()
	if err != nil {
		h.t.Fatalf("kubectl %v: %v: %s", args, err, output)
	}
	return strings.TrimSpace(string(output))
}

type status struct {
	Healthy    bool
	Problem    string
	AuditLog   string
	APIServer  string
	Components []struct {
		Name    string
		Running bool
		PID     int
	}
	Node struct{ PodRange, NetworkNamespace string }
}

// status is also given for a cluster that is not healthy.
func (h home) status(cluster string) status {
	h.t.Helper()
	output, err := h.command("status", "--name", cluster, "--output", "json").Output()
	var found status
	if parseErr := json.Unmarshal(output, &found); parseErr != nil {
		h.t.Fatalf("failed to get the status of %s: %v: %v: %s", cluster, err, parseErr, output)
	}
	return found
}

func (h home) mustBeHealthy(cluster string) status {
	h.t.Helper()
	found := h.status(cluster)
	if !found.Healthy {
		h.t.Fatalf("cluster %s is not healthy: %s", cluster, found.Problem)
	}
	return found
}

func (s status) pids() map[string]int {
	pids := map[string]int{}
	for _, component := range s.Components {
		pids[component.Name] = component.PID
	}
	return pids
}

// machineBefore is compared with the machine when compare is called.
func (h home) machineBefore() (compare func()) {
	h.t.Helper()
	t := h.t
	before, err := leftovers.Look(h.state)
	if err != nil {
		t.Fatal(err)
	}
	return func() {
		t.Helper()
		left, err := before.Left(h.state)
		if err != nil {
			t.Fatal(err)
		}
		if len(left) > 0 {
			t.Fatalf("left on the machine:\n%s", strings.Join(left, "\n"))
		}
	}
}

func (h home) nothingRuns() {
	h.t.Helper()
	left, err := leftovers.ProcessesOf(h.state)
	if err != nil {
		h.t.Fatal(err)
	}
	if len(left) > 0 {
		h.t.Errorf("processes are left:\n%s", strings.Join(left, "\n"))
	}
	if _, err := os.Stat(h.state); !os.IsNotExist(err) {
		h.t.Errorf("the state directory is left (%v)", err)
	}
}
