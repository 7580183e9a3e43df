// Package addons says how what a cluster needs beside Kubernetes is run: volumes and names.
package addons

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"windlass.dev/cluster/dns"
	"windlass.dev/cluster/process"
	"windlass.dev/cluster/provisioner"
	"windlass.dev/cluster/state"
)

// Names of the components.
const (
	Provisioner = "provisioner"
	DNS         = "coredns"
)

// Paths says where the programs are.
type Paths struct {
	// Binary contains the provisioner and kubectl.
	Binary string
	// CoreDNS is built apart from Binary and may be missing.
	CoreDNS string
}

// PathsIn are those of a cache that somebody else fills.
func PathsIn(cache, binary string) Paths {
	return Paths{Binary: binary, CoreDNS: filepath.Join(cache, "bin", DNS)}
}

// HasDNS tells whether the DNS server was built.
func (p Paths) HasDNS() bool {
	_, err := os.Stat(p.CoreDNS)
	return err == nil
}

// Components are the provisioner and, where it was built, the DNS server.
func Components(cluster *state.Cluster, paths Paths) []process.Component {
	components := []process.Component{{
		Name: Provisioner,
		Args: []string{paths.Binary, Provisioner,
			"--kubeconfig=" + cluster.KubeconfigOf(Provisioner), "--root=" + cluster.Volumes()},
		Grace: 5 * time.Second,
	}}
	if !paths.HasDNS() {
		return components
	}
	return append(components, process.Component{
		Name:  DNS,
		Args:  []string{paths.CoreDNS, "-conf", cluster.Config("Corefile")},
		Grace: 5 * time.Second,
		Ready: resolves(cluster),
	})
}

// resolves asks the DNS server for a name that each cluster has.
func resolves(cluster *state.Cluster) func(context.Context) error {
	server := net.JoinHostPort(cluster.Addresses.Node().String(), fmt.Sprint(dns.Port))
	resolver := &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
		var dialer net.Dialer
		return dialer.DialContext(ctx, network, server)
	}}
	return func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
		defer cancel()
		found, err := resolver.LookupHost(ctx, "kubernetes.default.svc.cluster.local.")
		if err != nil {
			return fmt.Errorf("cluster DNS does not resolve: %w", err)
		}
		if want := cluster.Addresses.Kubernetes().String(); !slices.Contains(found, want) {
			return fmt.Errorf("cluster DNS says %v for Service kubernetes, which is %s", found, want)
		}
		return nil
	}
}

func server(cluster *state.Cluster) dns.Server {
	return dns.Server{
		Address:    cluster.Addresses.Node(),
		ClusterIP:  cluster.Addresses.DNS(),
		Kubeconfig: cluster.KubeconfigOf(DNS),
	}
}

// WriteConfig writes the files that the components read.
func WriteConfig(cluster *state.Cluster) error {
	corefile, err := server(cluster).Corefile()
	if err != nil {
		return err
	}
	return state.WriteFile(cluster.Config("Corefile"), corefile, 0o644)
}

// Apply makes the objects that the components need: a storage class, a Service and their rights.
func Apply(ctx context.Context, cluster *state.Cluster, paths Paths) error {
	names, err := server(cluster).Manifests()
	if err != nil {
		return err
	}
	objects := bytes.Join([][]byte{provisioner.Manifests(), names}, []byte("\n---\n"))
	command := exec.CommandContext(ctx, paths.Binary, "kubectl", "apply", "--server-side", "--force-conflicts",
		"--kubeconfig", cluster.KubeconfigOf("windlass-cluster"), "--cache-dir", cluster.Data("kubectl"), "--filename", "-")
	command.Env = process.Environment(cluster.Dir)
	command.Stdin = bytes.NewReader(objects)
	if output, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("failed to apply the add-ons' objects: %w: %s", err, bytes.TrimSpace(output))
	}
	return nil
}
