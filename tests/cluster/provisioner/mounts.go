package provisioner

import (
	"fmt"
	"os"

	"github.com/moby/sys/mountinfo"
	"golang.org/x/sys/unix"
	"k8s.io/apimachinery/pkg/api/resource"
)

// source is what the mount table shows as the device of a volume.
const source = "windlass-volume"

// mount makes an empty file system of that size at path. Where one is mounted already, from an attempt whose result
// could not be stored, it is kept.
func mount(path string, size resource.Quantity) error {
	if err := os.MkdirAll(path, 0o755); err != nil {
		return fmt.Errorf("failed to make the mount point of a volume: %w", err)
	}
	mounted, err := mountinfo.Mounted(path)
	if err != nil {
		return fmt.Errorf("failed to look for a mount at %s: %w", path, err)
	}
	if mounted {
		return nil
	}
	// A Pod runs as any user; fsGroup, where set, is applied by the kubelet on top.
	options := sizeOption(size) + ",mode=0777"
	if err := unix.Mount(source, path, "tmpfs", 0, options); err != nil {
		return fmt.Errorf("failed to mount a tmpfs of %s at %s: %w", size.String(), path, err)
	}
	return nil
}

// resize changes the size of the mounted file system in place; whoever has it open notices only the free space.
func resize(path string, size resource.Quantity) error {
	if err := unix.Mount(source, path, "tmpfs", unix.MS_REMOUNT, sizeOption(size)); err != nil {
		return fmt.Errorf("failed to resize the tmpfs at %s to %s: %w", path, size.String(), err)
	}
	return nil
}

func sizeOption(size resource.Quantity) string {
	return fmt.Sprintf("size=%d", size.Value())
}

// remove unmounts the file system at path, whose content is lost, and removes the mount point. One that is gone
// already is no error.
func remove(path string) error {
	mounted, err := mountinfo.Mounted(path)
	if os.IsNotExist(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("failed to look for a mount at %s: %w", path, err)
	}
	if mounted {
		if err := unix.Unmount(path, 0); err != nil {
			return fmt.Errorf("failed to unmount volume %s: %w", path, err)
		}
	}
	if err := os.Remove(path); err != nil {
		return fmt.Errorf("failed to remove the mount point of a volume: %w", err)
	}
	return nil
}
