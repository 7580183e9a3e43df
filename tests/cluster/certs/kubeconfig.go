package certs

import (
	"fmt"

	"k8s.io/client-go/tools/clientcmd"
	api "k8s.io/client-go/tools/clientcmd/api"

	"windlass.dev/cluster/state"
)

// WriteKubeconfigs writes the kubeconfig of each client, and the administrator's a second time where people look.
func WriteKubeconfigs(cluster *state.Cluster, clients map[string]Pair, ca []byte) error {
	for name, pair := range clients {
		raw, err := kubeconfig(cluster, name, pair, ca)
		if err != nil {
			return err
		}
		if err := state.WriteFile(cluster.KubeconfigOf(name), raw, 0o600); err != nil {
			return err
		}
		if name != "admin" {
			continue
		}
		if err := state.WriteFile(cluster.Kubeconfig(), raw, 0o600); err != nil {
			return err
		}
	}
	return nil
}

func kubeconfig(cluster *state.Cluster, user string, pair Pair, ca []byte) ([]byte, error) {
	name := "windlass-" + cluster.Name
	config := api.NewConfig()
	config.Clusters[name] = &api.Cluster{
		Server:                   "https://" + cluster.Addresses.API.String(),
		CertificateAuthorityData: ca,
	}
	config.AuthInfos[user] = &api.AuthInfo{ClientCertificateData: pair.Certificate, ClientKeyData: pair.Key}
	config.Contexts[name] = &api.Context{Cluster: name, AuthInfo: user}
	config.CurrentContext = name
	raw, err := clientcmd.Write(*config)
	if err != nil {
		return nil, fmt.Errorf("failed to encode the kubeconfig of %s: %w", user, err)
	}
	return raw, nil
}
