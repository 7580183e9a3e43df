// Package state knows where the files of a cluster lie and keeps the record of what the cluster is.
package state

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"time"

	"windlass.dev/cluster/addresses"
)

// Kind says how much of a cluster there is.
type Kind string

const (
	// Full clusters have a node that runs Pods.
	Full Kind = "full"
	// ControlPlane clusters have etcd and an API server only.
	ControlPlane Kind = "control-plane"
)

// Stage says how far `up` came: a record that is not Made belongs to a half-made cluster.
type Stage string

const (
	Making Stage = "making"
	Made   Stage = "made"
)

// Cluster is the record of one cluster. Dir is not stored: it is where the record was found.
type Cluster struct {
	Name    string    `json:"name"`
	Kind    Kind      `json:"kind"`
	Stage   Stage     `json:"stage"`
	Index   int       `json:"index"`
	Boot    string    `json:"boot"`
	Created time.Time `json:"created"`
	// Cache is the folder whose bin/ the cluster's processes see.
	Cache     string              `json:"cache"`
	Addresses addresses.Addresses `json:"addresses"`

	Dir string `json:"-"`
}

// validName keeps names usable as node name, directory and part of a cgroup's name.
var validName = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,38}[a-z0-9])?$`)

// CheckName tells what is wrong with a cluster's name.
func CheckName(name string) error {
	if validName.MatchString(name) {
		return nil
	}
	return fmt.Errorf("%q cannot be a cluster's name: use at most 40 lower-case letters, digits and inner hyphens", name)
}

// ErrNoCluster is returned when no cluster of the asked name is recorded.
var ErrNoCluster = errors.New("no such cluster")

// DirOf is the directory of the cluster called name below the state directory root.
func DirOf(root, name string) string { return filepath.Join(root, "clusters", name) }

// Load reads the record of the cluster called name, or fails with ErrNoCluster.
func Load(root, name string) (*Cluster, error) {
	cluster := &Cluster{Dir: DirOf(root, name)}
	raw, err := os.ReadFile(cluster.recordFile())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: %q in %s", ErrNoCluster, name, root)
	}
	if err != nil {
		return nil, fmt.Errorf("failed to read the record of cluster %q: %w", name, err)
	}
	if err := json.Unmarshal(raw, cluster); err != nil {
		return nil, fmt.Errorf("failed to parse %s: %w", cluster.recordFile(), err)
	}
	return cluster, nil
}

// Names lists the clusters below root, half-made ones too.
func Names(root string) ([]string, error) {
	entries, err := os.ReadDir(filepath.Join(root, "clusters"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("failed to list clusters: %w", err)
	}
	var names []string
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names, nil
}

// Save writes the record; a reader sees the old record or the new one, never half of it.
func (c *Cluster) Save() error {
	raw, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		return fmt.Errorf("failed to encode the record of cluster %q: %w", c.Name, err)
	}
	return WriteFile(c.recordFile(), append(raw, '\n'), 0o644)
}

// WriteFile replaces a file in one step, making the folder it lies in.
func WriteFile(path string, content []byte, mode fs.FileMode) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("failed to make the folder of %s: %w", path, err)
	}
	next := path + ".next"
	if err := os.WriteFile(next, content, mode); err != nil {
		return fmt.Errorf("failed to write %s: %w", path, err)
	}
	if err := os.Rename(next, path); err != nil {
		return fmt.Errorf("failed to replace %s: %w", path, err)
	}
	return nil
}
