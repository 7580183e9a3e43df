package addresses

import (
	"net/netip"
	"testing"
)

func TestEachIndexHasRangesThatNoOtherIndexTouches(t *testing.T) {
	for i := range Clusters {
		mine := OfIndex(i)
		for j := range i {
			other := OfIndex(j)
			for _, prefix := range []netip.Prefix{other.Pods, other.Services, other.Link} {
				if mine.Overlap(prefix) {
					t.Errorf("cluster %d overlaps %s of cluster %d", i, prefix, j)
				}
			}
		}
	}
}

func TestTheRolesAreInsideTheirRanges(t *testing.T) {
	a := OfIndex(3)
	cases := map[string]struct{ got, want string }{
		"node":       {a.Node().String(), "10.244.3.1"},
		"api":        {a.API.String(), "10.244.3.1:6443"},
		"host":       {a.Host().String(), "10.245.3.1"},
		"inner":      {a.Inner().String(), "10.245.3.2"},
		"kubernetes": {a.Kubernetes().String(), "10.96.12.1"},
		"dns":        {a.DNS().String(), "10.96.12.10"},
	}
	for name, c := range cases {
		if c.got != c.want {
			t.Errorf("%s is %s, want %s", name, c.got, c.want)
		}
	}
}

func TestLoopbackPortsDiffer(t *testing.T) {
	a, err := OnLoopback()
	if err != nil {
		t.Fatal(err)
	}
	if a.API == a.Etcd {
		t.Errorf("API server and etcd were both given %s", a.API)
	}
}
