package namespace

import (
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/moby/sys/mountinfo"
	"golang.org/x/sys/unix"
)

// made returns namespaces that show a folder of the machine below a hidden one.
func made(t *testing.T, shown map[string]string) Set {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("not root: only root makes namespaces")
	}
	set := Set{filepath.Join(t.TempDir(), "namespaces")}
	t.Cleanup(func() {
		if err := set.Remove(); err != nil {
			t.Error(err)
		}
	})
	if err := set.Make(shown); err != nil {
		t.Fatal(err)
	}
	return set
}

func TestAMountInsideIsNotSeenOutside(t *testing.T) {
	set := made(t, nil)
	point := t.TempDir()
	err := set.Run(func() error { return unix.Mount("tmpfs", point, "tmpfs", 0, "") })
	if err != nil {
		t.Fatal(err)
	}
	seen := func() (mounted bool, err error) {
		mounts, err := mountinfo.GetMounts(mountinfo.SingleEntryFilter(point))
		return len(mounts) > 0, err
	}
	if outside, err := seen(); err != nil || outside {
		t.Errorf("seen outside: %t (%v)", outside, err)
	}
	err = set.Run(func() error {
		inside, err := seen()
		if err == nil && !inside {
			t.Error("not seen by the next one inside")
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

func TestHiddenFoldersShowOnlyWhatIsAsked(t *testing.T) {
	source := t.TempDir()
	if err := os.WriteFile(filepath.Join(source, "here"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	set := made(t, map[string]string{"/var/lib/kubelet": source})
	err := set.Run(func() error {
		entries, err := os.ReadDir("/var/lib")
		if err != nil {
			return err
		}
		if len(entries) != 1 || entries[0].Name() != "kubelet" {
			t.Errorf("/var/lib has %v", entries)
		}
		_, err = os.Stat("/var/lib/kubelet/here")
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

func TestTheNetworkInsideIsEmpty(t *testing.T) {
	set := made(t, nil)
	err := set.RunInNetwork(func() error {
		interfaces, err := net.Interfaces()
		for _, found := range interfaces {
			if found.Flags&net.FlagUp != 0 {
				t.Errorf("interface %s is up", found.Name)
			}
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

func TestRemovedNamespacesDoNotExist(t *testing.T) {
	set := made(t, nil)
	if !set.Exists() {
		t.Error("just made, and not there")
	}
	if err := set.Remove(); err != nil {
		t.Fatal(err)
	}
	if set.Exists() {
		t.Error("just removed, and there")
	}
}

func TestFilesOfAnotherBootAreNoNamespaces(t *testing.T) {
	set := Set{t.TempDir()}
	for _, file := range []string{set.Network(), set.Mounts()} {
		if err := os.WriteFile(file, nil, 0o444); err != nil {
			t.Fatal(err)
		}
	}
	if set.Exists() {
		t.Error("empty files are taken for namespaces")
	}
}
