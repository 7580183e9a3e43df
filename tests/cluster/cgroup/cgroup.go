// Package cgroup makes and removes the control group below which a cluster's Pods run, in each hierarchy of the machine.
package cgroup

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/moby/sys/mountinfo"
	"golang.org/x/sys/unix"
)

// hierarchy is one mounted tree of control groups.
type hierarchy struct {
	root   string
	cpuset bool
}

// hierarchies lists all trees: several of version 1, one of version 2, or both on a hybrid machine.
func hierarchies() ([]hierarchy, error) {
	mounts, err := mountinfo.GetMounts(mountinfo.FSTypeFilter("cgroup", "cgroup2"))
	if err != nil {
		return nil, fmt.Errorf("failed to list control group hierarchies: %w", err)
	}
	var found []hierarchy
	for _, mount := range mounts {
		options := strings.Split(mount.VFSOptions, ",")
		found = append(found, hierarchy{mount.Mountpoint, slices.Contains(options, "cpuset")})
	}
	if len(found) == 0 {
		return nil, errors.New("no control group hierarchy is mounted; mount one at /sys/fs/cgroup")
	}
	return found, nil
}

// Make makes the group in each hierarchy: the kubelet refuses a root that does not exist.
func Make(name string) error {
	all, err := hierarchies()
	if err != nil {
		return err
	}
	for _, h := range all {
		if err := h.make(name); err != nil {
			return fmt.Errorf("failed to make control group %s: %w", name, err)
		}
	}
	return nil
}

func (h hierarchy) make(name string) error {
	group := filepath.Join(h.root, name)
	if err := os.MkdirAll(group, 0o755); err != nil {
		return err
	}
	if !h.cpuset {
		return nil
	}
	// In version 1 a new group has no processor and no memory node, and no process can enter it.
	for _, file := range []string{"cpuset.cpus", "cpuset.mems"} {
		value, err := os.ReadFile(filepath.Join(h.root, file))
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(group, file), value, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// Processes lists the pids in the group and below it.
func Processes(name string) ([]int, error) {
	groups, err := groups(name)
	if err != nil {
		return nil, err
	}
	seen := map[int]bool{}
	for _, group := range groups {
		raw, err := os.ReadFile(filepath.Join(group, "cgroup.procs"))
		if err != nil && !gone(err) {
			return nil, fmt.Errorf("failed to list the processes of a control group: %w", err)
		}
		for _, field := range strings.Fields(string(raw)) {
			if pid, err := strconv.Atoi(field); err == nil {
				seen[pid] = true
			}
		}
	}
	var pids []int
	for pid := range seen {
		pids = append(pids, pid)
	}
	return pids, nil
}

// groups lists the folders of the group and of those below it in all hierarchies, parents first.
func groups(name string) ([]string, error) {
	all, err := hierarchies()
	if err != nil {
		return nil, err
	}
	var found []string
	for _, h := range all {
		err := filepath.WalkDir(filepath.Join(h.root, name), func(path string, entry fs.DirEntry, err error) error {
			if gone(err) {
				return nil
			}
			if err == nil && entry.IsDir() {
				found = append(found, path)
			}
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("failed to look through control groups: %w", err)
		}
	}
	return found, nil
}

// gone is true when the group was removed while it was looked at.
func gone(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENODEV)
}

// Remove removes the group in each hierarchy. The kernel takes a moment to forget processes that were just ended, so
// this tries until the context ends.
func Remove(ctx context.Context, name string) error {
	for {
		err := removeOnce(name)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("failed to remove control group %s: %w", name, err)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func removeOnce(name string) error {
	groups, err := groups(name)
	if err != nil {
		return err
	}
	slices.Reverse(groups)
	for _, group := range groups {
		if err := unix.Rmdir(group); err != nil && !gone(err) {
			return &fs.PathError{Op: "rmdir", Path: group, Err: err}
		}
	}
	return nil
}
