package images

import (
	"archive/tar"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// Image is one image of an archive: the names it is found under and how a container of it starts.
type Image struct {
	References []string
	Config     ocispec.ImageConfig
}

// manifestEntry is one element of a docker-archive's manifest.json.
type manifestEntry struct {
	Config   string
	RepoTags []string
	Layers   []string
}

const layerName = "layer.tar"

// WriteArchive streams a docker-archive to out: the layer (an uncompressed tar of size bytes) once, and every image
// on top of it. The layer passes through and is never held in memory; its digest is known only behind it, so the
// configurations and the manifest follow it.
func WriteArchive(out io.Writer, layer io.Reader, size int64, images []Image) error {
	archive := tar.NewWriter(out)
	hash := sha256.New()
	if err := writeEntry(archive, layerName, size, io.TeeReader(layer, hash)); err != nil {
		return err
	}
	diffID := digest.NewDigest(digest.SHA256, hash)
	manifest := make([]manifestEntry, 0, len(images))
	for _, image := range images {
		name, err := writeConfig(archive, image, diffID)
		if err != nil {
			return err
		}
		manifest = append(manifest, manifestEntry{Config: name, RepoTags: image.References, Layers: []string{layerName}})
	}
	if err := writeJSON(archive, "manifest.json", manifest); err != nil {
		return err
	}
	return archive.Close()
}

// writeConfig adds one image's configuration under its digest, which is its name in the archive.
func writeConfig(archive *tar.Writer, image Image, diffID digest.Digest) (string, error) {
	config := ocispec.Image{
		Platform: ocispec.Platform{OS: "linux", Architecture: runtime.GOARCH},
		Config:   image.Config,
		RootFS:   ocispec.RootFS{Type: "layers", DiffIDs: []digest.Digest{diffID}},
	}
	text, err := json.Marshal(config)
	if err != nil {
		return "", fmt.Errorf("failed to encode the configuration of %v: %w", image.References, err)
	}
	sum := sha256.Sum256(text)
	name := hex.EncodeToString(sum[:]) + ".json"
	return name, writeBytes(archive, name, text)
}

func writeJSON(archive *tar.Writer, name string, value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("failed to encode %s: %w", name, err)
	}
	return writeBytes(archive, name, text)
}

// archiveFile puts images on the layer in the file at layerPath into the archive at path.
func archiveFile(path, layerPath string, images []Image) error {
	layer, err := os.Open(layerPath)
	if err != nil {
		return fmt.Errorf("failed to read the layer of %s: %w", path, err)
	}
	defer layer.Close()
	info, err := layer.Stat()
	if err != nil {
		return fmt.Errorf("failed to read the layer of %s: %w", path, err)
	}
	return create(path, func(out io.Writer) error {
		return WriteArchive(out, layer, info.Size(), images)
	})
}
