package node

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"windlass.dev/cluster/state"
)

// runtimeReady asks containerd whether it can run Pods.
func runtimeReady(cluster *state.Cluster) func(context.Context) error {
	return func(ctx context.Context) error {
		return withRuntime(cluster, func(runtime cri.RuntimeServiceClient) error {
			ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
			defer cancel()
			answer, err := runtime.Status(ctx, &cri.StatusRequest{})
			if err != nil {
				return fmt.Errorf("containerd does not answer: %w", err)
			}
			for _, condition := range answer.Status.Conditions {
				if !condition.Status {
					return fmt.Errorf("containerd lacks %s: %s", condition.Type, condition.Message)
				}
			}
			return nil
		})
	}
}

func withRuntime(cluster *state.Cluster, do func(cri.RuntimeServiceClient) error) error {
	connection, err := grpc.NewClient("unix://"+Socket(cluster), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return fmt.Errorf("failed to reach containerd: %w", err)
	}
	defer connection.Close()
	return do(cri.NewRuntimeServiceClient(connection))
}

// ContainerPID is the process of a Pod's container on this machine; without a container's name, of the Pod's first. It
// asks containerd, so it works while the API server is away.
func ContainerPID(ctx context.Context, cluster *state.Cluster, namespace, pod, container string) (int, error) {
	var pid int
	err := withRuntime(cluster, func(runtime cri.RuntimeServiceClient) error {
		id, err := runningContainer(ctx, runtime, namespace, pod, container)
		if err != nil {
			return err
		}
		pid, err = processOf(ctx, runtime, id)
		return err
	})
	return pid, err
}

// Labels that the kubelet gives each container.
const (
	labelNamespace = "io.kubernetes.pod.namespace"
	labelPod       = "io.kubernetes.pod.name"
	labelContainer = "io.kubernetes.container.name"
)

func runningContainer(ctx context.Context, runtime cri.RuntimeServiceClient, namespace, pod, container string) (string, error) {
	labels := map[string]string{labelNamespace: namespace, labelPod: pod}
	if container != "" {
		labels[labelContainer] = container
	}
	answer, err := runtime.ListContainers(ctx, &cri.ListContainersRequest{Filter: &cri.ContainerFilter{
		State:         &cri.ContainerStateValue{State: cri.ContainerState_CONTAINER_RUNNING},
		LabelSelector: labels,
	}})
	if err != nil {
		return "", fmt.Errorf("failed to list containers: %w", err)
	}
	if len(answer.Containers) == 0 {
		return "", fmt.Errorf("no container of Pod %s/%s%s runs on cluster's node", namespace, pod, named(container))
	}
	first := answer.Containers[0]
	for _, candidate := range answer.Containers {
		if candidate.CreatedAt < first.CreatedAt {
			first = candidate
		}
	}
	return first.Id, nil
}

func named(container string) string {
	if container == "" {
		return ""
	}
	return " with the name " + container
}

func processOf(ctx context.Context, runtime cri.RuntimeServiceClient, id string) (int, error) {
	answer, err := runtime.ContainerStatus(ctx, &cri.ContainerStatusRequest{ContainerId: id, Verbose: true})
	if err != nil {
		return 0, fmt.Errorf("failed to look at container %s: %w", id, err)
	}
	var details struct {
		PID int `json:"pid"`
	}
	if err := json.Unmarshal([]byte(answer.Info["info"]), &details); err != nil {
		return 0, fmt.Errorf("failed to parse what containerd says of container %s: %w", id, err)
	}
	if details.PID <= 0 {
		return 0, fmt.Errorf("containerd knows no process of container %s", id)
	}
	return details.PID, nil
}
