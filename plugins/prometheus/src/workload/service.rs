//! The Services.

use serde_json::{Value, json};

use super::Blueprint;
use crate::names::GOVERNING;

/// The Service that all Prometheus servers of a namespace share. It depends on none of them alone, so its port is
/// the default one.
#[must_use]
pub fn governing() -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": GOVERNING, "labels": {"operated-prometheus": "true"}},
        "spec": {
            "clusterIP": "None",
            "ports": [{"name": "web", "port": 9090, "targetPort": "web"}],
            "selector": {"app.kubernetes.io/name": "prometheus"},
        },
    })
}

/// The name of the Service that governs the StatefulSet; a user's own is the user's to make.
#[must_use]
pub fn custom(of: &Blueprint<'_>) -> Option<String> {
    of.spec.service_name.clone().filter(|name| !name.is_empty())
}
