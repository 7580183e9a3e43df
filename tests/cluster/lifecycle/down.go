package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"windlass.dev/cluster/cgroup"
	"windlass.dev/cluster/machine"
	"windlass.dev/cluster/network"
	"windlass.dev/cluster/node"
	"windlass.dev/cluster/process"
	"windlass.dev/cluster/state"
)

// endTime is how long the cluster's processes and control groups may take to go.
const endTime = time.Minute

// Down removes the cluster and everything that Up made for it, also when it is half-made.
func (h Home) Down(ctx context.Context, name string) error {
	if err := state.CheckName(name); err != nil {
		return err
	}
	dir := state.DirOf(h.State, name)
	lock, err := state.LockExisting(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return h.unknown(name)
	}
	if err != nil {
		return err
	}
	defer lock.Release()
	cluster, err := state.Load(h.State, name)
	if errors.Is(err, state.ErrNoCluster) {
		// Its making ended before the first thing outside this folder.
		return h.removeFiles(dir)
	}
	if err != nil {
		return err
	}
	return h.stage("removed", func() error { return h.remove(ctx, cluster) })
}

func (h Home) remove(ctx context.Context, cluster *state.Cluster) error {
	ctx, cancel := context.WithTimeout(ctx, endTime)
	defer cancel()
	if err := endProcesses(ctx, cluster); err != nil {
		return err
	}
	if cluster.Kind == state.Full && machine.Holds(cluster) {
		if err := removeNode(ctx, cluster); err != nil {
			return err
		}
	}
	return h.removeFiles(cluster.Dir)
}

func removeNode(ctx context.Context, cluster *state.Cluster) error {
	if err := network.Disconnect(cluster.Index); err != nil {
		return err
	}
	if err := namespacesOf(cluster).Remove(); err != nil {
		return err
	}
	if err := cgroup.Remove(ctx, node.Group(cluster)); err != nil {
		return err
	}
	return machine.Release(cluster)
}

// endProcesses kills everything: nothing of what the processes would still write is kept. It looks again until nothing
// is left, because a process may start another before its turn comes.
func endProcesses(ctx context.Context, cluster *state.Cluster) error {
	for {
		left, err := processesOf(cluster)
		if err != nil || len(left) == 0 {
			return err
		}
		if ctx.Err() != nil {
			return fmt.Errorf("failed to end the cluster's processes: %d are left: %w", len(left), ctx.Err())
		}
		for _, identity := range left {
			if err := identity.Stop(0); err != nil {
				return err
			}
		}
	}
}

// processesOf lists the cluster's own processes, which would start containers again, before those in containers.
func processesOf(cluster *state.Cluster) ([]process.Identity, error) {
	found, err := process.Marked(cluster.Dir)
	if err != nil || cluster.Kind != state.Full || !machine.Holds(cluster) {
		return found, err
	}
	contained, err := cgroup.Processes(node.Group(cluster))
	if err != nil {
		return nil, err
	}
	for _, pid := range contained {
		if identity, err := process.Identify(pid); err == nil && identity.Alive() {
			found = append(found, identity)
		}
	}
	return found, nil
}

// removeFiles removes the cluster's folder, and the folders above it when no other cluster is left in them.
func (h Home) removeFiles(dir string) error {
	if err := os.RemoveAll(dir); err != nil {
		return fmt.Errorf("failed to remove the cluster's files: %w", err)
	}
	for _, parent := range []string{filepath.Dir(dir), h.State} {
		if os.Remove(parent) != nil {
			break // not empty
		}
	}
	return nil
}
