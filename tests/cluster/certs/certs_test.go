package certs

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"testing"

	"k8s.io/client-go/tools/clientcmd"

	"windlass.dev/cluster/addresses"
	"windlass.dev/cluster/state"
)

func written(t *testing.T) (*state.Cluster, map[string]Pair, []byte) {
	t.Helper()
	cluster := &state.Cluster{Name: "unit", Dir: t.TempDir(), Addresses: addresses.OfIndex(7)}
	clients, ca, err := Write(cluster)
	if err != nil {
		t.Fatal(err)
	}
	return cluster, clients, ca
}

func load(t *testing.T, cluster *state.Cluster, name string) *x509.Certificate {
	t.Helper()
	pair, err := tls.LoadX509KeyPair(cluster.Certificate(name), cluster.Key(name))
	if err != nil {
		t.Fatal(err)
	}
	return pair.Leaf
}

func pool(ca []byte) *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(ca)
	return pool
}

func TestTheAPIServerIsTrustedUnderEachOfItsNames(t *testing.T) {
	cluster, _, ca := written(t)
	leaf := load(t, cluster, APIServer)
	for _, name := range []string{"kubernetes.default.svc", "localhost", "127.0.0.1", "10.244.7.1", "10.96.28.1", "10.245.7.2"} {
		if _, err := leaf.Verify(x509.VerifyOptions{Roots: pool(ca), DNSName: name}); err != nil {
			t.Errorf("as %s: %v", name, err)
		}
	}
	if _, err := leaf.Verify(x509.VerifyOptions{Roots: pool(ca), DNSName: "10.244.8.1"}); err == nil {
		t.Error("trusted under the address of another cluster")
	}
}

func TestTheFrontProxyClientIsNoClientOfTheCluster(t *testing.T) {
	cluster, _, ca := written(t)
	usage := []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	leaf := load(t, cluster, FrontProxyClient)
	if _, err := leaf.Verify(x509.VerifyOptions{Roots: pool(ca), KeyUsages: usage}); err == nil {
		t.Error("the cluster's authority vouches for the front proxy's client")
	}
}

func TestEachClientHasAKubeconfigWithItsUser(t *testing.T) {
	cluster, clients, ca := written(t)
	if err := WriteKubeconfigs(cluster, clients, ca); err != nil {
		t.Fatal(err)
	}
	for name, subject := range Clients(cluster.Name) {
		config, err := clientcmd.BuildConfigFromFlags("", cluster.KubeconfigOf(name))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		block, _ := pem.Decode(config.CertData)
		leaf, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if leaf.Subject.CommonName != subject.Name {
			t.Errorf("%s: user is %q, want %q", name, leaf.Subject.CommonName, subject.Name)
		}
	}
}
