package images

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io"
	"os"
)

// writeEntry adds a regular file of exactly size bytes; content that is shorter or longer is an error.
func writeEntry(archive *tar.Writer, name string, size int64, content io.Reader) error {
	return writeFile(archive, &tar.Header{Name: name, Mode: 0o644, Size: size}, content)
}

func writeBytes(archive *tar.Writer, name string, content []byte) error {
	return writeEntry(archive, name, int64(len(content)), bytes.NewReader(content))
}

func writeFile(archive *tar.Writer, header *tar.Header, content io.Reader) error {
	header.Typeflag = tar.TypeReg
	if err := archive.WriteHeader(header); err != nil {
		return fmt.Errorf("failed to write the header of %s: %w", header.Name, err)
	}
	written, err := io.Copy(archive, content)
	if err != nil {
		return fmt.Errorf("failed to write %s: %w", header.Name, err)
	}
	if written != header.Size {
		return fmt.Errorf("failed to write %s: it has %d bytes instead of %d", header.Name, written, header.Size)
	}
	return nil
}

// copyFile adds the host's file at source as target, following links, readable by everyone.
func copyFile(archive *tar.Writer, source, target string) error {
	file, err := os.Open(source)
	if err != nil {
		return fmt.Errorf("failed to add %s: %w", target, err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return fmt.Errorf("failed to add %s: %w", target, err)
	}
	mode := int64(info.Mode().Perm() | 0o444)
	return writeFile(archive, &tar.Header{Name: target, Mode: mode, Size: info.Size()}, file)
}

func writeDirectory(archive *tar.Writer, name string, mode int64) error {
	header := &tar.Header{Name: name + "/", Mode: mode, Typeflag: tar.TypeDir}
	if err := archive.WriteHeader(header); err != nil {
		return fmt.Errorf("failed to write the folder %s: %w", name, err)
	}
	return nil
}
