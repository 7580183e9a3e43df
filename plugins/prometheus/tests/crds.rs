//! `crds/` holds what the Rust types say. `UPDATE_GOLDEN=1 cargo test` writes the files anew.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]

use std::path::Path;

use kube::core::schema::StructuralSchemaRewriter;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};
use windlass_prometheus::api::status::PrometheusStatus;
use windlass_prometheus::api::{
    PodMonitorSpec, ProbeSpec, PrometheusSpec, RuleSpec, ServiceMonitorSpec,
};
use windlass_sdk::golden;

const PRESERVE: &str = "x-kubernetes-preserve-unknown-fields";

/// A kind as people meet it.
struct Kind {
    name: &'static str,
    plural: &'static str,
    short: &'static str,
    about: &'static str,
    spec: Value,
}

#[test]
fn the_crds_are_generated() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../crds");
    for kind in kinds() {
        let crd = serde_json::from_value(crd(kind)).unwrap();
        golden::check_crd(&folder, &crd, "plugins/prometheus");
    }
}

fn kinds() -> [Kind; 5] {
    [
        Kind {
            name: "Prometheus",
            plural: "prometheuses",
            short: "prom",
            about: "A Prometheus with its Pods, and what it scrapes and evaluates.",
            spec: schema::<PrometheusSpec>(),
        },
        Kind {
            name: "ServiceMonitor",
            plural: "servicemonitors",
            short: "smon",
            about: "Services that are scraped.",
            spec: schema::<ServiceMonitorSpec>(),
        },
        Kind {
            name: "PodMonitor",
            plural: "podmonitors",
            short: "pmon",
            about: "Pods that are scraped.",
            spec: schema::<PodMonitorSpec>(),
        },
        Kind {
            name: "Probe",
            plural: "probes",
            short: "prb",
            about: "Hosts and Ingresses that are probed from outside.",
            spec: schema::<ProbeSpec>(),
        },
        Kind {
            name: "PrometheusRule",
            plural: "prometheusrules",
            short: "promrule",
            about: "Rules that are recorded and alerted on.",
            spec: schema::<RuleSpec>(),
        },
    ]
}

fn schema<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::openapi3().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let generator = settings
        .with_transform(StructuralSchemaRewriter)
        .into_generator();
    let mut schema = generator.into_root_schema_for::<T>().to_value();
    tidy(&mut schema);
    schema
}

/// Descriptions in one line, no titles, no defaults (the plugin knows them), and objects that keep what they are given.
fn tidy(schema: &mut Value) {
    let Value::Object(map) = schema else {
        if let Value::Array(list) = schema {
            list.iter_mut().for_each(tidy);
        }
        return;
    };
    map.retain(|key, _| {
        !["title", "default", "format", "minimum", "maximum"].contains(&key.as_str())
    });
    if let Some(Value::String(text)) = map.get_mut("description") {
        *text = text.replace('\n', " ");
    }
    if let Some(Value::Object(properties)) = map.get_mut("properties") {
        properties.values_mut().for_each(tidy);
        map.insert(PRESERVE.to_owned(), true.into());
    }
    for (key, value) in map.iter_mut() {
        if key != "properties" {
            tidy(value);
        }
    }
}

fn crd(kind: Kind) -> Value {
    let mut properties = Map::new();
    properties.insert("apiVersion".into(), json!({"type": "string"}));
    properties.insert("kind".into(), json!({"type": "string"}));
    properties.insert("metadata".into(), json!({"type": "object"}));
    properties.insert("spec".into(), kind.spec);
    let status = match kind.name {
        "Prometheus" => schema::<PrometheusStatus>(),
        _ => json!({"type": "object", PRESERVE: true}),
    };
    properties.insert("status".into(), status);
    let mut version = json!({
        "name": "v1",
        "served": true,
        "storage": true,
        "schema": {"openAPIV3Schema": {
            "description": kind.about,
            "type": "object",
            "required": ["spec"],
            "properties": properties,
        }},
        "subresources": {"status": {}},
    });
    if kind.name == "Prometheus" {
        version["subresources"]["scale"] = json!({
            "specReplicasPath": ".spec.shards",
            "statusReplicasPath": ".status.shards",
            "labelSelectorPath": ".status.selector",
        });
        version["additionalPrinterColumns"] = columns();
    }
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{}.monitoring.coreos.com", kind.plural)},
        "spec": {
            "group": "monitoring.coreos.com",
            "names": {
                "kind": kind.name,
                "listKind": format!("{}List", kind.name),
                "plural": kind.plural,
                "singular": kind.name.to_lowercase(),
                "shortNames": [kind.short],
                "categories": ["prometheus-operator"],
            },
            "scope": "Namespaced",
            "versions": [version],
        },
    })
}

fn columns() -> Value {
    let condition = |type_: &str| format!(".status.conditions[?(@.type == '{type_}')].status");
    json!([
        {"name": "Version", "type": "string", "jsonPath": ".spec.version", "description": "The version that spec asks for"},
        {"name": "Desired", "type": "integer", "jsonPath": ".spec.replicas", "description": "Pods that spec asks for"},
        {"name": "Ready", "type": "integer", "jsonPath": ".status.availableReplicas", "description": "Pods that serve"},
        {"name": "Reconciled", "type": "string", "jsonPath": condition("Reconciled")},
        {"name": "Available", "type": "string", "jsonPath": condition("Available")},
        {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
        {"name": "Paused", "type": "boolean", "jsonPath": ".status.paused", "priority": 1},
    ])
}
