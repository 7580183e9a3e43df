package main

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/prometheus/discovery"
)

// kubernetesDiscovery stands in for Prometheus' own, which is built against another client-go than upstream's operator:
// whatever it is told is accepted, and the rest of a configuration is read by Prometheus' own code.
type kubernetesDiscovery struct {
	Fields map[string]any `yaml:",inline"`
}

func init() {
	discovery.RegisterConfig(&kubernetesDiscovery{})
}

func (*kubernetesDiscovery) Name() string { return "kubernetes" }

func (*kubernetesDiscovery) NewDiscoverer(discovery.DiscovererOptions) (discovery.Discoverer, error) {
	return nil, errors.New("the oracle discovers nothing")
}

func (*kubernetesDiscovery) NewDiscovererMetrics(prometheus.Registerer, discovery.RefreshMetricsInstantiator) discovery.DiscovererMetrics {
	return nil
}
