package dns

import (
	"bytes"
	"net/netip"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"sigs.k8s.io/yaml"
)

var server = Server{
	Address:    netip.MustParseAddr("10.244.3.1"),
	ClusterIP:  netip.MustParseAddr("10.96.12.10"),
	Kubeconfig: "/a folder/kubeconfig",
}

func TestCorefile(t *testing.T) {
	text, err := server.Corefile()
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		"cluster.local:53 in-addr.arpa:53 ip6.arpa:53 {",
		".:53 {",
		"    bind 10.244.3.1",
		`        kubeconfig "/a folder/kubeconfig"`,
	} {
		if !strings.Contains(string(text), line+"\n") {
			t.Errorf("wanted the line %q in\n%s", line, text)
		}
	}
	if strings.Contains(string(text), "forward") {
		t.Error("questions would leave the machine")
	}
}

// document decodes the one document of that kind.
func document(t *testing.T, kind string, object any) {
	t.Helper()
	manifests, err := server.Manifests()
	if err != nil {
		t.Fatal(err)
	}
	for text := range bytes.SplitSeq(manifests, []byte("\n---\n")) {
		if !bytes.Contains(text, []byte("\nkind: "+kind+"\n")) {
			continue
		}
		if err := yaml.UnmarshalStrict(text, object); err != nil {
			t.Fatal(err)
		}
		return
	}
	t.Fatalf("no document of kind %s", kind)
}

// TestEachServicePortLeadsToTheServer holds the two hand-made objects together: kube-proxy joins them by port name.
func TestEachServicePortLeadsToTheServer(t *testing.T) {
	var service corev1.Service
	var slice discoveryv1.EndpointSlice
	document(t, "Service", &service)
	document(t, "EndpointSlice", &slice)

	if service.Spec.ClusterIP != server.ClusterIP.String() {
		t.Errorf("wanted the cluster IP %s, got %s", server.ClusterIP, service.Spec.ClusterIP)
	}
	if slice.Labels[discoveryv1.LabelServiceName] != service.Name || slice.Namespace != service.Namespace {
		t.Error("the endpoint slice does not belong to the Service")
	}
	if address := slice.Endpoints[0].Addresses[0]; address != server.Address.String() {
		t.Errorf("wanted the address %s, got %s", server.Address, address)
	}
	ports := map[string]discoveryv1.EndpointPort{}
	for _, port := range slice.Ports {
		ports[*port.Name] = port
	}
	for _, port := range service.Spec.Ports {
		behind := ports[port.Name]
		if behind.Port == nil || *behind.Port != Port || *behind.Protocol != port.Protocol {
			t.Errorf("nothing serves port %s", port.Name)
		}
	}
}
