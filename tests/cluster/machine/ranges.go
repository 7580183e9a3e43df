package machine

import (
	"fmt"
	"net/netip"

	"github.com/vishvananda/netlink"

	"windlass.dev/cluster/addresses"
)

// usedRanges are the destinations that the machine's routes name. The default route is not one: it leads to all that
// has no better one.
func usedRanges() ([]netip.Prefix, error) {
	routes, err := netlink.RouteList(nil, netlink.FAMILY_V4)
	if err != nil {
		return nil, fmt.Errorf("failed to list the machine's routes: %w", err)
	}
	var used []netip.Prefix
	for _, route := range routes {
		if route.Dst == nil {
			continue
		}
		prefix, err := netip.ParsePrefix(route.Dst.String())
		if err == nil && prefix.Bits() > 0 {
			used = append(used, prefix)
		}
	}
	return used, nil
}

func overlapsAny(a addresses.Addresses, used []netip.Prefix) bool {
	for _, prefix := range used {
		if a.Overlap(prefix) {
			return true
		}
	}
	return false
}
