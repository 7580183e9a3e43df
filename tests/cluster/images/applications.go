package images

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"
)

const applicationsPattern = "applications-*.tar"

// Applications returns the archive with the databases, Prometheus and the exporters, and makes it when the recipe has
// none yet. When it cannot be made, the last one that could be is returned, and progress says so; without any, the
// error is.
func (store Store) Applications(ctx context.Context, progress io.Writer) (string, error) {
	return store.applications(func(wanted string) (string, error) {
		if _, err := os.Stat(wanted); err == nil {
			return wanted, nil
		}
		return store.freshApplications(ctx, progress, wanted)
	})
}

// FreshApplications is Applications with the packages that the suite has today, also where there is an archive.
func (store Store) FreshApplications(ctx context.Context, progress io.Writer) (string, error) {
	return store.applications(func(wanted string) (string, error) {
		return store.freshApplications(ctx, progress, wanted)
	})
}

func (store Store) applications(obtain func(wanted string) (string, error)) (archive string, err error) {
	wanted := store.path("applications-" + applicationRecipe.key() + ".tar")
	err = store.locked(func() error {
		archive, err = obtain(wanted)
		return err
	})
	return archive, err
}

func (store Store) freshApplications(ctx context.Context, progress io.Writer, wanted string) (string, error) {
	failure := store.makeApplications(ctx, progress, wanted)
	if failure == nil {
		return wanted, store.keepOnly(wanted, applicationsPattern)
	}
	last, made, err := store.newest(applicationsPattern)
	if err != nil || last == "" {
		return "", failure
	}
	fmt.Fprintf(progress, "%v\nno fresh application image could be made: using the one of %s (%s)\n",
		failure, made.Format(time.DateTime), last)
	return last, nil
}

func (store Store) makeApplications(ctx context.Context, progress io.Writer, archive string) error {
	fmt.Fprintf(progress, "making the application image from Debian %s, about a minute\n", applicationRecipe.suite)
	rootfs := store.path(unfinished + "rootfs")
	defer os.Remove(rootfs)
	if err := applicationRecipe.bootstrap(ctx, rootfs); err != nil {
		return err
	}
	versions, err := packageVersions(rootfs)
	if err != nil {
		return err
	}
	images, err := applicationImages(versions)
	if err != nil {
		return err
	}
	return archiveFile(archive, rootfs, images)
}
