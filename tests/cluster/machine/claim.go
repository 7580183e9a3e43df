// Package machine keeps what all clusters of this machine share, wherever their own state lies: the numbers that their
// address ranges follow from, and the kernel's settings that the first one changes and the last one restores.
package machine

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"windlass.dev/cluster/addresses"
	"windlass.dev/cluster/state"
)

// Dir is short because sockets lie in it, whose paths the kernel limits to 107 bytes.
const Dir = "/run/windlass"

const claims = "claims"

// RunDir holds a cluster's sockets and namespaces, which end with the machine's uptime.
func RunDir(index int) string { return filepath.Join(Dir, strconv.Itoa(index)) }

func claimOf(index int) string { return filepath.Join(Dir, claims, strconv.Itoa(index)) }

// Claim gives the cluster a number that is free and whose ranges the machine does not use, tunes the machine, and saves
// the cluster's record.
func Claim(cluster *state.Cluster) error {
	lock, err := state.LockDir(Dir)
	if err != nil {
		return err
	}
	defer lock.Release()
	if err := os.MkdirAll(filepath.Join(Dir, claims), 0o755); err != nil {
		return fmt.Errorf("failed to make the folder of claims: %w", err)
	}
	index, err := freeIndex()
	if err != nil {
		return err
	}
	if err := os.Symlink(cluster.Dir, claimOf(index)); err != nil {
		return fmt.Errorf("failed to claim number %d: %w", index, err)
	}
	cluster.Index, cluster.Addresses = index, addresses.OfIndex(index)
	if err := tune(); err != nil {
		return err
	}
	return cluster.Save()
}

// freeIndex finds the lowest number that nobody holds.
func freeIndex() (int, error) {
	used, err := usedRanges()
	if err != nil {
		return 0, err
	}
	held, err := heldIndices()
	if err != nil {
		return 0, err
	}
	for index := range addresses.Clusters {
		if !held[index] && !overlapsAny(addresses.OfIndex(index), used) {
			return index, nil
		}
	}
	return 0, fmt.Errorf("no address range is left for one more cluster: all %d of 10.244.0.0/16 are in use; "+
		"see `windlass-cluster list` and `ip route`", addresses.Clusters)
}

// heldIndices removes the claims without a cluster behind them and returns the others.
func heldIndices() (map[int]bool, error) {
	entries, err := os.ReadDir(filepath.Join(Dir, claims))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("failed to list the claims: %w", err)
	}
	held := map[int]bool{}
	for _, entry := range entries {
		index, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue // not one of ours
		}
		holder, err := os.Readlink(claimOf(index))
		if err == nil && holds(holder, index) {
			held[index] = true
			continue
		}
		if err := os.Remove(claimOf(index)); err != nil {
			return nil, fmt.Errorf("failed to remove the claim of a cluster that is gone: %w", err)
		}
	}
	return held, nil
}

func holds(dir string, index int) bool {
	cluster, err := state.Load(filepath.Dir(filepath.Dir(dir)), filepath.Base(dir))
	return err == nil && cluster.Kind == state.Full && cluster.Index == index
}

// Release gives the cluster's number back. The last one to go leaves the machine as the first one found it.
func Release(cluster *state.Cluster) error {
	lock, err := state.LockDir(Dir)
	if err != nil {
		return err
	}
	defer lock.Release()
	if err := releaseClaim(cluster); err != nil {
		return err
	}
	held, err := heldIndices()
	if err != nil || len(held) > 0 {
		return err
	}
	return leave()
}

// Holds tells whether the cluster's number is really its own: a half-made cluster may have none.
func Holds(cluster *state.Cluster) bool {
	holder, err := os.Readlink(claimOf(cluster.Index))
	return err == nil && holder == cluster.Dir
}

func releaseClaim(cluster *state.Cluster) error {
	if !Holds(cluster) {
		return nil
	}
	if err := os.RemoveAll(RunDir(cluster.Index)); err != nil {
		return fmt.Errorf("failed to remove the cluster's sockets: %w", err)
	}
	if err := os.Remove(claimOf(cluster.Index)); err != nil {
		return fmt.Errorf("failed to release number %d: %w", cluster.Index, err)
	}
	return nil
}

func leave() error {
	if err := restore(); err != nil {
		return err
	}
	if err := os.RemoveAll(Dir); err != nil {
		return fmt.Errorf("failed to remove %s: %w", Dir, err)
	}
	return nil
}
