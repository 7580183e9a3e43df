package node

import (
	"errors"
	"io/fs"
	"path/filepath"
	"testing"

	"windlass.dev/cluster/state"
)

func TestAnArchiveIsAnotherOneWhenItWasWrittenAnew(t *testing.T) {
	archive := filepath.Join(t.TempDir(), "images.tar")
	version := func(content string) string {
		if err := state.WriteFile(archive, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
		now, err := versionOf(archive)
		if err != nil {
			t.Fatal(err)
		}
		return now
	}
	if version("one") == version("three") {
		t.Error("a longer archive is taken for the same")
	}
	if _, err := versionOf(filepath.Join(t.TempDir(), "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing archive: %v", err)
	}
}

func TestWhatWasImportedIsRemembered(t *testing.T) {
	cluster := &state.Cluster{Dir: t.TempDir()}
	before, err := readImported(cluster)
	if err != nil || len(before) != 0 {
		t.Fatalf("a new cluster has imported %v (%v)", before, err)
	}
	if err := writeImported(cluster, map[string]string{"a.tar": "version"}); err != nil {
		t.Fatal(err)
	}
	after, err := readImported(cluster)
	if err != nil || after["a.tar"] != "version" {
		t.Errorf("remembered %v (%v)", after, err)
	}
}
