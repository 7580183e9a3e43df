package images

import (
	"archive/tar"
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// withMmdebstrap puts a stand-in for mmdebstrap on the PATH, as the only program there.
func withMmdebstrap(t *testing.T, script string) {
	t.Helper()
	folder := t.TempDir()
	if script != "" {
		if err := os.WriteFile(filepath.Join(folder, "mmdebstrap"), []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", folder)
}

func openTestStore(t *testing.T) Store {
	t.Helper()
	store, err := OpenStore(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return store
}

func touch(t *testing.T, path string) {
	t.Helper()
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestLastGoodImageServesWhenNoneCanBeMade(t *testing.T) {
	withMmdebstrap(t, "echo no route to mirror >&2; exit 25")
	store := openTestStore(t)
	old := store.path("applications-0123.tar")
	touch(t, old)

	var said bytes.Buffer
	archive, err := store.Applications(context.Background(), &said)
	if err != nil || archive != old {
		t.Fatalf("wanted %s, got %s, %v", old, archive, err)
	}
	for _, part := range []string{"no route to mirror", "no fresh application image could be made", old} {
		if !strings.Contains(said.String(), part) {
			t.Errorf("nobody was told %q: %s", part, &said)
		}
	}
}

func TestFailureWithoutAnOldImageIsAnError(t *testing.T) {
	withMmdebstrap(t, "echo no route to mirror >&2; exit 25")
	_, err := openTestStore(t).Applications(context.Background(), &bytes.Buffer{})
	if err == nil || !strings.Contains(err.Error(), "no route to mirror") {
		t.Errorf("wanted mmdebstrap's reason, got %v", err)
	}
}

func TestMissingToolIsNamedWithItsPackage(t *testing.T) {
	withMmdebstrap(t, "")
	_, err := openTestStore(t).Applications(context.Background(), &bytes.Buffer{})
	if err == nil || !strings.Contains(err.Error(), "apt-get install mmdebstrap") {
		t.Errorf("wanted what to do, got %v", err)
	}
}

func TestFreshImageReplacesTheOutdatedOne(t *testing.T) {
	rootfs := filepath.Join(t.TempDir(), "rootfs.tar")
	writeStatus(t, rootfs)
	withMmdebstrap(t, `for out; do :; done; /bin/cp "`+rootfs+`" "$out"`)
	store := openTestStore(t)
	touch(t, store.path("applications-0123.tar"))
	touch(t, store.path("pause.tar"))

	fresh, err := store.Applications(context.Background(), &bytes.Buffer{})
	if err != nil {
		t.Fatal(err)
	}
	archives, err := store.Archives()
	if err != nil || !slices.Equal(archives, []string{fresh, store.path("pause.tar")}) {
		t.Errorf("wanted %s and the pause image, got %v, %v", fresh, archives, err)
	}
}

// writeStatus makes a root file system that holds nothing but dpkg's list of the catalogue's packages.
func writeStatus(t *testing.T, path string) {
	t.Helper()
	var status bytes.Buffer
	for name, version := range suite() {
		fmt.Fprintf(&status, "Package: %s\nVersion: %s-1\n\n", name, version)
	}
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	archive := tar.NewWriter(file)
	if err := writeBytes(archive, "./"+dpkgStatus, status.Bytes()); err != nil {
		t.Fatal(err)
	}
	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestImageOfTheSameRecipeIsNotMadeAgain(t *testing.T) {
	withMmdebstrap(t, "exit 25")
	store := openTestStore(t)
	current := store.path("applications-" + applicationRecipe.key() + ".tar")
	touch(t, current)
	var said bytes.Buffer
	archive, err := store.Applications(context.Background(), &said)
	if err != nil || archive != current || said.Len() > 0 {
		t.Errorf("wanted %s and silence, got %s, %v, %s", current, archive, err, &said)
	}
}

func TestLeftoversOfADeadProcessAreNoArchives(t *testing.T) {
	store := openTestStore(t)
	leftover := store.path(unfinished + "rootfs")
	touch(t, leftover)
	archives, err := store.Archives()
	if err != nil || len(archives) != 0 {
		t.Errorf("wanted no archives, got %v, %v", archives, err)
	}
	if err := store.locked(func() error { return nil }); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(leftover); !os.IsNotExist(err) {
		t.Errorf("wanted the leftover removed, got %v", err)
	}
}
