package node

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	proxyconfig "k8s.io/kube-proxy/config/v1alpha1"
	kubeletconfig "k8s.io/kubelet/config/v1beta1"
	"sigs.k8s.io/yaml"

	"windlass.dev/cluster/addresses"
	"windlass.dev/cluster/state"
)

func written(t *testing.T) *state.Cluster {
	t.Helper()
	cluster := &state.Cluster{Name: "unit", Kind: state.Full, Index: 9, Dir: t.TempDir(), Addresses: addresses.OfIndex(9)}
	if err := WriteConfig(cluster); err != nil {
		t.Fatal(err)
	}
	return cluster
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func TestTheKubeletKnowsEachSetting(t *testing.T) {
	cluster := written(t)
	var config kubeletconfig.KubeletConfiguration
	if err := yaml.UnmarshalStrict(read(t, cluster.Config("kubelet.yaml")), &config); err != nil {
		t.Fatal(err)
	}
	if want := "/windlass-9"; config.CgroupRoot != want {
		t.Errorf("Pods run below %s, want %s", config.CgroupRoot, want)
	}
	if len(config.ClusterDNS) != 1 || config.ClusterDNS[0] != "10.96.36.10" {
		t.Errorf("Pods ask %v for names", config.ClusterDNS)
	}
}

func TestKubeProxyKnowsEachSetting(t *testing.T) {
	cluster := written(t)
	var config proxyconfig.KubeProxyConfiguration
	if err := yaml.UnmarshalStrict(read(t, cluster.Config("kube-proxy.yaml")), &config); err != nil {
		t.Fatal(err)
	}
	if config.Conntrack.MaxPerCore == nil || *config.Conntrack.MaxPerCore != 0 {
		t.Error("kube-proxy would change the whole machine's limit of connections")
	}
}

func TestPodsGetAddressesOfTheClustersOwnRange(t *testing.T) {
	cluster := written(t)
	raw := read(t, filepath.Join(cluster.Config("cni"), "10-bridge.conflist"))
	if !json.Valid(raw) {
		t.Fatalf("not JSON: %s", raw)
	}
	for _, part := range []string{`"subnet": "10.244.9.0/24"`, `"gateway": "10.244.9.1"`} {
		if !strings.Contains(string(raw), part) {
			t.Errorf("no %s in %s", part, raw)
		}
	}
}

func TestSocketsHavePathsThatTheKernelTakes(t *testing.T) {
	for index := range addresses.Clusters {
		if path := Socket(&state.Cluster{Index: index}) + ".ttrpc"; len(path) > 107 {
			t.Errorf("%s has %d bytes", path, len(path))
		}
	}
}
