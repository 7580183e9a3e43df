//! What this plugin makes of a case.

use std::collections::BTreeMap;

use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use windlass_prometheus::api::{
    ConfigMapKey, Found, LabelSelector, Prometheus, PrometheusSpec, SecretKey,
};
use windlass_prometheus::check::{self, Checker};
use windlass_prometheus::config::{self, Selected, Setting};
use windlass_prometheus::facts::Reach;
use windlass_prometheus::known::{Known, Value as Seen};
use windlass_prometheus::pick::Verdicts;
use windlass_prometheus::version::{self, Version};
use windlass_prometheus::yaml::{Piece, SecretRef};

use super::case::{Case, NAMESPACE, place};

/// What came of it.
pub struct Generated {
    /// The configuration, parsed.
    pub configuration: Value,
    /// The same as text.
    pub text: String,
    /// Rule files by NAMESPACE/NAME, parsed.
    pub rules: Value,
    /// The same as text.
    pub rule_texts: BTreeMap<String, String>,
    /// Objects that were left out, as KIND/NAMESPACE/NAME, and why.
    pub left_out: BTreeMap<String, String>,
    /// Fields of the Prometheus that were refused.
    pub refused: Vec<check::Refused>,
}

/// Generates the configuration of a case.
pub fn generate(case: &Case) -> Generated {
    let prometheus: Prometheus = read(case.prometheus());
    let read = prometheus
        .spec
        .as_ref()
        .unwrap_or_else(|why| panic!("{}: {why}", case.case));
    let spec = read.spec.clone();
    let version = match spec.version.as_str() {
        "" => version::DEFAULT,
        version => version,
    };
    let version = Version::parse(version).expect("a version");
    let (spec, refused) = check::prometheus(case, &version, NAMESPACE, &spec);
    let setting = Setting {
        namespace: NAMESPACE,
        name: "main",
        spec: &spec,
        version: version.clone(),
        endpoint_slices: true,
        classes: spec
            .scrape_classes
            .iter()
            .map(|class| (class.name.as_str(), class))
            .collect(),
        known: case,
    };
    let checker = Checker {
        known: case,
        version: &version,
        spec: &spec,
    };
    let reaches = Reaches::of(case, &spec);
    let mut verdicts = Verdicts::default();
    let files = verdicts.pick_rules(&reaches.rules, &setting);
    let selected = Selected {
        service_monitors: verdicts.pick("ServiceMonitor", &reaches.service_monitors, &checker),
        pod_monitors: verdicts.pick("PodMonitor", &reaches.pod_monitors, &checker),
        probes: verdicts.pick("Probe", &reaches.probes, &checker),
        rule_files: vec!["prometheus-rules".to_owned()],
    };
    let text = fill(case, config::write(&setting, &selected).pieces);
    let rule_texts: BTreeMap<String, String> = files
        .iter()
        .map(|(name, file)| (rule_name(name), file.text()))
        .collect();
    let left_out = verdicts
        .candidates
        .into_iter()
        .filter(|candidate| !candidate.picked);
    Generated {
        configuration: parse(&text),
        rules: rule_texts
            .iter()
            .map(|(name, text)| (name.clone(), parse(text)))
            .collect(),
        text,
        rule_texts,
        left_out: left_out
            .map(|candidate| {
                (
                    format!(
                        "{}/{}/{}",
                        candidate.kind, candidate.namespace, candidate.name
                    ),
                    candidate.reason,
                )
            })
            .collect(),
        refused,
    }
}

/// NAMESPACE/NAME of a rule file: in the cases neither holds a dash but those of made names.
fn rule_name(file: &str) -> String {
    let (namespace, rest) = file.split_once('-').expect("a namespace");
    format!(
        "{namespace}/{}",
        rest.trim_end_matches(".yaml").trim_end_matches('-')
    )
}

fn read<T: DeserializeOwned>(value: Value) -> T {
    serde_json::from_str(&value.to_string()).expect("an object")
}

fn parse(text: &str) -> Value {
    serde_saphyr::from_str(text).unwrap_or_else(|why| panic!("not YAML: {why}\n{text}"))
}

struct Reaches {
    service_monitors: Reach<windlass_prometheus::api::ServiceMonitor>,
    pod_monitors: Reach<windlass_prometheus::api::PodMonitor>,
    probes: Reach<windlass_prometheus::api::Probe>,
    rules: Reach<windlass_prometheus::api::PrometheusRule>,
}

impl Reaches {
    fn of(case: &Case, spec: &PrometheusSpec) -> Self {
        Self {
            service_monitors: reach(
                case,
                "ServiceMonitor",
                &case.service_monitors,
                &spec.service_monitor_selector,
                &spec.service_monitor_namespace_selector,
            ),
            pod_monitors: reach(
                case,
                "PodMonitor",
                &case.pod_monitors,
                &spec.pod_monitor_selector,
                &spec.pod_monitor_namespace_selector,
            ),
            probes: reach(
                case,
                "Probe",
                &case.probes,
                &spec.probe_selector,
                &spec.probe_namespace_selector,
            ),
            rules: reach(
                case,
                "PrometheusRule",
                &case.rules,
                &spec.rule_selector,
                &None,
            ),
        }
    }
}

/// What the host would find.
fn reach<S: DeserializeOwned>(
    case: &Case,
    kind: &str,
    list: &[Value],
    selector: &Option<LabelSelector>,
    namespaces: &Option<LabelSelector>,
) -> Reach<Found<S>> {
    let Some(selector) = selector else {
        return Reach::default();
    };
    let in_reach = |object: &Value| {
        let namespace = object["metadata"]["namespace"].as_str().unwrap_or_default();
        let within = match namespaces {
            None => namespace == NAMESPACE,
            Some(wanted) => case
                .namespaces
                .get(namespace)
                .is_some_and(|labels| matches(wanted, &json!(labels))),
        };
        within && matches(selector, &object["metadata"]["labels"])
    };
    let objects = case.monitors(kind, list).into_iter().filter(in_reach);
    Reach {
        chosen: objects.map(read).collect(),
        ..Reach::default()
    }
}

fn matches(selector: &LabelSelector, labels: &Value) -> bool {
    let exact = selector
        .match_labels
        .iter()
        .all(|(name, value)| labels[name] == *value);
    exact
        && selector.match_expressions.iter().all(|requirement| {
            let value = labels[&requirement.key].as_str();
            let listed =
                value.is_some_and(|value| requirement.values.iter().any(|wanted| wanted == value));
            match requirement.operator.as_str() {
                "In" => listed,
                "NotIn" => !listed,
                "Exists" => value.is_some(),
                _ => value.is_none(),
            }
        })
}

impl Known for Case {
    fn secret(&self, namespace: &str, key: &SecretKey) -> Result<Seen, String> {
        let text = find(&self.secrets, namespace, &key.name, &key.key);
        text.map(|text| Seen::of(text))
            .ok_or_else(|| format!("no Secret {namespace}/{} with {}", key.name, key.key))
    }

    fn config_map(&self, namespace: &str, key: &ConfigMapKey) -> Result<String, String> {
        let text = find(&self.config_maps, namespace, &key.name, &key.key);
        text.cloned()
            .ok_or_else(|| format!("no ConfigMap {namespace}/{} with {}", key.name, key.key))
    }
}

fn find<'a>(
    stored: &'a BTreeMap<String, BTreeMap<String, String>>,
    namespace: &str,
    name: &str,
    key: &str,
) -> Option<&'a String> {
    stored
        .iter()
        .find(|(stored, _)| place(stored) == (namespace, name))
        .and_then(|(_, data)| data.get(key))
}

/// As the host fills it.
fn fill(case: &Case, pieces: Vec<Piece>) -> String {
    let value = |secret: &SecretRef| {
        find(&case.secrets, &secret.namespace, &secret.name, &secret.key)
            .cloned()
            .unwrap_or_default()
    };
    let pieces = pieces.into_iter().map(|piece| match piece {
        Piece::Text(text) => text,
        Piece::Scalar(secret) => Value::String(value(&secret)).to_string(),
        Piece::Items { secret, indent } => {
            let lines = value(&secret);
            let lines = lines
                .lines()
                .map(|line| format!("{}{line}\n", " ".repeat(indent)));
            lines.collect()
        }
    });
    pieces.collect()
}
