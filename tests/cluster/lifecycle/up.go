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
	dir := state.DirOf(h.State, name)
	if err := h.preflight(kind); err != nil {
		return nil, err
	}
	lock, err := state.LockDir(dir)
	if err != nil {
		return nil, err
	}
	defer func() { lock.Release() }()

	cluster, err := state.Load(h.State, name)
	if err == nil && cluster.Kind != kind {
		return nil, fmt.Errorf("cluster %q exists as a %s cluster: take another --name, or take it down first",
			name, cluster.Kind)
	}
	if err == nil && usable(cluster) {
		return cluster, h.bringUp(ctx, cluster)
	}
	if err == nil {
		fmt.Fprintf(h.Progress, "cluster %q is half-made or from before the machine's start: making it again\n", name)
		if err := h.remove(ctx, cluster); err != nil {
			return nil, err
		}
		lock.Release()
		if lock, err = state.LockDir(dir); err != nil {
			return nil, err
		}
	} else if !errors.Is(err, state.ErrNoCluster) {
		return nil, err
	}
	cluster, err = h.prepare(name, kind)
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
		Dir: state.DirOf(h.State, name),
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
	for _, dir := range []string{cluster.Dir, machine.RunDir(cluster.Index), filepath.Dir(h.Binary), filepath.Join(h.Cache, "bin")} {
		shown[dir] = dir
	}
	return shown
}

// bringUp starts what does not run and waits until all of it works.
func (h Home) bringUp(ctx context.Context, cluster *state.Cluster) error {
	if cluster.Kind == state.ControlPlane {
		return h.stage("etcd and API server", func() error { return start(ctx, cluster, h.components(cluster)...) })
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
	if !h.addons().HasDNS() {
		fmt.Fprintf(h.Progress, "         no %s: names do not resolve in Pods\n", h.addons().CoreDNS)
	}
	return h.stage("controllers, node and add-ons", func() error {
		if err := addons.Apply(ctx, cluster, h.addons()); err != nil {
			return err
		}
		return start(ctx, cluster, h.workers(cluster)...)
	})
}
