package lifecycle

import (
	"context"
	"fmt"

	"windlass.dev/cluster/images"
	"windlass.dev/cluster/node"
	"windlass.dev/cluster/process"
	"windlass.dev/cluster/state"
)

// bringUpContainers starts containerd with all images that the cache holds. A new cluster takes them over from an
// earlier one; the first has to import them, and keeps them for the next.
func (h Home) bringUpContainers(ctx context.Context, cluster *state.Cluster) error {
	archives, err := h.archives()
	if err != nil {
		return err
	}
	if cluster.Stage == state.Made {
		return h.stage("containerd and new images", func() error { return runWith(ctx, cluster, archives) })
	}
	seed, err := node.SeedOf(ctx, h.Cache, archives)
	if err != nil {
		return err
	}
	planted := false
	err = h.stage("containerd and images", func() error {
		if planted, err = seed.Plant(ctx, cluster); err != nil {
			return err
		}
		return runWith(ctx, cluster, archives)
	})
	if err != nil || planted {
		return err
	}
	return h.stage("images kept for other clusters", func() error { return h.keepImages(ctx, cluster, seed) })
}

func runWith(ctx context.Context, cluster *state.Cluster, archives []string) error {
	if err := start(ctx, cluster, node.ContainerRuntime(cluster)); err != nil {
		return err
	}
	return node.ImportAll(ctx, cluster, archives)
}

// keepImages stops containerd for a moment: only then are its files in step with each other. That the cache lies on
// another disk than the clusters costs time and is no failure.
func (h Home) keepImages(ctx context.Context, cluster *state.Cluster, seed node.Seed) error {
	runtime := node.ContainerRuntime(cluster)
	record, err := process.Recorded(cluster, runtime.Name)
	if err != nil {
		return err
	}
	if err := record.Stop(runtime.Grace); err != nil {
		return err
	}
	if err := seed.Keep(ctx, cluster); err != nil {
		fmt.Fprintf(h.Progress, "         each cluster imports its images by itself: %v\n", err)
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
