package lifecycle

import (
	"context"
	"fmt"
	"os"
	"os/exec"

	"windlass.dev/cluster/node"
	"windlass.dev/cluster/process"
	"windlass.dev/cluster/state"
)

// LoadImage gives the images of a docker-archive to the cluster.
func (h Home) LoadImage(ctx context.Context, name, archive string) error {
	return h.withNode(name, func(cluster *state.Cluster) error { return node.Import(ctx, cluster, archive) })
}

// ContainerPID is the process, on this machine, of a Pod's container.
func (h Home) ContainerPID(ctx context.Context, name, namespace, pod, container string) (int, error) {
	var pid int
	err := h.withNode(name, func(cluster *state.Cluster) error {
		var err error
		pid, err = node.ContainerPID(ctx, cluster, namespace, pod, container)
		return err
	})
	return pid, err
}

// withNode is for what a cluster without a node cannot do. It does not lock: nothing in the record is changed.
func (h Home) withNode(name string, do func(*state.Cluster) error) error {
	cluster, err := h.load(name)
	if err != nil {
		return err
	}
	if cluster.Kind != state.Full {
		return fmt.Errorf("cluster %q has no node: it was made with --control-plane", name)
	}
	return do(cluster)
}

// InNetwork runs a command in the cluster's network namespace, with this program's terminal and environment, and
// returns its exit code. `down` ends it with the cluster.
func (h Home) InNetwork(ctx context.Context, name string, args []string) (int, error) {
	code := 0
	err := h.withNode(name, func(cluster *state.Cluster) error {
		command := exec.CommandContext(ctx, args[0], args[1:]...)
		command.Stdin, command.Stdout, command.Stderr = os.Stdin, os.Stdout, os.Stderr
		command.Env = append(os.Environ(), process.Marker+"="+cluster.Dir)
		if err := namespacesOf(cluster).RunInNetwork(command.Start); err != nil {
			return fmt.Errorf("failed to start %s: %w", args[0], err)
		}
		// Wait tells failure as an error, the state tells the code.
		_ = command.Wait()
		code = command.ProcessState.ExitCode()
		return nil
	})
	return code, err
}
