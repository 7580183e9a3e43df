package lifecycle

import (
	"context"
	"fmt"
	"net"
	"net/netip"

	"windlass.dev/cluster/controlplane"
	"windlass.dev/cluster/process"
	"windlass.dev/cluster/state"
)

func (h Home) bringUpControlPlane(ctx context.Context, cluster *state.Cluster) error {
	if err := portsAreOurs(cluster); err != nil {
		return err
	}
	return h.stage("etcd and API server", func() error { return start(ctx, cluster, h.components(cluster)...) })
}

// portsAreOurs looks whether another program took a port of the loopback while the component that it was given to did
// not run.
func portsAreOurs(cluster *state.Cluster) error {
	ports := map[string]netip.AddrPort{
		controlplane.Etcd:      cluster.Addresses.Etcd,
		controlplane.APIServer: cluster.Addresses.API,
	}
	for component, address := range ports {
		if record, err := process.Recorded(cluster, component); err != nil || record.Alive() {
			continue // a record that cannot be read is told of when the component is started
		}
		listener, err := net.Listen("tcp", address.String())
		if err != nil {
			return fmt.Errorf("the port of %s is taken by another program (%w): end that, or take cluster %q down and up again",
				component, err, cluster.Name)
		}
		listener.Close()
	}
	return nil
}
