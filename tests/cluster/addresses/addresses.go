// Package addresses gives each cluster ranges of its own, so that clusters live side by side.
//
// Cluster number N has Pods in 10.244.N.0/24, Services in 10.96.(4N).0/22 and the link that joins it to the machine
// in 10.245.N.0/30. A cluster without a node has none of them: it listens on the machine's loopback.
package addresses

import (
	"fmt"
	"net"
	"net/netip"
)

// Clusters is how many full clusters fit the ranges.
const Clusters = 64

// Addresses are all addresses of one cluster.
type Addresses struct {
	// API is where the API server listens, for the machine and for Pods.
	API netip.AddrPort `json:"api"`
	// Etcd is where etcd listens, on the loopback of the cluster's network namespace.
	Etcd netip.AddrPort `json:"etcd"`
	// Services is the range of cluster IPs.
	Services netip.Prefix `json:"services"`
	// Pods is the range of Pod IPs; its first address is the node's.
	Pods netip.Prefix `json:"pods,omitzero"`
	// Link joins the machine (first address) and the cluster's network namespace (second).
	Link netip.Prefix `json:"link,omitzero"`
}

// OfIndex are the addresses of the full cluster with that number.
func OfIndex(index int) Addresses {
	n := byte(index)
	pods := netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 244, n, 0}), 24)
	return Addresses{
		API:      netip.AddrPortFrom(pods.Addr().Next(), 6443),
		Etcd:     netip.MustParseAddrPort("127.0.0.1:2379"),
		Services: netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 96, 4 * n, 0}), 22),
		Pods:     pods,
		Link:     netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 245, n, 0}), 30),
	}
}

// OnLoopback are addresses of a control plane without a node, with ports that are free now.
func OnLoopback() (Addresses, error) {
	var free [2]netip.AddrPort
	for i := range free {
		listener, err := net.Listen("tcp4", "127.0.0.1:0")
		if err != nil {
			return Addresses{}, fmt.Errorf("failed to find a free port on the loopback: %w", err)
		}
		defer listener.Close()
		free[i] = listener.Addr().(*net.TCPAddr).AddrPort()
	}
	return Addresses{API: free[0], Etcd: free[1], Services: netip.MustParsePrefix("10.96.0.0/16")}, nil
}

// Node is the address of the node, the bridge and the API server.
func (a Addresses) Node() netip.Addr { return a.Pods.Addr().Next() }

// Host is the machine's address as the cluster sees it.
func (a Addresses) Host() netip.Addr { return a.Link.Addr().Next() }

// Inner is the cluster's end of the link.
func (a Addresses) Inner() netip.Addr { return a.Host().Next() }

// Kubernetes is the cluster IP of the Service `kubernetes`, which upstream sets to the first of the range.
func (a Addresses) Kubernetes() netip.Addr { return a.Services.Addr().Next() }

// DNS is the cluster IP of cluster DNS: the tenth of the range, as elsewhere.
func (a Addresses) DNS() netip.Addr {
	address := a.Services.Addr()
	for range 10 {
		address = address.Next()
	}
	return address
}

// Overlap tells whether any range of these addresses meets the other range.
func (a Addresses) Overlap(other netip.Prefix) bool {
	return a.Pods.Overlaps(other) || a.Services.Overlaps(other) || a.Link.Overlaps(other)
}
