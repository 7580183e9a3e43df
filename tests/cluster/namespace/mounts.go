package namespace

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/moby/sys/mountinfo"
	"golang.org/x/sys/unix"
)

// hidden are the folders of which the cluster has its own, empty at first: kubelet, containerd, CNI and iptables write
// to fixed places in them.
var hidden = []string{"/run", "/var/lib", "/var/log"}

// unshare moves the calling thread into new namespaces and arranges the mounts there.
func unshare(shown map[string]string) error {
	if err := unix.Unshare(unix.CLONE_NEWNS | unix.CLONE_NEWNET); err != nil {
		return fmt.Errorf("failed to make namespaces: %w", err)
	}
	// Mounts of the machine arrive here but not the other way. Shared again within, as the kubelet expects.
	for _, propagation := range []uintptr{unix.MS_SLAVE, unix.MS_SHARED} {
		if err := unix.Mount("", "/", "", unix.MS_REC|propagation, ""); err != nil {
			return fmt.Errorf("failed to separate the mounts: %w", err)
		}
	}
	if err := dropNamespaceFiles(); err != nil {
		return err
	}
	sources, err := open(shown)
	if err != nil {
		return err
	}
	for _, dir := range hidden {
		if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "mode=0755"); err != nil {
			return fmt.Errorf("failed to hide %s: %w", dir, err)
		}
	}
	return show(sources)
}

// dropNamespaceFiles unmounts the copies of files that are bound to network namespaces. They would keep those of other
// clusters alive after their end.
func dropNamespaceFiles() error {
	mounts, err := mountinfo.GetMounts(mountinfo.FSTypeFilter("nsfs"))
	if err != nil {
		return fmt.Errorf("failed to list mounts: %w", err)
	}
	slices.Reverse(mounts)
	for _, mount := range mounts {
		if err := unix.Unmount(mount.Mountpoint, unix.MNT_DETACH); err != nil {
			return fmt.Errorf("failed to unmount %s: %w", mount.Mountpoint, err)
		}
	}
	return nil
}

// open gets hold of the machine's folders before some of them are hidden. The result is by path in the namespace.
func open(shown map[string]string) (map[string]*os.File, error) {
	sources := map[string]*os.File{}
	for path, source := range shown {
		if path == source && !isHidden(path) {
			continue
		}
		file, err := os.OpenFile(source, unix.O_PATH|unix.O_DIRECTORY, 0)
		if err != nil {
			return nil, fmt.Errorf("failed to open a folder that the cluster uses: %w", err)
		}
		sources[path] = file
	}
	return sources, nil
}

func isHidden(path string) bool {
	return slices.ContainsFunc(hidden, func(dir string) bool { return strings.HasPrefix(path, dir+"/") })
}

// show makes the opened folders appear at their paths.
func show(sources map[string]*os.File) error {
	for path, file := range sources {
		defer file.Close()
		if err := os.MkdirAll(path, 0o755); err != nil {
			return fmt.Errorf("failed to make %s in the mount namespace: %w", path, err)
		}
		source := fmt.Sprintf("/proc/self/fd/%d", file.Fd())
		if err := unix.Mount(source, path, "", unix.MS_BIND, ""); err != nil {
			return fmt.Errorf("failed to show %s in the mount namespace: %w", path, err)
		}
	}
	return nil
}
