// Package network joins a cluster's network namespace to the machine and prepares it for Pods.
//
//	machine  wlN 10.245.N.1/30 ──── up0 10.245.N.2/30  namespace  cni0 10.244.N.1/24 ──── Pods
//
// The machine has a route to the Pods and to the Services. The namespace has no default route: Pods reach each other,
// the Services and this machine, and nothing else.
package network

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strconv"

	"github.com/vishvananda/netlink"

	"windlass.dev/cluster/addresses"
	"windlass.dev/cluster/namespace"
)

// Bridge is the name of the interface that the Pods are attached to.
const Bridge = "cni0"

const inner = "up0"

// HostLink is the machine's end of the link to the cluster with that number.
func HostLink(index int) string { return "wl" + strconv.Itoa(index) }

// Connect makes all interfaces and routes.
func Connect(set namespace.Set, index int, a addresses.Addresses) error {
	if err := makeLink(set, HostLink(index), a); err != nil {
		return fmt.Errorf("failed to link the cluster's network namespace: %w", err)
	}
	if err := set.RunInNetwork(func() error { return arrangeInside(a) }); err != nil {
		return fmt.Errorf("failed to prepare the cluster's network namespace: %w", err)
	}
	if err := routeInto(HostLink(index), a); err != nil {
		return fmt.Errorf("failed to route to the cluster: %w", err)
	}
	return nil
}

func makeLink(set namespace.Set, name string, a addresses.Addresses) error {
	file, err := os.Open(set.Network())
	if err != nil {
		return err
	}
	defer file.Close()
	attributes := netlink.NewLinkAttrs()
	attributes.Name = name
	link := &netlink.Veth{LinkAttrs: attributes, PeerName: inner, PeerNamespace: netlink.NsFd(int(file.Fd()))}
	if err := netlink.LinkAdd(link); err != nil {
		return fmt.Errorf("failed to make interface %s: %w", name, err)
	}
	return raise(name, netip.PrefixFrom(a.Host(), a.Link.Bits()))
}

// arrangeInside runs in the namespace.
func arrangeInside(a addresses.Addresses) error {
	if err := raise("lo", netip.Prefix{}); err != nil {
		return err
	}
	if err := raise(inner, netip.PrefixFrom(a.Inner(), a.Link.Bits())); err != nil {
		return err
	}
	if err := makeBridge(); err != nil {
		return err
	}
	if err := raise(Bridge, netip.PrefixFrom(a.Node(), a.Pods.Bits())); err != nil {
		return err
	}
	return allowForwarding()
}

func makeBridge() error {
	attributes := netlink.NewLinkAttrs()
	attributes.Name = Bridge
	// A fixed address: otherwise the bridge takes one of its ports', and neighbours must learn it again each time.
	attributes.HardwareAddr = net.HardwareAddr{0x02, 0x57, 0x4c, 0, 0, 1}
	if err := netlink.LinkAdd(&netlink.Bridge{LinkAttrs: attributes}); err != nil {
		return fmt.Errorf("failed to make bridge %s: %w", Bridge, err)
	}
	return nil
}

// raise gives the interface its address, if any, and sets it up.
func raise(name string, address netip.Prefix) error {
	link, err := netlink.LinkByName(name)
	if err != nil {
		return fmt.Errorf("failed to find interface %s: %w", name, err)
	}
	if address.IsValid() {
		if err := netlink.AddrAdd(link, &netlink.Addr{IPNet: ipNet(address)}); err != nil {
			return fmt.Errorf("failed to give %s the address %s: %w", name, address, err)
		}
	}
	if err := netlink.LinkSetUp(link); err != nil {
		return fmt.Errorf("failed to set %s up: %w", name, err)
	}
	return nil
}

// allowForwarding lets packets pass between Pods and the link, and lets kube-proxy's rules see those between two Pods.
func allowForwarding() error {
	for _, setting := range []string{"net/ipv4/ip_forward", "net/bridge/bridge-nf-call-iptables"} {
		err := os.WriteFile("/proc/sys/"+setting, []byte("1"), 0o644)
		if errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("the kernel has no setting %s: load its module with `modprobe br_netfilter`", setting)
		}
		if err != nil {
			return fmt.Errorf("failed to set %s: %w", setting, err)
		}
	}
	return nil
}

func routeInto(name string, a addresses.Addresses) error {
	link, err := netlink.LinkByName(name)
	if err != nil {
		return fmt.Errorf("failed to find interface %s: %w", name, err)
	}
	for _, prefix := range []netip.Prefix{a.Pods, a.Services} {
		route := &netlink.Route{LinkIndex: link.Attrs().Index, Dst: ipNet(prefix), Gw: a.Inner().AsSlice()}
		if err := netlink.RouteAdd(route); err != nil {
			return fmt.Errorf("failed to add a route to %s: %w", prefix, err)
		}
	}
	return nil
}

func ipNet(prefix netip.Prefix) *net.IPNet {
	return &net.IPNet{IP: prefix.Addr().AsSlice(), Mask: net.CIDRMask(prefix.Bits(), prefix.Addr().BitLen())}
}

// Disconnect removes the link and with it the routes. What is not there is no error.
func Disconnect(index int) error {
	link, err := netlink.LinkByName(HostLink(index))
	if errors.As(err, &netlink.LinkNotFoundError{}) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("failed to find interface %s: %w", HostLink(index), err)
	}
	if err := netlink.LinkDel(link); err != nil {
		return fmt.Errorf("failed to remove interface %s: %w", HostLink(index), err)
	}
	return nil
}
