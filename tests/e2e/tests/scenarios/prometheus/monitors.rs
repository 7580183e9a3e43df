//! Objects that say what is scraped: a Prometheus' own Pods, which are there anyway.

use serde_json::{Value, json};

const API: &str = "monitoring.coreos.com/v1";

/// A ServiceMonitor of the Service that all Prometheus servers of its namespace share.
pub(super) fn service_monitor(name: &str) -> Value {
    service_monitor_with(name, &json!({}))
}

/// The same with more, or other, fields in its one endpoint.
pub(super) fn service_monitor_with(name: &str, endpoint: &Value) -> Value {
    let endpoint = merged(json!({"port": "web"}), endpoint);
    json!({
        "apiVersion": API, "kind": "ServiceMonitor",
        "metadata": {"name": name},
        "spec": {
            "selector": {"matchLabels": {"operated-prometheus": "true"}},
            "endpoints": [endpoint],
        },
    })
}

/// A PodMonitor of the Pods of one Prometheus.
pub(super) fn pod_monitor(name: &str, prometheus: &str) -> Value {
    json!({
        "apiVersion": API, "kind": "PodMonitor",
        "metadata": {"name": name},
        "spec": {
            "selector": {"matchLabels": {"prometheus": prometheus}},
            "podMetricsEndpoints": [{"port": "web"}],
        },
    })
}

/// A Probe whose prober is Prometheus itself: what it tells about itself is an answer too.
pub(super) fn probe(name: &str) -> Value {
    json!({
        "apiVersion": API, "kind": "Probe",
        "metadata": {"name": name},
        "spec": {
            "prober": {"url": "prometheus-operated:9090", "path": "/metrics"},
            "targets": {"staticConfig": {"static": ["harbour.example.com"]}},
        },
    })
}

/// A PrometheusRule with groups of one recorded series each, named as the groups.
pub(super) fn rule(name: &str, groups: &[Value]) -> Value {
    json!({
        "apiVersion": API, "kind": "PrometheusRule",
        "metadata": {"name": name},
        "spec": {"groups": groups},
    })
}

/// A group with one expression.
pub(super) fn group(name: &str, expression: &str) -> Value {
    json!({"name": name, "rules": [{"record": format!("windlass:{name}"), "expr": expression}]})
}

/// An object with labels.
pub(super) fn labelled(mut object: Value, labels: &Value) -> Value {
    object["metadata"]["labels"] = labels.clone();
    object
}

/// The name of the first job of a monitor.
pub(super) fn job_of(namespace: &str, monitor: &Value) -> String {
    let name = monitor["metadata"]["name"].as_str().unwrap_or_default();
    match monitor["kind"].as_str().unwrap_or_default() {
        "PodMonitor" => format!("podMonitor/{namespace}/{name}/0"),
        "Probe" => format!("probe/{namespace}/{name}"),
        _ => format!("serviceMonitor/{namespace}/{name}/0"),
    }
}

/// An object with the fields of another laid over it.
pub(super) fn merged(mut base: Value, over: &Value) -> Value {
    for (name, value) in over.as_object().into_iter().flatten() {
        base[name] = value.clone();
    }
    base
}
