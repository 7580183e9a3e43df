package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientv1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/cache"

	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
)

// world is the objects of one cluster.
type world struct {
	prometheus      *monitoringv1.Prometheus
	serviceMonitors []*monitoringv1.ServiceMonitor
	podMonitors     []*monitoringv1.PodMonitor
	probes          []*monitoringv1.Probe
	rules           []*monitoringv1.PrometheusRule
	namespaces      []*corev1.Namespace
	secrets         []*corev1.Secret
	configMaps      []*corev1.ConfigMap
}

func readWorld(objects []json.RawMessage) (*world, error) {
	found := &world{}
	for _, object := range objects {
		var header metav1.TypeMeta
		if err := json.Unmarshal(object, &header); err != nil {
			return nil, err
		}
		if err := found.add(header.Kind, object); err != nil {
			return nil, fmt.Errorf("failed to read a %s: %w", header.Kind, err)
		}
	}
	if found.prometheus == nil {
		return nil, errors.New("no Prometheus among the objects")
	}
	return found, nil
}

func (w *world) add(kind string, object []byte) error {
	switch kind {
	case "Prometheus":
		w.prometheus = &monitoringv1.Prometheus{}
		return readDefaulted("prometheuses", object, w.prometheus)
	case "ServiceMonitor":
		return appendTo(&w.serviceMonitors, "servicemonitors", object)
	case "PodMonitor":
		return appendTo(&w.podMonitors, "podmonitors", object)
	case "Probe":
		return appendTo(&w.probes, "probes", object)
	case "PrometheusRule":
		return appendTo(&w.rules, "prometheusrules", object)
	case "Namespace":
		return appendPlain(&w.namespaces, object)
	case "Secret":
		return appendPlain(&w.secrets, object)
	case "ConfigMap":
		return appendPlain(&w.configMaps, object)
	}
	return errors.New("the oracle does not know this kind")
}

func appendTo[T any](list *[]*T, plural string, object []byte) error {
	read := new(T)
	*list = append(*list, read)
	return readDefaulted(plural, object, read)
}

func appendPlain[T any](list *[]*T, object []byte) error {
	read := new(T)
	*list = append(*list, read)
	return json.Unmarshal(object, read)
}

// namespaceInformer holds the namespaces, as far as selecting by their labels needs it.
func (w *world) namespaceInformer() cache.SharedIndexInformer {
	informer := cache.NewSharedIndexInformer(&cache.ListWatch{}, &corev1.Namespace{}, 0, cache.Indexers{})
	for _, namespace := range w.namespaces {
		_ = informer.GetStore().Add(namespace)
	}
	return informer
}

// Secrets is a client that knows the world's Secrets.
func (w *world) Secrets(namespace string) clientv1.SecretInterface {
	return secretsOf{world: w, namespace: namespace}
}

// ConfigMaps is a client that knows the world's ConfigMaps.
func (w *world) ConfigMaps(namespace string) clientv1.ConfigMapInterface {
	return configMapsOf{world: w, namespace: namespace}
}

type secretsOf struct {
	clientv1.SecretInterface
	world     *world
	namespace string
}

func (s secretsOf) Get(_ context.Context, name string, _ metav1.GetOptions) (*corev1.Secret, error) {
	for _, secret := range s.world.secrets {
		if secret.Namespace == s.namespace && secret.Name == name {
			return secret, nil
		}
	}
	return nil, notFound("secrets", name)
}

type configMapsOf struct {
	clientv1.ConfigMapInterface
	world     *world
	namespace string
}

func (c configMapsOf) Get(_ context.Context, name string, _ metav1.GetOptions) (*corev1.ConfigMap, error) {
	for _, configMap := range c.world.configMaps {
		if configMap.Namespace == c.namespace && configMap.Name == name {
			return configMap, nil
		}
	}
	return nil, notFound("configmaps", name)
}

func notFound(resource, name string) error {
	return apierrors.NewNotFound(schema.GroupResource{Resource: resource}, name)
}

// lister lists objects as an informer does.
func lister[T metav1.Object](objects []T) func(string, labels.Selector, cache.AppendFunc) error {
	return func(namespace string, selector labels.Selector, found cache.AppendFunc) error {
		for _, object := range objects {
			if object.GetNamespace() == namespace && selector.Matches(labels.Set(object.GetLabels())) {
				found(object)
			}
		}
		return nil
	}
}
