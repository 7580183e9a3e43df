package images

import (
	"archive/tar"
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// NonRoot is the user that an image of a host program runs as; the same number as in distroless images.
const NonRoot = "65532:65532"

// Host is an image around one program of this machine.
type Host struct {
	Reference string            // the image's name with its tag
	Binary    string            // becomes /usr/local/bin/NAME and the entry point
	Files     map[string]string // further files, from their path here to their path in the image
}

// hostFile is a file of this machine and where it stands in an image.
type hostFile struct {
	source, target string
}

// identities are the accounts that lookups of user 65532 and of root need.
const identities = `root:x:0:0:root:/root:/sbin/nologin
nonroot:x:65532:65532:nonroot:/home/nonroot:/sbin/nologin
`

// authorities is where Debian keeps the certificates of public authorities, and where TLS libraries look for them.
const authorities = "/etc/ssl/certs/ca-certificates.crt"

// WriteHost writes the archive of image to out: the program, the shared libraries it is linked to, certificates of
// authorities where this machine has them, a user, /tmp, and no shell.
func WriteHost(ctx context.Context, image Host, out string) error {
	files, err := image.files(ctx)
	if err != nil {
		return err
	}
	return writeHostArchive(out, files, Image{
		References: []string{image.Reference},
		Config: ocispec.ImageConfig{
			User:       NonRoot,
			Env:        []string{"PATH=/usr/local/bin"},
			Entrypoint: []string{image.entryPoint()},
		},
	})
}

func (image Host) entryPoint() string {
	return path.Join("/usr/local/bin", filepath.Base(image.Binary))
}

func (image Host) files(ctx context.Context) ([]hostFile, error) {
	libraries, err := sharedLibraries(ctx, image.Binary)
	if err != nil {
		return nil, err
	}
	files := []hostFile{{image.Binary, image.entryPoint()}}
	for _, library := range libraries {
		files = append(files, hostFile{library, library})
	}
	if _, err := os.Stat(authorities); err == nil {
		files = append(files, hostFile{authorities, authorities})
	}
	for _, source := range slices.Sorted(maps.Keys(image.Files)) {
		files = append(files, hostFile{source, image.Files[source]})
	}
	return files, nil
}

// writeHostArchive makes an archive of one image whose layer is made of files and the few that every program expects.
func writeHostArchive(out string, files []hostFile, image Image) error {
	layer, err := os.CreateTemp("", "windlass-layer-*.tar")
	if err != nil {
		return fmt.Errorf("failed to make a layer: %w", err)
	}
	defer os.Remove(layer.Name())
	defer layer.Close()
	if err := writeLayer(layer, files); err != nil {
		return err
	}
	return archiveFile(out, layer.Name(), []Image{image})
}

func writeLayer(out io.Writer, files []hostFile) error {
	archive := tar.NewWriter(out)
	if err := writeDirectory(archive, "tmp", 0o1777); err != nil {
		return err
	}
	if err := writeBytes(archive, "etc/passwd", []byte(identities)); err != nil {
		return err
	}
	for _, file := range files {
		if err := copyFile(archive, file.source, strings.TrimPrefix(file.target, "/")); err != nil {
			return err
		}
	}
	return archive.Close()
}
