package node

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"windlass.dev/cluster/process"
	"windlass.dev/cluster/state"
)

// Seed is what containerd keeps once a certain set of archives is imported, shared by clusters through hard links:
// importing takes a minute and a gigabyte for each cluster, linking neither. Links are safe because containerd never
// changes a file of a finished layer; its databases, which it does change, are copied.
type Seed struct {
	dir      string
	archives map[string]string
}

// SeedOf finds the seed for the archives in their present form; it may not have been made yet.
func SeedOf(ctx context.Context, cache string, archives []string) (Seed, error) {
	version, err := exec.CommandContext(ctx, Containerd, "--version").Output()
	if err != nil {
		return Seed{}, fmt.Errorf("failed to ask containerd for its version: %w", err)
	}
	versions := map[string]string{}
	key := sha256.New()
	key.Write(version)
	for _, archive := range archives {
		if versions[archive], err = versionOf(archive); err != nil {
			return Seed{}, err
		}
		fmt.Fprintf(key, "%s %s\n", archive, versions[archive])
	}
	return Seed{filepath.Join(cache, seeds, hex.EncodeToString(key.Sum(nil))[:16]), versions}, nil
}

// seeds is the folder in the cache.
const seeds = "containerd"

// Fits tells whether the cluster can share the seed's files: hard links do not reach from one file system to another.
func (s Seed) Fits(cluster *state.Cluster) (bool, error) {
	if err := os.MkdirAll(filepath.Dir(s.dir), 0o755); err != nil {
		return false, fmt.Errorf("failed to make the folder of kept images: %w", err)
	}
	var here, there unix.Stat_t
	for path, info := range map[string]*unix.Stat_t{filepath.Dir(s.dir): &here, cluster.Dir: &there} {
		if err := unix.Stat(path, info); err != nil {
			return false, fmt.Errorf("failed to look at %s: %w", path, err)
		}
	}
	return here.Dev == there.Dev, nil
}

// Plant gives the cluster's containerd, which has not run yet, what the seed holds. It tells whether there was one.
func (s Seed) Plant(ctx context.Context, cluster *state.Cluster) (bool, error) {
	if _, err := os.Stat(s.dir); errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err := link(ctx, cluster, s.dir, cluster.Data(Containerd)); err != nil {
		return false, fmt.Errorf("failed to use the images of %s: %w", s.dir, err)
	}
	return true, writeImported(cluster, s.archives)
}

// Keep makes the seed from what the cluster's containerd, which must not run, holds; it takes the place of older ones.
func (s Seed) Keep(ctx context.Context, cluster *state.Cluster) error {
	folder := filepath.Dir(s.dir)
	lock, err := state.LockDir(folder)
	if err != nil {
		return err
	}
	defer lock.Release()
	if _, err := os.Stat(s.dir); err == nil {
		return nil
	}
	older, err := filepath.Glob(filepath.Join(folder, "*"))
	if err != nil {
		return fmt.Errorf("failed to list kept images: %w", err)
	}
	for _, seed := range older {
		if err := os.RemoveAll(seed); err != nil {
			return fmt.Errorf("failed to remove kept images: %w", err)
		}
	}
	unfinished := s.dir + ".unfinished"
	if err := link(ctx, cluster, cluster.Data(Containerd), unfinished); err != nil {
		return errors.Join(err, os.RemoveAll(unfinished))
	}
	if err := os.Rename(unfinished, s.dir); err != nil {
		return fmt.Errorf("failed to keep images: %w", err)
	}
	return nil
}

// link makes target, an empty folder or a new one, a copy of source that shares the content of all files but the
// databases. The folder itself stays the one that the cluster's mount namespace shows.
func link(ctx context.Context, cluster *state.Cluster, source, target string) error {
	command := exec.CommandContext(ctx, "cp", "--archive", "--link", source+"/.", target)
	command.Env = process.Environment(cluster.Dir)
	if output, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("failed to link %s to %s: %w: %.300s", source, target, err, bytes.TrimSpace(output))
	}
	return filepath.WalkDir(target, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return fmt.Errorf("failed to look for databases: %w", err)
		case entry.IsDir() && layer(path):
			return fs.SkipDir
		case strings.HasSuffix(path, ".db"):
			return unlink(path)
		}
		return nil
	})
}

// layer tells whether the folder is the file system of a layer, whose own files may have any name.
func layer(path string) bool {
	return filepath.Base(path) == "fs" && filepath.Base(filepath.Dir(filepath.Dir(path))) == "snapshots"
}

// unlink gives the file a content of its own.
func unlink(path string) error {
	content, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("failed to copy a database of containerd: %w", err)
	}
	return state.WriteFile(path, content, 0o600)
}
