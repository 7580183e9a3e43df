package state

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// Lock keeps others from changing a folder until it is released.
type Lock struct{ dir *os.File }

// errReplaced says that the folder was removed between opening and locking it.
var errReplaced = fmt.Errorf("removed while waiting for its lock: %w", fs.ErrNotExist)

// LockDir waits for the lock of a folder, which is made when missing. The folder itself is what is locked, so no lock
// file stays behind when it is removed.
func LockDir(path string) (*Lock, error) {
	for {
		if err := os.MkdirAll(path, 0o755); err != nil {
			return nil, fmt.Errorf("failed to make %s: %w", path, err)
		}
		lock, err := LockExisting(path)
		if !errors.Is(err, fs.ErrNotExist) {
			return lock, err
		}
	}
}

// LockExisting waits for the lock of a folder that somebody else made. It fails with fs.ErrNotExist when there is none.
func LockExisting(path string) (*Lock, error) {
	dir, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("failed to open %s: %w", path, err)
	}
	if err := flock(dir); err != nil {
		dir.Close()
		return nil, fmt.Errorf("failed to lock %s: %w", path, err)
	}
	if !sameFolder(dir, path) {
		dir.Close()
		return nil, errReplaced
	}
	return &Lock{dir}, nil
}

func flock(dir *os.File) error {
	for {
		err := unix.Flock(int(dir.Fd()), unix.LOCK_EX)
		if !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

func sameFolder(dir *os.File, path string) bool {
	locked, err := dir.Stat()
	if err != nil {
		return false
	}
	now, err := os.Stat(path)
	return err == nil && os.SameFile(locked, now)
}

// Release lets the next one in.
func (l *Lock) Release() { l.dir.Close() }
