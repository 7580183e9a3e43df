package node

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"

	"windlass.dev/cluster/process"
	"windlass.dev/cluster/state"
)

// Import gives the images of a docker-archive to the cluster's containerd.
func Import(ctx context.Context, cluster *state.Cluster, archive string) error {
	// Said here: ctr would say it less clearly.
	if _, err := os.Stat(archive); err != nil {
		return fmt.Errorf("failed to find the image archive: %w", err)
	}
	command := exec.CommandContext(ctx, "ctr", "--address", Socket(cluster), "--namespace", "k8s.io",
		"images", "import", archive)
	command.Env = process.Environment(cluster.Dir)
	if output, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("failed to import %s: %w: %s", archive, err, bytes.TrimSpace(output))
	}
	return nil
}

// ImportAll imports the archives that were not imported before in their present form.
func ImportAll(ctx context.Context, cluster *state.Cluster, archives []string) error {
	done, err := readImported(cluster)
	if err != nil {
		return err
	}
	for _, archive := range archives {
		now, err := versionOf(archive)
		if err != nil {
			return err
		}
		if done[archive] == now {
			continue
		}
		if err := Import(ctx, cluster, archive); err != nil {
			return err
		}
		done[archive] = now
		if err := writeImported(cluster, done); err != nil {
			return err
		}
	}
	return nil
}

// versionOf changes whenever the archive is written anew.
func versionOf(archive string) (string, error) {
	info, err := os.Stat(archive)
	if err != nil {
		return "", fmt.Errorf("failed to look at an image archive: %w", err)
	}
	return fmt.Sprintf("%d bytes of %d", info.Size(), info.ModTime().UnixNano()), nil
}

func importedFile(cluster *state.Cluster) string { return cluster.Data("imported-images.json") }

func readImported(cluster *state.Cluster) (map[string]string, error) {
	imported := map[string]string{}
	raw, err := os.ReadFile(importedFile(cluster))
	if errors.Is(err, fs.ErrNotExist) {
		return imported, nil
	}
	if err != nil {
		return nil, fmt.Errorf("failed to read the list of imported images: %w", err)
	}
	if err := json.Unmarshal(raw, &imported); err != nil {
		return nil, fmt.Errorf("failed to parse the list of imported images: %w", err)
	}
	return imported, nil
}

func writeImported(cluster *state.Cluster, imported map[string]string) error {
	raw, err := json.Marshal(imported)
	if err != nil {
		return fmt.Errorf("failed to encode the list of imported images: %w", err)
	}
	return state.WriteFile(importedFile(cluster), raw, 0o644)
}
