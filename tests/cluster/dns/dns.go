// Package dns says how the cluster's DNS server is run: CoreDNS, a process on the node's own address, behind the
// Service `kube-dns` that Pods ask.
package dns

import (
	"bytes"
	"embed"
	"fmt"
	"net/netip"
	"text/template"
)

// Port is where CoreDNS listens: a cluster's network namespace has nothing else there.
const Port = 53

// ReadyURL answers with 200 as soon as names resolve; reached from within the cluster's network namespace.
const ReadyURL = "http://127.0.0.1:8181/ready"

//go:embed Corefile manifests.yaml
var files embed.FS

var templates = template.Must(template.ParseFS(files, "*"))

// Server is one cluster's DNS server.
type Server struct {
	Address    netip.Addr // of the node
	ClusterIP  netip.Addr // of the Service `kube-dns`, which the kubelet writes into each Pod's resolv.conf
	Kubeconfig string     // of the user `windlass:coredns`
}

// Corefile is the server's configuration.
func (server Server) Corefile() ([]byte, error) {
	return server.render("Corefile")
}

// Manifests are the objects that the cluster needs beside the running server, as YAML documents: the Service, where it
// leads to, and what the user `windlass:coredns` may do.
func (server Server) Manifests() ([]byte, error) {
	return server.render("manifests.yaml")
}

// Port is for the templates.
func (Server) Port() int { return Port }

func (server Server) render(name string) ([]byte, error) {
	var text bytes.Buffer
	if err := templates.ExecuteTemplate(&text, name, server); err != nil {
		return nil, fmt.Errorf("failed to render the DNS server's %s: %w", name, err)
	}
	return text.Bytes(), nil
}
