package images

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// Store is the folder of finished image archives, `images` in the cache.
type Store struct {
	folder string
}

// OpenStore makes the folder `images` inside cache when it is missing.
func OpenStore(cache string) (Store, error) {
	store := Store{folder: filepath.Join(cache, "images")}
	if err := os.MkdirAll(store.folder, 0o755); err != nil {
		return store, fmt.Errorf("failed to make the folder for images: %w", err)
	}
	return store, nil
}

// DefaultCache is where builds keep what they may need again: $XDG_CACHE_HOME/windlass, or ~/.cache/windlass.
func DefaultCache() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("failed to find the cache folder (name one with --cache): %w", err)
	}
	return filepath.Join(cache, "windlass"), nil
}

// Archives lists the finished archives, sorted by name.
func (store Store) Archives() ([]string, error) {
	return filepath.Glob(filepath.Join(store.folder, "*.tar"))
}

func (store Store) path(name string) string {
	return filepath.Join(store.folder, name)
}

// locked runs work while no other process makes images in this folder, and removes first what a process that died
// at it left behind.
func (store Store) locked(work func() error) error {
	lock, err := os.OpenFile(store.path(".lock"), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return fmt.Errorf("failed to open the lock of the image folder: %w", err)
	}
	defer lock.Close() // releases it
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX); err != nil {
		return fmt.Errorf("failed to lock the image folder %s: %w", store.folder, err)
	}
	leftovers, err := filepath.Glob(store.path(unfinished + "*"))
	if err != nil {
		return err
	}
	for _, leftover := range leftovers {
		if err := os.RemoveAll(leftover); err != nil {
			return fmt.Errorf("failed to remove an unfinished image: %w", err)
		}
	}
	return work()
}

// newest is the finished archive that matches pattern and was made last, with its time; empty when there is none.
func (store Store) newest(pattern string) (path string, made time.Time, err error) {
	candidates, err := filepath.Glob(store.path(pattern))
	if err != nil {
		return "", made, err
	}
	for _, candidate := range candidates {
		info, err := os.Stat(candidate)
		if err != nil {
			return "", made, err
		}
		if info.ModTime().After(made) {
			path, made = candidate, info.ModTime()
		}
	}
	return path, made, nil
}

// keepOnly removes the archives that match pattern, except path.
func (store Store) keepOnly(path, pattern string) error {
	candidates, err := filepath.Glob(store.path(pattern))
	if err != nil {
		return err
	}
	for _, candidate := range candidates {
		if candidate == path {
			continue
		}
		if err := os.Remove(candidate); err != nil {
			return fmt.Errorf("failed to remove an outdated image: %w", err)
		}
	}
	return nil
}
