package namespace

import (
	"fmt"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// Run calls do in both namespaces. Processes that do starts are in them, too; goroutines that it starts are not.
func (s Set) Run(do func() error) error {
	return run(do, entrance{s.Mounts(), unix.CLONE_NEWNS}, entrance{s.Network(), unix.CLONE_NEWNET})
}

// RunInNetwork calls do in the network namespace and leaves the view of files as it is.
func (s Set) RunInNetwork(do func() error) error {
	return run(do, entrance{s.Network(), unix.CLONE_NEWNET})
}

type entrance struct {
	file string
	kind int
}

func run(do func() error, entrances ...entrance) error {
	result := make(chan error)
	go func() {
		// Never unlocked: a thread that went elsewhere must not serve other goroutines afterwards.
		runtime.LockOSThread()
		if err := enter(entrances); err != nil {
			result <- err
			return
		}
		result <- do()
	}()
	return <-result
}

func enter(entrances []entrance) error {
	// All are opened before the first is entered: the files are visible from outside only.
	var files []*os.File
	for _, e := range entrances {
		file, err := os.Open(e.file)
		if err != nil {
			return fmt.Errorf("failed to open a namespace: %w", err)
		}
		defer file.Close()
		files = append(files, file)
	}
	// Threads share their view of the file system until one asks for its own; without it the kernel refuses.
	if err := unix.Unshare(unix.CLONE_FS); err != nil {
		return fmt.Errorf("failed to prepare for entering a namespace: %w", err)
	}
	for i, e := range entrances {
		if err := unix.Setns(int(files[i].Fd()), e.kind); err != nil {
			return fmt.Errorf("failed to enter the namespace %s: %w", e.file, err)
		}
	}
	return nil
}
