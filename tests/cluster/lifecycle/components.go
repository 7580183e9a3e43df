package lifecycle

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"windlass.dev/cluster/addons"
	"windlass.dev/cluster/controlplane"
	"windlass.dev/cluster/machine"
	"windlass.dev/cluster/namespace"
	"windlass.dev/cluster/node"
	"windlass.dev/cluster/process"
	"windlass.dev/cluster/state"
)

// readyTime is how long a component may take; the API server of a busy machine takes longest.
const readyTime = 2 * time.Minute

// components are all of the cluster in the order of their start.
func (h Home) components(cluster *state.Cluster) []process.Component {
	store := controlplane.Store(cluster, h.Binary)
	if cluster.Kind == state.ControlPlane {
		return store
	}
	return slices.Concat([]process.Component{node.ContainerRuntime(cluster)}, store, h.workers(cluster))
}

// workers are the components that need the API server.
func (h Home) workers(cluster *state.Cluster) []process.Component {
	return slices.Concat(
		controlplane.Controllers(cluster, h.Binary),
		node.Components(cluster, h.Binary),
		addons.Components(cluster, h.addons(cluster)),
	)
}

func (h Home) addons(cluster *state.Cluster) addons.Paths {
	return addons.PathsIn(cluster.Cache, h.Binary)
}

// namespacesOf are the cluster's namespaces; a cluster without a node runs in the machine's own.
func namespacesOf(cluster *state.Cluster) namespace.Set {
	return namespace.Set{Dir: machine.RunDir(cluster.Index) + "/namespaces"}
}

// start starts the components that do not run yet and waits until all are ready.
func start(ctx context.Context, cluster *state.Cluster, components ...process.Component) error {
	startAll := func() error {
		for _, component := range components {
			if err := process.StartComponent(cluster, component); err != nil {
				return err
			}
		}
		return nil
	}
	if err := inside(cluster, startAll); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, readyTime)
	defer cancel()
	for _, component := range components {
		if err := process.Await(ctx, cluster, component); err != nil {
			return err
		}
	}
	return nil
}

// inside calls do where the cluster's processes belong.
func inside(cluster *state.Cluster, do func() error) error {
	if cluster.Kind == state.ControlPlane {
		return do()
	}
	return namespacesOf(cluster).Run(do)
}

// component finds a component of the cluster by its name.
func (h Home) component(cluster *state.Cluster, name string) (process.Component, error) {
	var names []string
	for _, component := range h.components(cluster) {
		if component.Name == name {
			return component, nil
		}
		names = append(names, component.Name)
	}
	return process.Component{}, fmt.Errorf("cluster %q has no component %q; it has %s",
		cluster.Name, name, strings.Join(names, ", "))
}

// StopComponent ends one component and leaves the others alone.
func (h Home) StopComponent(name, component string) error {
	return h.withCluster(name, func(cluster *state.Cluster) error {
		found, err := h.component(cluster, component)
		if err != nil {
			return err
		}
		record, err := process.Recorded(cluster, component)
		if err != nil {
			return err
		}
		return record.Stop(found.Grace)
	})
}

// StartComponent starts one component, if it does not run, and waits until it is ready.
func (h Home) StartComponent(ctx context.Context, name, component string) error {
	return h.withCluster(name, func(cluster *state.Cluster) error {
		found, err := h.component(cluster, component)
		if err != nil {
			return err
		}
		return start(ctx, cluster, found)
	})
}
