package lifecycle

import (
	"context"

	"windlass.dev/cluster/images"
	"windlass.dev/cluster/node"
	"windlass.dev/cluster/process"
	"windlass.dev/cluster/state"
)

// bringUpContainers starts containerd with all images that the cache holds.
func (h Home) bringUpContainers(ctx context.Context, cluster *state.Cluster) error {
	archives, err := h.archives()
	if err != nil {
		return err
	}
	seed, err := node.SeedOf(ctx, h.Cache, archives)
	if err != nil {
		return err
	}
	fits, err := seed.Fits(cluster)
	if err != nil {
		return err
	}
	if fits && cluster.Stage != state.Made {
		return h.bringUpWith(ctx, cluster, seed, archives)
	}
	return h.stage("containerd and images", func() error { return runWith(ctx, cluster, archives) })
}

// bringUpWith lets a new cluster take the images over from an earlier one. The first one has to import them, and keeps
// them for the next.
func (h Home) bringUpWith(ctx context.Context, cluster *state.Cluster, seed node.Seed, archives []string) error {
	planted := false
	err := h.stage("containerd and images", func() (err error) {
		if planted, err = seed.Plant(ctx, cluster); err != nil {
			return err
		}
		return runWith(ctx, cluster, archives)
	})
	if err != nil || planted {
		return err
	}
	return h.stage("images kept for other clusters", func() error { return keepImages(ctx, cluster, seed) })
}

func runWith(ctx context.Context, cluster *state.Cluster, archives []string) error {
	if err := start(ctx, cluster, node.ContainerRuntime(cluster)); err != nil {
		return err
	}
	return node.ImportAll(ctx, cluster, archives)
}

// keepImages stops containerd for a moment: only then are its files in step with each other.
func keepImages(ctx context.Context, cluster *state.Cluster, seed node.Seed) error {
	runtime := node.ContainerRuntime(cluster)
	record, err := process.Recorded(cluster, runtime.Name)
	if err != nil {
		return err
	}
	if err := record.Stop(runtime.Grace); err != nil {
		return err
	}
	if err := seed.Keep(ctx, cluster); err != nil {
		return err
	}
	return start(ctx, cluster, runtime)
}

func (h Home) archives() ([]string, error) {
	store, err := images.OpenStore(h.Cache)
	if err != nil {
		return nil, err
	}
	return store.Archives()
}
