package lifecycle

import (
	"context"
	"errors"
	"time"

	"windlass.dev/cluster/controlplane"
	"windlass.dev/cluster/network"
	"windlass.dev/cluster/node"
	"windlass.dev/cluster/process"
	"windlass.dev/cluster/state"
)

// Status is what there is to know about a cluster; programs read it as JSON.
type Status struct {
	Name  string      `json:"name"`
	Kind  state.Kind  `json:"kind"`
	Stage state.Stage `json:"stage"`
	// Healthy is true when every component runs, the API server answers and the node, if any, takes Pods.
	Healthy bool `json:"healthy"`
	// Problem says why not.
	Problem    string            `json:"problem,omitempty"`
	Kubeconfig string            `json:"kubeconfig"`
	APIServer  string            `json:"apiServer"`
	AuditLog   string            `json:"auditLog"`
	Components []ComponentStatus `json:"components"`
	Node       *NodeStatus       `json:"node,omitempty"`
}

// ComponentStatus is about one process.
type ComponentStatus struct {
	Name    string     `json:"name"`
	Running bool       `json:"running"`
	PID     int        `json:"pid,omitempty"`
	Since   *time.Time `json:"since,omitempty"`
	Log     string     `json:"log"`
}

// NodeStatus is about what only a cluster with a node has.
type NodeStatus struct {
	Name  string `json:"name"`
	Ready bool   `json:"ready"`
	// Host is this machine's address as Pods and the API server see it.
	Host string `json:"host"`
	// Registry is where an image registry on this machine is asked by plain HTTP.
	Registry         string `json:"registry"`
	PodRange         string `json:"podRange"`
	ServiceRange     string `json:"serviceRange"`
	DNS              string `json:"dns"`
	NetworkNamespace string `json:"networkNamespace"`
	ContainerdSocket string `json:"containerdSocket"`
	CgroupRoot       string `json:"cgroupRoot"`
	// HostLink is the interface on the machine that leads to the cluster.
	HostLink string `json:"hostLink"`
}

// askTime is how long a status waits for answers of the API server.
const askTime = 5 * time.Second

// Status looks at the cluster without changing it or waiting for who does.
func (h Home) Status(ctx context.Context, name string) (*Status, error) {
	cluster, err := h.load(name)
	if err != nil {
		return nil, err
	}
	return h.statusOf(ctx, cluster), nil
}

func (h Home) statusOf(ctx context.Context, cluster *state.Cluster) *Status {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	status := &Status{
		Name: cluster.Name, Kind: cluster.Kind, Stage: cluster.Stage,
		Kubeconfig: cluster.Kubeconfig(),
		APIServer:  "https://" + cluster.Addresses.API.String(),
		AuditLog:   cluster.AuditLog(),
	}
	problems := []error{stageProblem(cluster)}
	for _, component := range h.components(cluster) {
		found := componentStatus(cluster, component.Name)
		status.Components = append(status.Components, found)
		if !found.Running {
			problems = append(problems, errors.New(component.Name+" does not run"))
		}
	}
	problems = append(problems, controlplane.APIReady(cluster)(ctx))
	if cluster.Kind == state.Full {
		notReady := node.Ready(cluster)(ctx)
		status.Node = nodeStatus(cluster, notReady == nil)
		problems = append(problems, notReady)
	}
	if problem := errors.Join(problems...); problem != nil {
		status.Problem = problem.Error()
	}
	status.Healthy = status.Problem == ""
	return status
}

func stageProblem(cluster *state.Cluster) error {
	if cluster.Stage == state.Made {
		return nil
	}
	return errors.New("the cluster is half-made: `windlass-cluster up` makes it again")
}

func componentStatus(cluster *state.Cluster, name string) ComponentStatus {
	status := ComponentStatus{Name: name, Log: cluster.Log(name)}
	record, err := process.Recorded(cluster, name)
	if err != nil || !record.Alive() {
		return status
	}
	status.Running, status.PID, status.Since = true, record.PID, &record.Since
	return status
}

func nodeStatus(cluster *state.Cluster, ready bool) *NodeStatus {
	return &NodeStatus{
		Name:             cluster.Name,
		Ready:            ready,
		Host:             cluster.Addresses.Host().String(),
		Registry:         node.Registry(cluster),
		PodRange:         cluster.Addresses.Pods.String(),
		ServiceRange:     cluster.Addresses.Services.String(),
		DNS:              cluster.Addresses.DNS().String(),
		NetworkNamespace: namespacesOf(cluster).Network(),
		ContainerdSocket: node.Socket(cluster),
		CgroupRoot:       "/" + node.Group(cluster),
		HostLink:         network.HostLink(cluster.Index),
	}
}
