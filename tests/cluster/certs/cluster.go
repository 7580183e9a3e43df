package certs

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net/netip"
	"path/filepath"

	"windlass.dev/cluster/addresses"
	"windlass.dev/cluster/state"
)

// Names of the certificates, which are also those of their files.
const (
	CA               = "ca"
	FrontProxyCA     = "front-proxy-ca"
	FrontProxyClient = "front-proxy-client"
	APIServer        = "apiserver"
	KubeletClient    = "apiserver-kubelet-client"
	KubeletServer    = "kubelet-server"
	// ServiceAccount is a key pair without a certificate: <name>.key signs tokens, <name>.pub checks them.
	ServiceAccount = "service-account"
)

// Clients are those who talk to the API server, by the name of their kubeconfig. The audit log shows their user names.
func Clients(node string) map[string]Subject {
	return map[string]Subject{
		"admin":                   {Name: "admin", Groups: []string{"system:masters"}},
		"kube-controller-manager": {Name: "system:kube-controller-manager"},
		"kube-scheduler":          {Name: "system:kube-scheduler"},
		"kube-proxy":              {Name: "system:kube-proxy"},
		"kubelet":                 {Name: "system:node:" + node, Groups: []string{"system:nodes"}},
		"provisioner":             {Name: "windlass:provisioner"},
		"coredns":                 {Name: "windlass:coredns"},
		"windlass-cluster":        {Name: "windlass:cluster", Groups: []string{"system:masters"}},
	}
}

// Write makes all certificates of the cluster and writes them to its folder. It returns those of Clients.
func Write(cluster *state.Cluster) (map[string]Pair, []byte, error) {
	ca, err := NewAuthority("windlass-" + cluster.Name)
	if err != nil {
		return nil, nil, err
	}
	frontProxyCA, err := NewAuthority("windlass-" + cluster.Name + "-front-proxy")
	if err != nil {
		return nil, nil, err
	}
	files := map[string]Pair{CA: ca.Pair, FrontProxyCA: frontProxyCA.Pair}
	if err := issueAll(ca, servers(cluster), files); err != nil {
		return nil, nil, err
	}
	frontProxy := map[string]Subject{FrontProxyClient: {Name: FrontProxyClient}}
	if err := issueAll(frontProxyCA, frontProxy, files); err != nil {
		return nil, nil, err
	}
	if err := writePairs(cluster.Certificates(), files); err != nil {
		return nil, nil, err
	}
	if err := writeServiceAccountKey(cluster.Certificates()); err != nil {
		return nil, nil, err
	}
	clients := map[string]Pair{}
	return clients, ca.Certificate, issueAll(ca, Clients(cluster.Name), clients)
}

func servers(cluster *state.Cluster) map[string]Subject {
	return map[string]Subject{
		APIServer: {
			Name: "kube-apiserver",
			Names: []string{"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc",
				"kubernetes.default.svc.cluster.local"},
			Addresses: apiAddresses(cluster.Addresses),
		},
		KubeletClient: {Name: "kube-apiserver-kubelet-client", Groups: []string{"system:masters"}},
		KubeletServer: {Name: "system:node:" + cluster.Name, Names: []string{cluster.Name},
			Addresses: []netip.Addr{cluster.Addresses.API.Addr()}},
	}
}

func apiAddresses(a addresses.Addresses) []netip.Addr {
	reached := []netip.Addr{netip.MustParseAddr("127.0.0.1"), a.API.Addr(), a.Kubernetes()}
	if a.Link.IsValid() {
		reached = append(reached, a.Inner())
	}
	return reached
}

func issueAll(authority *Authority, subjects map[string]Subject, into map[string]Pair) error {
	for name, subject := range subjects {
		pair, err := authority.Issue(subject)
		if err != nil {
			return err
		}
		into[name] = pair
	}
	return nil
}

func writePairs(dir string, pairs map[string]Pair) error {
	for name, pair := range pairs {
		if err := state.WriteFile(filepath.Join(dir, name+".crt"), pair.Certificate, 0o644); err != nil {
			return err
		}
		if err := state.WriteFile(filepath.Join(dir, name+".key"), pair.Key, 0o600); err != nil {
			return err
		}
	}
	return nil
}

func writeServiceAccountKey(dir string) error {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return fmt.Errorf("failed to make the service account key: %w", err)
	}
	private, err := encodeKey(key)
	if err != nil {
		return fmt.Errorf("failed to encode the service account key: %w", err)
	}
	public, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		return fmt.Errorf("failed to encode the service account key: %w", err)
	}
	if err := state.WriteFile(filepath.Join(dir, ServiceAccount+".key"), private, 0o600); err != nil {
		return err
	}
	encoded := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public})
	return state.WriteFile(filepath.Join(dir, ServiceAccount+".pub"), encoded, 0o644)
}
