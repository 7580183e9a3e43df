package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/record"
	"sigs.k8s.io/yaml"

	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"github.com/prometheus-operator/prometheus-operator/pkg/assets"
	"github.com/prometheus-operator/prometheus-operator/pkg/operator"
	upstream "github.com/prometheus-operator/prometheus-operator/pkg/prometheus"
)

// ruleFiles are the names under which the differential test has rules mounted.
var ruleFiles = []string{"prometheus-rules"}

// answer generates the configuration and tells what was rejected.
func (w *world) answer() answer {
	rejected := map[string]string{}
	configuration, err := w.configuration(rejected)
	rules := w.ruleFiles(rejected)
	if err != nil {
		return answer{Error: err.Error(), Rejected: rejected, Rules: rules}
	}
	parsed, err := parse(configuration)
	if err != nil {
		return answer{Error: "upstream's own YAML: " + err.Error(), Rejected: rejected}
	}
	return answer{Configuration: parsed, Rejected: rejected, Rules: rules}
}

func parse(text []byte) (any, error) {
	asJSON, err := yaml.YAMLToJSON(text)
	if err != nil {
		return nil, err
	}
	var parsed any
	return parsed, json.Unmarshal(asJSON, &parsed)
}

func (w *world) configuration(rejected map[string]string) ([]byte, error) {
	ctx := context.Background()
	store := assets.NewStoreBuilder(w, w)
	generator, err := upstream.NewConfigGenerator(slog.New(slog.DiscardHandler), w.prometheus, upstream.WithEndpointSliceSupport())
	if err != nil {
		return nil, err
	}
	selector, err := upstream.NewResourceSelector(
		slog.New(slog.DiscardHandler), w.prometheus, store, w.namespaceInformer(),
		operator.NewMetrics(prometheus.NewRegistry()), &record.FakeRecorder{})
	if err != nil {
		return nil, err
	}
	serviceMonitors, err := selected(w.serviceMonitors, "ServiceMonitor", rejected, func(one []*monitoringv1.ServiceMonitor) (map[string]*monitoringv1.ServiceMonitor, int, error) {
		found, err := selector.SelectServiceMonitors(ctx, lister(one))
		return found.ValidResources(), len(found), err
	})
	if err != nil {
		return nil, err
	}
	podMonitors, err := selected(w.podMonitors, "PodMonitor", rejected, func(one []*monitoringv1.PodMonitor) (map[string]*monitoringv1.PodMonitor, int, error) {
		found, err := selector.SelectPodMonitors(ctx, lister(one))
		return found.ValidResources(), len(found), err
	})
	if err != nil {
		return nil, err
	}
	probes, err := selected(w.probes, "Probe", rejected, func(one []*monitoringv1.Probe) (map[string]*monitoringv1.Probe, int, error) {
		found, err := selector.SelectProbes(ctx, lister(one))
		return found.ValidResources(), len(found), err
	})
	if err != nil {
		return nil, err
	}
	if err := w.addServers(ctx, store); err != nil {
		return nil, err
	}
	spec := w.prometheus.Spec
	jobs, err := w.list(spec.AdditionalScrapeConfigs)
	if err != nil {
		return nil, err
	}
	alertRules, err := w.list(spec.AdditionalAlertRelabelConfigs)
	if err != nil {
		return nil, err
	}
	alertmanagers, err := w.list(spec.AdditionalAlertManagerConfigs)
	if err != nil {
		return nil, err
	}
	return generator.GenerateServerConfiguration(
		w.prometheus, serviceMonitors, podMonitors, probes, nil, store, jobs, alertRules, alertmanagers, ruleFiles)
}

// named is a monitor by pointer.
type named[T any] interface {
	*T
	GetNamespace() string
	GetName() string
}

// selected asks about each object alone, so that the one which is rejected is known by name.
func selected[T any, P named[T]](objects []P, kind string, rejected map[string]string, ask func([]P) (map[string]P, int, error)) (map[string]P, error) {
	all := map[string]P{}
	for _, object := range objects {
		valid, matching, err := ask([]P{object})
		if err != nil {
			return nil, err
		}
		for name, found := range valid {
			all[name] = found
		}
		if matching > len(valid) {
			rejected[fmt.Sprintf("%s/%s/%s", kind, object.GetNamespace(), object.GetName())] = "rejected"
		}
	}
	return all, nil
}

// addServers loads what the Prometheus itself names, as upstream's operator does before it generates.
func (w *world) addServers(ctx context.Context, store *assets.StoreBuilder) error {
	spec, namespace := w.prometheus.Spec, w.prometheus.Namespace
	if err := upstream.AddRemoteReadsToStore(ctx, store, namespace, spec.RemoteRead); err != nil {
		return err
	}
	if err := upstream.AddAPIServerConfigToStore(ctx, store, namespace, spec.APIServerConfig); err != nil {
		return err
	}
	if err := upstream.AddScrapeClassesToStore(ctx, store, namespace, spec.ScrapeClasses); err != nil {
		return err
	}
	if spec.Alerting == nil {
		return nil
	}
	for _, alertmanager := range spec.Alerting.Alertmanagers {
		if err := addAlertmanager(ctx, store, namespace, alertmanager); err != nil {
			return err
		}
	}
	return nil
}

func addAlertmanager(ctx context.Context, store *assets.StoreBuilder, namespace string, alertmanager monitoringv1.AlertmanagerEndpoints) error {
	if err := store.AddBasicAuth(ctx, namespace, alertmanager.BasicAuth); err != nil {
		return err
	}
	if err := store.AddSafeAuthorizationCredentials(ctx, namespace, alertmanager.Authorization); err != nil {
		return err
	}
	if err := store.AddSigV4(ctx, namespace, alertmanager.Sigv4); err != nil {
		return err
	}
	if err := store.AddTLSConfig(ctx, namespace, alertmanager.TLSConfig); err != nil {
		return err
	}
	return store.AddProxyConfig(ctx, namespace, alertmanager.ProxyConfig)
}

// list is what a Secret key holds; nothing where it is named as optional and missing.
func (w *world) list(key *corev1.SecretKeySelector) ([]byte, error) {
	if key == nil {
		return nil, nil
	}
	for _, secret := range w.secrets {
		if secret.Namespace == w.prometheus.Namespace && secret.Name == key.Name {
			if value, found := secret.Data[key.Key]; found {
				return value, nil
			}
		}
	}
	if key.Optional != nil && *key.Optional {
		return nil, nil
	}
	return nil, fmt.Errorf("key %s of Secret %s is missing", key.Key, key.Name)
}
