//! A small cluster: what stands in the files of `cases`.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Map, Value, json};

/// A small cluster.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Case {
    /// A sentence.
    pub case: String,
    /// The spec of the Prometheus, over one that picks everything.
    pub prometheus: Map<String, Value>,
    /// Specs, or whole objects where they have a `spec`.
    pub service_monitors: Vec<Value>,
    /// Likewise.
    pub pod_monitors: Vec<Value>,
    /// Likewise.
    pub probes: Vec<Value>,
    /// Likewise.
    pub rules: Vec<Value>,
    /// Values by key, by [NAMESPACE/]NAME.
    pub secrets: BTreeMap<String, BTreeMap<String, String>>,
    /// Likewise.
    pub config_maps: BTreeMap<String, BTreeMap<String, String>>,
    /// Labels by name.
    pub namespaces: BTreeMap<String, BTreeMap<String, String>>,
    /// Objects that only this operator leaves out, as KIND/NAMESPACE/NAME: see README.md.
    pub ours_alone: Vec<String>,
    /// Why the outcome differs from upstream's: see README.md.
    pub differs: Option<String>,
}

/// The namespace of whatever names none.
pub const NAMESPACE: &str = "mon";

/// All cases.
pub fn all() -> Vec<Case> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/differential/cases");
    let files = std::fs::read_dir(folder).expect("the cases");
    let mut files: Vec<_> = files.map(|file| file.expect("a file").path()).collect();
    files.sort();
    let read = |file: std::path::PathBuf| -> Vec<Case> {
        let text = std::fs::read_to_string(&file).expect("a case");
        serde_saphyr::from_str(&text).unwrap_or_else(|why| panic!("{}: {why}", file.display()))
    };
    files.into_iter().flat_map(read).collect()
}

impl Case {
    /// Whether it is of the version whose library the oracle has.
    pub fn is_of_newest_version(&self) -> bool {
        self.prometheus.get("version").is_none_or(|version| {
            version
                .as_str()
                .is_some_and(|version| version.starts_with("v3.5"))
        })
    }

    /// Everything in the cluster.
    pub fn objects(&self) -> Vec<Value> {
        let mut objects = vec![self.prometheus()];
        objects.extend(self.monitors("ServiceMonitor", &self.service_monitors));
        objects.extend(self.monitors("PodMonitor", &self.pod_monitors));
        objects.extend(self.monitors("Probe", &self.probes));
        objects.extend(self.monitors("PrometheusRule", &self.rules));
        let namespaces = self.namespaces.iter();
        objects.extend(namespaces.map(|(name, labels)| json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}})));
        objects.extend(
            self.secrets
                .iter()
                .map(|(name, data)| stored("Secret", name, data)),
        );
        objects.extend(
            self.config_maps
                .iter()
                .map(|(name, data)| stored("ConfigMap", name, data)),
        );
        objects
    }

    /// The Prometheus.
    pub fn prometheus(&self) -> Value {
        let mut spec: Map<String, Value> = [
            "serviceMonitorSelector",
            "podMonitorSelector",
            "probeSelector",
            "ruleSelector",
        ]
        .into_iter()
        .map(|field| (field.to_owned(), json!({})))
        .collect();
        spec.extend(self.prometheus.clone());
        spec.retain(|_, value| !value.is_null());
        json!({
            "apiVersion": "monitoring.coreos.com/v1",
            "kind": "Prometheus",
            "metadata": {"name": "main", "namespace": NAMESPACE},
            "spec": spec,
        })
    }

    /// Objects of a kind. A spec alone is of an object named by kind and place.
    pub fn monitors(&self, kind: &str, list: &[Value]) -> Vec<Value> {
        let object = |(at, given): (usize, &Value)| {
            let whole = given.get("spec").is_some();
            let spec = if whole { &given["spec"] } else { given };
            let mut metadata =
                json!({"name": format!("{}-{at}", kind.to_lowercase()), "namespace": NAMESPACE});
            for (key, value) in given
                .get("metadata")
                .and_then(Value::as_object)
                .into_iter()
                .flatten()
            {
                metadata[key] = value.clone();
            }
            json!({"apiVersion": "monitoring.coreos.com/v1", "kind": kind, "metadata": metadata, "spec": spec})
        };
        list.iter().enumerate().map(object).collect()
    }
}

/// Namespace and name.
pub fn place(name: &str) -> (&str, &str) {
    name.split_once('/').unwrap_or((NAMESPACE, name))
}

fn stored(kind: &str, name: &str, data: &BTreeMap<String, String>) -> Value {
    let (namespace, name) = place(name);
    let data: Map<String, Value> = data
        .iter()
        .map(|(key, text)| {
            (
                key.clone(),
                if kind == "Secret" {
                    base64(text.as_bytes())
                } else {
                    text.clone()
                }
                .into(),
            )
        })
        .collect();
    json!({"apiVersion": "v1", "kind": kind, "metadata": {"name": name, "namespace": namespace}, "data": data})
}

fn base64(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let bits = chunk.iter().enumerate().fold(0u32, |bits, (at, byte)| {
            bits | u32::from(*byte) << (16 - 8 * at)
        });
        for at in 0..4 {
            let digit = (bits >> (18 - 6 * at)) & 63;
            text.push(if at <= chunk.len() {
                char::from(ALPHABET[digit as usize])
            } else {
                '='
            });
        }
    }
    text
}
