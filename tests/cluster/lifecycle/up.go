package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"

	"windlass.dev/cluster/addons"
	"windlass.dev/cluster/addresses"
	"windlass.dev/cluster/certs"
	"windlass.dev/cluster/cgroup"
	"windlass.dev/cluster/controlplane"
	"windlass.dev/cluster/machine"
	"windlass.dev/cluster/network"
	"windlass.dev/cluster/node"
	"windlass.dev/cluster/process"
	"windlass.dev/cluster/state"
)

// Up makes the cluster, or brings it back to work when it is there: stopped components are started, a half-made cluster
// and one from before the machine's last start are removed and made again.
func (h Home) Up(ctx context.Context, name string, kind state.Kind) (*state.Cluster, error) {
	if err := state.CheckName(name); err != nil {
		return nil, err
	}
	if err := h.preflight(kind); err != nil {
		return nil, err
	}
	for {
		cluster, again, err := h.tryUp(ctx, name, kind)
		if err != nil || !again {
			return cluster, err
		}
	}
}

// tryUp removes a cluster that is of no use and then asks to be called again: with the cluster's folder its lock is
// gone, and somebody else may be next.
func (h Home) tryUp(ctx context.Context, name string, kind state.Kind) (cluster *state.Cluster, again bool, err error) {
	lock, err := state.LockDir(state.DirOf(h.State, name))
	if err != nil {
		return nil, false, err
	}
	defer lock.Release()
	cluster, err = state.Load(h.State, name)
	switch {
	case errors.Is(err, state.ErrNoCluster):
		cluster, err = h.makeNew(ctx, name, kind)
		return cluster, false, err
	case err != nil:
		return nil, false, err
	case cluster.Kind != kind:
		return nil, false, fmt.Errorf("cluster %q exists as a %s cluster: take another --name, or take it down first",
			name, cluster.Kind)
	case usable(cluster):
		return cluster, false, h.bringUp(ctx, cluster)
	}
	fmt.Fprintf(h.Progress, "cluster %q is half-made or from before the machine's start: making it again\n", name)
	return nil, true, h.remove(ctx, cluster)
}

func (h Home) makeNew(ctx context.Context, name string, kind state.Kind) (*state.Cluster, error) {
	cluster, err := h.prepare(name, kind)
	if err != nil {
		return nil, err
	}
	if err := h.bringUp(ctx, cluster); err != nil {
		return nil, err
	}
	cluster.Stage = state.Made
	return cluster, cluster.Save()
}

// usable tells whether everything that is not a process is in place.
func usable(cluster *state.Cluster) bool {
	if cluster.Stage != state.Made || cluster.Boot != process.Boot() {
		return false
	}
	return cluster.Kind == state.ControlPlane || machine.Holds(cluster) && namespacesOf(cluster).Exists()
}

// prepare makes everything that is not a process.
func (h Home) prepare(name string, kind state.Kind) (*state.Cluster, error) {
	cluster := &state.Cluster{
		Name: name, Kind: kind, Stage: state.Making, Boot: process.Boot(), Created: time.Now().Truncate(time.Second),
		Dir: state.DirOf(h.State, name), Cache: h.Cache,
	}
	err := h.stage("certificates, network and control groups", func() error {
		if err := claim(cluster); err != nil {
			return err
		}
		clients, ca, err := certs.Write(cluster)
		if err != nil {
			return err
		}
		if err := certs.WriteKubeconfigs(cluster, clients, ca); err != nil {
			return err
		}
		if err := controlplane.WriteConfig(cluster); err != nil {
			return err
		}
		if kind == state.ControlPlane {
			return nil
		}
		return h.prepareNode(cluster)
	})
	return cluster, err
}

// claim finds addresses for the cluster and saves its record, so that `down` knows what to look for from here on.
func claim(cluster *state.Cluster) error {
	if cluster.Kind == state.Full {
		return machine.Claim(cluster)
	}
	var err error
	if cluster.Addresses, err = addresses.OnLoopback(); err != nil {
		return err
	}
	return cluster.Save()
}

func (h Home) prepareNode(cluster *state.Cluster) error {
	if err := node.WriteConfig(cluster); err != nil {
		return err
	}
	if err := addons.WriteConfig(cluster); err != nil {
		return err
	}
	if err := cgroup.Make(node.Group(cluster)); err != nil {
		return err
	}
	shown := h.shown(cluster)
	for _, dir := range shown {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return fmt.Errorf("failed to make a folder of the cluster: %w", err)
		}
	}
	namespaces := namespacesOf(cluster)
	if err := namespaces.Make(shown); err != nil {
		return err
	}
	return network.Connect(namespaces, cluster.Index, cluster.Addresses)
}

// shown are the folders that the cluster's processes see: its own, those of the programs, and at the usual place of
// each node (where the paths of sockets are short enough) what the node keeps.
func (h Home) shown(cluster *state.Cluster) map[string]string {
	shown := node.Folders(cluster)
	for _, dir := range []string{cluster.Dir, machine.RunDir(cluster.Index), filepath.Dir(h.Binary), filepath.Join(cluster.Cache, "bin")} {
		shown[dir] = dir
	}
	return shown
}

// bringUp starts what does not run and waits until all of it works.
func (h Home) bringUp(ctx context.Context, cluster *state.Cluster) error {
	if cluster.Kind == state.ControlPlane {
		return h.bringUpControlPlane(ctx, cluster)
	}
	// Importing waits for the disk and the API server for the processor.
	group, together := errgroup.WithContext(ctx)
	group.Go(func() error { return h.bringUpContainers(together, cluster) })
	group.Go(func() error {
		return h.stage("etcd and API server", func() error {
			return start(together, cluster, controlplane.Store(cluster, h.Binary)...)
		})
	})
	if err := group.Wait(); err != nil {
		return err
	}
	if !h.addons(cluster).HasDNS() {
		fmt.Fprintf(h.Progress, "         no %s: names do not resolve in Pods\n", h.addons(cluster).CoreDNS)
	}
	return h.stage("controllers, node and add-ons", func() error {
		if err := addons.Apply(ctx, cluster, h.addons(cluster)); err != nil {
			return err
		}
		return start(ctx, cluster, h.workers(cluster)...)
	})
}
