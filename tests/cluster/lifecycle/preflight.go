package lifecycle

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"golang.org/x/sys/unix"

	"windlass.dev/cluster/images"
	"windlass.dev/cluster/state"
)

// tools are the programs that a node calls, with the Debian package of each.
var tools = []struct{ program, debian string }{
	{"containerd", "containerd"},
	{"ctr", "containerd"},
	{"runc", "runc"},
	{"/usr/lib/cni/bridge", "containernetworking-plugins"},
	{"iptables", "iptables"},
	{"conntrack", "conntrack"},
	{"mount", "mount"},
}

// Room on the disk that a new cluster wants, in bytes.
const (
	roomForNode         = 6 << 30
	roomForControlPlane = 1 << 30
)

// preflight finds what would make a new cluster fail, before anything is touched.
func (h Home) preflight(kind state.Kind) error {
	if kind == state.ControlPlane {
		return checkRoom(h.State, roomForControlPlane)
	}
	if os.Geteuid() != 0 {
		return errors.New("a cluster with a node needs root (namespaces, mounts, control groups); " +
			"without it use --control-plane with --state DIR")
	}
	for _, tool := range tools {
		if _, err := exec.LookPath(tool.program); err != nil {
			return fmt.Errorf("%s is missing: apt-get install %s", tool.program, tool.debian)
		}
	}
	if err := h.checkImages(); err != nil {
		return err
	}
	return checkRoom(h.State, roomForNode)
}

// checkImages looks for the pause image only, without which no Pod starts.
func (h Home) checkImages() error {
	archives, err := h.archives()
	if err != nil {
		return err
	}
	for _, archive := range archives {
		if filepath.Base(archive) == images.PauseArchive {
			return nil
		}
	}
	return fmt.Errorf("%s/images has no %s: make it with `go run ./cmd/image pause --cache %s`, CGO_ENABLED=0",
		h.Cache, images.PauseArchive, h.Cache)
}

func checkRoom(dir string, need uint64) error {
	var info unix.Statfs_t
	if err := unix.Statfs(existing(dir), &info); err != nil {
		return fmt.Errorf("failed to look at the disk of %s: %w", dir, err)
	}
	free := info.Bavail * uint64(info.Bsize)
	if free < need {
		return fmt.Errorf("no room: the disk of %s has %d MiB free and a cluster wants %d MiB; "+
			"give a folder on another one with --state", dir, free>>20, need>>20)
	}
	return nil
}

// existing is the nearest folder of the path that is there.
func existing(path string) string {
	for {
		if _, err := os.Stat(path); err == nil || path == filepath.Dir(path) {
			return path
		}
		path = filepath.Dir(path)
	}
}
