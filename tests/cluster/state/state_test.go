package state

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"windlass.dev/cluster/addresses"
)

func TestNamesFitWhatTheyAreUsedFor(t *testing.T) {
	cases := map[string]bool{
		"windlass": true, "a": true, "e2e-1": true,
		"": false, "-a": false, "a-": false, "A": false, "a/b": false, "..": false, "a.b": false,
		"a-name-that-has-more-than-forty-characters": false,
	}
	for name, valid := range cases {
		if err := CheckName(name); (err == nil) != valid {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func TestARecordComesBackAsItWasSaved(t *testing.T) {
	root := t.TempDir()
	saved := &Cluster{
		Name: "one", Kind: Full, Stage: Making, Index: 5, Boot: "now", Created: time.Unix(1700000000, 0).UTC(),
		Addresses: addresses.OfIndex(5), Dir: DirOf(root, "one"),
	}
	if err := saved.Save(); err != nil {
		t.Fatal(err)
	}
	loaded, err := Load(root, "one")
	if err != nil {
		t.Fatal(err)
	}
	if *loaded != *saved {
		t.Errorf("loaded %+v, saved %+v", *loaded, *saved)
	}
	names, err := Names(root)
	if err != nil || len(names) != 1 || names[0] != "one" {
		t.Errorf("names are %v (%v)", names, err)
	}
}

func TestAMissingRecordIsToldApartFromABrokenOne(t *testing.T) {
	root := t.TempDir()
	if _, err := Load(root, "none"); !errors.Is(err, ErrNoCluster) {
		t.Errorf("missing: %v", err)
	}
	if err := WriteFile(filepath.Join(DirOf(root, "bad"), "cluster.json"), []byte("{"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(root, "bad"); err == nil || errors.Is(err, ErrNoCluster) {
		t.Errorf("broken: %v", err)
	}
}

func TestALockKeepsTheNextOneOut(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "locked")
	first, err := LockDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	entered := make(chan struct{})
	go func() {
		if second, err := LockDir(dir); err == nil {
			second.Release()
		}
		close(entered)
	}()
	select {
	case <-entered:
		t.Error("two hold the lock at once")
	case <-time.After(50 * time.Millisecond):
	}
	first.Release()
	<-entered
}

func TestALockOfARemovedFolderIsNotTaken(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "locked")
	first, err := LockDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	waited := make(chan error)
	go func() {
		_, err := LockExisting(dir)
		waited <- err
	}()
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	first.Release()
	if err := <-waited; !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a removed folder was locked: %v", err)
	}
}
