package images

import (
	"debug/elf"
	"fmt"
	"os"
	"os/signal"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"golang.org/x/sys/unix"
)

// PauseReference names the image of the process that holds a Pod's namespaces; containerd's `sandbox_image`.
const PauseReference = "windlass.dev/pause:1"

// PauseVerb is the argument with which this program becomes that process.
const PauseVerb = "hold"

// PauseArchive is the name of its archive in the store.
const PauseArchive = "pause.tar"

// Pause returns the archive of the pause image, which holds nothing but the running program, and makes it anew: the
// program may have changed.
func (store Store) Pause() (string, error) {
	program, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("failed to find the running program: %w", err)
	}
	if err := checkStatic(program); err != nil {
		return "", err
	}
	archive := store.path(PauseArchive)
	return archive, store.locked(func() error {
		return writeHostArchive(archive, []hostFile{{source: program, target: "/pause"}}, Image{
			References: []string{PauseReference},
			// A sandbox without an entry point is refused.
			Config: ocispec.ImageConfig{Entrypoint: []string{"/pause", PauseVerb}},
		})
	})
}

func checkStatic(program string) error {
	file, err := elf.Open(program)
	if err != nil {
		return fmt.Errorf("failed to look into %s: %w", program, err)
	}
	defer file.Close()
	for _, segment := range file.Progs {
		if segment.Type == elf.PT_INTERP {
			return fmt.Errorf("failed to make a pause image: %s needs shared libraries; build it with CGO_ENABLED=0", program)
		}
	}
	return nil
}

// Hold is what the pause container does: it adopts and reaps what its Pod leaves behind until it is told to end.
func Hold() {
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, unix.SIGINT, unix.SIGTERM, unix.SIGCHLD)
	for received := range signals {
		if received != unix.SIGCHLD {
			return
		}
		reap()
	}
}

// reap collects every child that has ended; one signal may stand for several.
func reap() {
	for {
		if child, err := unix.Wait4(-1, nil, unix.WNOHANG, nil); child <= 0 && err != unix.EINTR {
			return
		}
	}
}
