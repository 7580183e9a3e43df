// Package namespace makes the network and the mount namespace of a cluster and runs code in them.
//
// The network namespace keeps kube-proxy's rules and the Pods' bridge apart from the machine and from other clusters.
// The mount namespace is shared by all of the cluster's processes (containerd must see the mounts of the kubelet) and
// hides what they would leave behind at fixed places such as /run/netns or /var/lib/kubelet. Both live as long as a file
// is bound to them or a process runs in them; with the last of these all mounts in them are gone.
package namespace

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"golang.org/x/sys/unix"
)

// Set is the pair of namespaces whose files lie in Dir.
type Set struct{ Dir string }

// Network is the file bound to the network namespace, for nsenter and setns.
func (s Set) Network() string { return filepath.Join(s.Dir, "net") }

// Mounts is the file bound to the mount namespace.
func (s Set) Mounts() string { return filepath.Join(s.Dir, "mnt") }

// Exists tells whether the namespaces are there: files that are left of another boot are bound to nothing.
func (s Set) Exists() bool {
	for _, file := range []string{s.Network(), s.Mounts()} {
		var info unix.Statfs_t
		if err := unix.Statfs(file, &info); err != nil || info.Type != unix.NSFS_MAGIC {
			return false
		}
	}
	return true
}

// Make creates both namespaces. Each key of shown is the path of a folder in the mount namespace that is the machine's
// folder of its value, even below one that is hidden.
func (s Set) Make(shown map[string]string) error {
	if err := s.prepareFiles(); err != nil {
		return err
	}
	threads, bound, failed := make(chan int), make(chan struct{}), make(chan error, 1)
	go func() {
		// Never unlocked: the thread ends with this goroutine instead of serving others in the new namespaces.
		runtime.LockOSThread()
		if err := unshare(shown); err != nil {
			failed <- err
			return
		}
		threads <- unix.Gettid()
		<-bound
	}()
	select {
	case err := <-failed:
		return err
	case thread := <-threads:
		defer close(bound)
		return s.bind(thread)
	}
}

// prepareFiles makes the files to bind to. Their folder becomes a private mount: the kernel binds mount namespaces only
// on such.
func (s Set) prepareFiles() error {
	if err := os.MkdirAll(s.Dir, 0o755); err != nil {
		return fmt.Errorf("failed to make the folder of namespaces: %w", err)
	}
	if err := unix.Mount(s.Dir, s.Dir, "", unix.MS_BIND, ""); err != nil {
		return fmt.Errorf("failed to bind %s: %w", s.Dir, err)
	}
	if err := unix.Mount("", s.Dir, "", unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("failed to make %s private: %w", s.Dir, err)
	}
	for _, file := range []string{s.Network(), s.Mounts()} {
		if err := os.WriteFile(file, nil, 0o444); err != nil {
			return fmt.Errorf("failed to make a file for a namespace: %w", err)
		}
	}
	return nil
}

func (s Set) bind(thread int) error {
	for _, name := range []string{"net", "mnt"} {
		source := fmt.Sprintf("/proc/self/task/%d/ns/%s", thread, name)
		if err := unix.Mount(source, filepath.Join(s.Dir, name), "", unix.MS_BIND, ""); err != nil {
			return fmt.Errorf("failed to keep the new namespace %s: %w", name, err)
		}
	}
	return nil
}

// Remove unbinds both namespaces; they end with the last process in them. What is not there is no error.
func (s Set) Remove() error {
	for _, path := range []string{s.Network(), s.Mounts(), s.Dir} {
		err := unix.Unmount(path, unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW)
		if err != nil && !errors.Is(err, unix.EINVAL) && !errors.Is(err, unix.ENOENT) {
			return fmt.Errorf("failed to unmount %s: %w", path, err)
		}
	}
	if err := os.RemoveAll(s.Dir); err != nil {
		return fmt.Errorf("failed to remove the folder of namespaces: %w", err)
	}
	return nil
}
