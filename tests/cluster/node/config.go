package node

import (
	"bytes"
	"embed"
	"fmt"
	"path/filepath"
	"strconv"
	"text/template"

	"windlass.dev/cluster/images"
	"windlass.dev/cluster/machine"
	"windlass.dev/cluster/network"
	"windlass.dev/cluster/state"
)

//go:embed templates
var templateFiles embed.FS

var templates = template.Must(template.New("").ParseFS(templateFiles, "templates/*"))

// values are what the templates can name, besides what the cluster offers.
type values struct {
	*state.Cluster
	Socket, PauseImage, Bridge, Group, Registry string
}

func valuesOf(cluster *state.Cluster) values {
	return values{
		Cluster:    cluster,
		Socket:     Socket(cluster),
		PauseImage: images.PauseReference,
		Bridge:     network.Bridge,
		Group:      Group(cluster),
		Registry:   Registry(cluster),
	}
}

// Folders are where the node's programs keep things: by the usual path, which they see, what it is on the machine.
func Folders(cluster *state.Cluster) map[string]string {
	return map[string]string{
		"/var/lib/containerd": cluster.Data(Containerd),
		"/var/lib/kubelet":    cluster.Data(Kubelet),
		"/var/log/pods":       cluster.Data("pod-logs"),
	}
}

// RegistryPort is the port on the machine at which a test may run an image registry for the cluster.
const RegistryPort = 5000

// Registry is the one registry that containerd asks by plain HTTP: on the machine, as the cluster sees it.
func Registry(cluster *state.Cluster) string {
	return cluster.Addresses.Host().String() + ":" + strconv.Itoa(RegistryPort)
}

// Socket is where containerd listens.
func Socket(cluster *state.Cluster) string {
	return filepath.Join(machine.RunDir(cluster.Index), "containerd.sock")
}

// Group is the control group below which the cluster's Pods run.
func Group(cluster *state.Cluster) string { return "windlass-" + strconv.Itoa(cluster.Index) }

// WriteConfig writes the files that the components of the node read.
func WriteConfig(cluster *state.Cluster) error {
	files := map[string]string{
		"containerd.toml": cluster.Config("containerd.toml"),
		"registry.toml":   filepath.Join(cluster.Config("registries"), Registry(cluster), "hosts.toml"),
		"bridge.conflist": filepath.Join(cluster.Config("cni"), "10-bridge.conflist"),
		"resolv.conf":     cluster.Config("resolv.conf"),
		"kubelet.yaml":    cluster.Config("kubelet.yaml"),
		"kube-proxy.yaml": cluster.Config("kube-proxy.yaml"),
	}
	for name, path := range files {
		var text bytes.Buffer
		if err := templates.ExecuteTemplate(&text, name, valuesOf(cluster)); err != nil {
			return fmt.Errorf("failed to fill in %s: %w", name, err)
		}
		if err := state.WriteFile(path, text.Bytes(), 0o644); err != nil {
			return err
		}
	}
	return nil
}
