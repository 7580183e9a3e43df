package images

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// contents reads every regular file of a tar.
func contents(t *testing.T, archive io.Reader) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	reader := tar.NewReader(archive)
	for {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		if files[header.Name], err = io.ReadAll(reader); err != nil {
			t.Fatal(err)
		}
	}
}

func decode[T any](t *testing.T, text []byte) T {
	t.Helper()
	var value T
	if err := json.Unmarshal(text, &value); err != nil {
		t.Fatal(err)
	}
	return value
}

func TestArchiveHoldsOneLayerUnderAllImages(t *testing.T) {
	layer := []byte("the layer")
	images := []Image{
		{References: []string{"example.com/one:1", "example.com/one:2"}, Config: ocispec.ImageConfig{Entrypoint: []string{"/one"}}},
		{References: []string{"example.com/two:1"}, Config: ocispec.ImageConfig{Cmd: []string{"two"}}},
	}
	var out bytes.Buffer
	if err := WriteArchive(&out, bytes.NewReader(layer), int64(len(layer)), images); err != nil {
		t.Fatal(err)
	}
	files := contents(t, &out)
	if len(files) != 4 {
		t.Errorf("wanted a layer, two configurations and a manifest, got %d files", len(files))
	}
	manifest := decode[[]manifestEntry](t, files["manifest.json"])
	for i, entry := range manifest {
		if got, want := strings.Join(entry.RepoTags, " "), strings.Join(images[i].References, " "); got != want {
			t.Errorf("wanted the names %s, got %s", want, got)
		}
		if got := files[entry.Layers[0]]; !bytes.Equal(got, layer) {
			t.Errorf("the manifest leads to the layer %q", got)
		}
		checkConfig(t, entry.Config, files[entry.Config], layer)
	}
}

// checkConfig compares what a container runtime would: names and layers by their digests.
func checkConfig(t *testing.T, name string, text, layer []byte) {
	t.Helper()
	if sum := sha256.Sum256(text); name != hex.EncodeToString(sum[:])+".json" {
		t.Errorf("configuration %s is not named after its content", name)
	}
	config := decode[ocispec.Image](t, text)
	sum := sha256.Sum256(layer)
	if got, want := config.RootFS.DiffIDs[0].Encoded(), hex.EncodeToString(sum[:]); got != want {
		t.Errorf("wanted the layer's digest %s, got %s", want, got)
	}
}

func TestArchiveRefusesALayerOfAnotherSize(t *testing.T) {
	for name, size := range map[string]int64{"shorter": 4, "longer": 2} {
		if err := WriteArchive(io.Discard, strings.NewReader("abc"), size, nil); err == nil {
			t.Errorf("a layer that is %s than its size was accepted", name)
		}
	}
}

func TestFailedWriteLeavesTheOldFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "image.tar")
	if err := os.WriteFile(path, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	failure := errors.New("no space")
	err := create(path, func(out io.Writer) error {
		_, _ = io.WriteString(out, "half of the new")
		return failure
	})
	if !errors.Is(err, failure) {
		t.Errorf("wanted the cause, got %v", err)
	}
	if text, _ := os.ReadFile(path); string(text) != "old" {
		t.Errorf("wanted the old file, got %q", text)
	}
	if files, _ := filepath.Glob(filepath.Join(filepath.Dir(path), "*")); len(files) != 1 {
		t.Errorf("wanted no leftovers, got %v", files)
	}
}
