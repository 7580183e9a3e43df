package images

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// unfinished names files that no reader may take for an image.
const unfinished = ".unfinished-"

// create writes path as a whole or not at all: readers see the old file or the new one, never a part.
func create(path string, write func(io.Writer) error) error {
	file, err := os.CreateTemp(filepath.Dir(path), unfinished+filepath.Base(path)+"-")
	if err != nil {
		return fmt.Errorf("failed to create %s: %w", path, err)
	}
	defer os.Remove(file.Name()) // fails harmlessly once renamed
	if err := writeAndClose(file, write); err != nil {
		return fmt.Errorf("failed to write %s: %w", path, err)
	}
	return os.Rename(file.Name(), path)
}

func writeAndClose(file *os.File, write func(io.Writer) error) error {
	if err := write(file); err != nil {
		file.Close()
		return err
	}
	if err := file.Chmod(0o644); err != nil {
		file.Close()
		return err
	}
	return file.Close()
}
