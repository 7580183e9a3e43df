package controlplane

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"windlass.dev/cluster/state"
)

// ClientConfig is how this program itself talks to the cluster.
func ClientConfig(cluster *state.Cluster) (*rest.Config, error) {
	config, err := clientcmd.BuildConfigFromFlags("", cluster.KubeconfigOf("windlass-cluster"))
	if err != nil {
		return nil, fmt.Errorf("failed to read the kubeconfig of cluster %q: %w", cluster.Name, err)
	}
	config.Timeout = 10 * time.Second
	config.UserAgent = "windlass-cluster"
	return config, nil
}

// podsAdmitted asks for the service account without which no Pod is admitted: the controller manager makes it.
func podsAdmitted(cluster *state.Cluster) func(context.Context) error {
	return func(ctx context.Context) error {
		config, err := ClientConfig(cluster)
		if err != nil {
			return err
		}
		client, err := kubernetes.NewForConfig(config)
		if err != nil {
			return fmt.Errorf("failed to make a client: %w", err)
		}
		_, err = client.CoreV1().ServiceAccounts("default").Get(ctx, "default", metav1.GetOptions{})
		if err != nil {
			return fmt.Errorf("failed to look for the default service account: %w", err)
		}
		return nil
	}
}

// APIReady asks the API server whether all its parts are up.
func APIReady(cluster *state.Cluster) func(context.Context) error {
	// The kubeconfig may not be there yet when the component is described.
	connect := sync.OnceValues(func() (*http.Client, error) {
		config, err := ClientConfig(cluster)
		if err != nil {
			return nil, err
		}
		return rest.HTTPClientFor(config)
	})
	return func(ctx context.Context) error {
		client, err := connect()
		if err != nil {
			return err
		}
		return askReadyz(ctx, client, "https://"+cluster.Addresses.API.String()+"/readyz")
	}
}

func askReadyz(ctx context.Context, client *http.Client, url string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return fmt.Errorf("failed to ask %s: %w", url, err)
	}
	response, err := client.Do(request)
	if err != nil {
		return fmt.Errorf("the API server does not answer: %w", err)
	}
	defer response.Body.Close()
	body, _ := io.ReadAll(io.LimitReader(response.Body, 4096))
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("the API server answers %s: %s", response.Status, body)
	}
	return nil
}
