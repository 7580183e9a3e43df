// Package node says how containerd, the kubelet and kube-proxy are run, and does what concerns containers: images and
// their processes.
package node

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"windlass.dev/cluster/controlplane"
	"windlass.dev/cluster/process"
	"windlass.dev/cluster/state"
)

// Names of the components, which are also those of the programs.
const (
	Containerd = "containerd"
	Kubelet    = "kubelet"
	Proxy      = "kube-proxy"
)

// ContainerRuntime is needed before images can be imported.
func ContainerRuntime(cluster *state.Cluster) process.Component {
	return process.Component{
		Name:  Containerd,
		Args:  []string{"containerd", "--config", cluster.Config("containerd.toml")},
		Grace: 10 * time.Second,
		Ready: runtimeReady(cluster),
	}
}

// Components are those that talk to the API server.
func Components(cluster *state.Cluster, binary string) []process.Component {
	return []process.Component{
		{Name: Kubelet, Args: kubelet(cluster, binary), Grace: 10 * time.Second, Ready: Ready(cluster)},
		{Name: Proxy, Args: proxy(cluster, binary), Grace: 5 * time.Second},
	}
}

func kubelet(cluster *state.Cluster, binary string) []string {
	return []string{binary, Kubelet,
		"--config=" + cluster.Config("kubelet.yaml"),
		"--kubeconfig=" + cluster.KubeconfigOf(Kubelet),
		"--hostname-override=" + cluster.Name,
		"--node-ip=" + cluster.Addresses.Node().String(),
	}
}

func proxy(cluster *state.Cluster, binary string) []string {
	return []string{binary, Proxy, "--config=" + cluster.Config("kube-proxy.yaml")}
}

// Ready asks the API server whether the cluster's node takes Pods.
func Ready(cluster *state.Cluster) func(context.Context) error {
	return func(ctx context.Context) error {
		config, err := controlplane.ClientConfig(cluster)
		if err != nil {
			return err
		}
		client, err := kubernetes.NewForConfig(config)
		if err != nil {
			return fmt.Errorf("failed to make a client: %w", err)
		}
		node, err := client.CoreV1().Nodes().Get(ctx, cluster.Name, metav1.GetOptions{})
		if err != nil {
			return fmt.Errorf("failed to look at the node: %w", err)
		}
		return readiness(node)
	}
}

func readiness(node *corev1.Node) error {
	for _, condition := range node.Status.Conditions {
		if condition.Type != corev1.NodeReady {
			continue
		}
		if condition.Status == corev1.ConditionTrue {
			return nil
		}
		return fmt.Errorf("the node is not ready: %s", condition.Message)
	}
	return fmt.Errorf("the node has not told its condition yet")
}
