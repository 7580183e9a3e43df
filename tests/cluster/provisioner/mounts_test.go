package provisioner

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
	"k8s.io/apimachinery/pkg/api/resource"
)

// TestLifeOfAMount needs to be root, as the cluster does.
func TestLifeOfAMount(t *testing.T) {
	root := filepath.Join(t.TempDir(), "volumes")
	path := filepath.Join(root, "pvc-1")
	file := filepath.Join(path, "file")
	t.Cleanup(func() { _ = unix.Unmount(path, unix.MNT_DETACH) })

	if err := mount(path, resource.MustParse("1Mi")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, make([]byte, 2<<20), 0o600); err == nil {
		t.Error("2 MiB fit on a volume of 1 MiB")
	}
	if err := resize(path, resource.MustParse("4Mi")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, make([]byte, 2<<20), 0o600); err != nil {
		t.Errorf("2 MiB do not fit on a volume that grew to 4 MiB: %v", err)
	}
	if err := mount(path, resource.MustParse("1Mi")); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(file); err != nil {
		t.Errorf("a second attempt to make the volume lost its data: %v", err)
	}
	if err := remove(path); err != nil {
		t.Fatal(err)
	}
	if err := remove(path); err != nil {
		t.Errorf("a second attempt to remove the volume failed: %v", err)
	}
}
