//! Which fields of upstream's schemas are used.

use std::collections::BTreeSet;

use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use windlass_prometheus::api::{
    PodMonitorSpec, ProbeSpec, PrometheusSpec, RuleSpec, ServiceMonitorSpec, read,
};

use super::case::Case;
use super::oracle;

/// Fields of a Prometheus that go into its Pods or arguments and not into the configuration; the tests of `workload`
/// are about them.
const OF_THE_WORKLOAD: [&str; 60] = [
    "additionalArgs",
    "affinity",
    "allowOverlappingBlocks",
    "automountServiceAccountToken",
    "baseImage",
    "configMaps",
    "containers",
    "disableCompaction",
    "dnsConfig",
    "dnsPolicy",
    "enableAdminAPI",
    "enableFeatures",
    "enableOTLPReceiver",
    "enableRemoteWriteReceiver",
    "enableServiceLinks",
    "externalUrl",
    "hostAliases",
    "hostNetwork",
    "hostUsers",
    "image",
    "imagePullPolicy",
    "imagePullSecrets",
    "initContainers",
    "listenLocal",
    "logFormat",
    "logLevel",
    "maximumStartupDurationSeconds",
    "minReadySeconds",
    "nodeSelector",
    "paused",
    "persistentVolumeClaimRetentionPolicy",
    "podMetadata",
    "portName",
    "priorityClassName",
    "query",
    "reloadStrategy",
    "remoteWriteReceiverMessageVersions",
    "replicas",
    "resources",
    "retention",
    "retentionSize",
    "routePrefix",
    "rules",
    "secrets",
    "securityContext",
    "serviceAccountName",
    "serviceName",
    "sha",
    "shards",
    "storage",
    "tag",
    "terminationGracePeriodSeconds",
    "tolerations",
    "topologySpreadConstraints",
    "version",
    "volumeMounts",
    "volumes",
    "walCompression",
    "web",
    "ruleNamespaceSelector",
];

/// Leaves of a schema that no case uses and that are read all the same.
pub fn missing(cases: &[Case]) -> Vec<String> {
    let objects: Vec<Value> = cases.iter().flat_map(Case::objects).collect();
    let mut missing = Vec::new();
    missing.extend(of_kind::<PrometheusSpec>(
        &objects,
        "Prometheus",
        "prometheuses",
    ));
    missing.extend(of_kind::<ServiceMonitorSpec>(
        &objects,
        "ServiceMonitor",
        "servicemonitors",
    ));
    missing.extend(of_kind::<PodMonitorSpec>(
        &objects,
        "PodMonitor",
        "podmonitors",
    ));
    missing.extend(of_kind::<ProbeSpec>(&objects, "Probe", "probes"));
    missing.extend(of_kind::<RuleSpec>(
        &objects,
        "PrometheusRule",
        "prometheusrules",
    ));
    missing
}

fn of_kind<S: DeserializeOwned>(objects: &[Value], kind: &str, plural: &str) -> Vec<String> {
    let mut used = BTreeSet::new();
    for object in objects.iter().filter(|object| object["kind"] == kind) {
        used_leaves(&object["spec"], &mut Vec::new(), &mut used);
    }
    let file = oracle::crds().join(format!("monitoring.coreos.com_{plural}.yaml"));
    let crd: Value =
        serde_saphyr::from_str(&std::fs::read_to_string(file).expect("upstream's CRD"))
            .expect("YAML");
    let schema = &crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"];
    let mut leaves = Vec::new();
    schema_leaves(schema, &mut Vec::new(), &mut leaves);
    let of_workload =
        |path: &[String]| kind == "Prometheus" && OF_THE_WORKLOAD.contains(&path[0].as_str());
    let open = leaves.into_iter().filter(|(path, _)| {
        !of_workload(path) && !used.contains(path) && !is_unused_by_upstream(path)
    });
    let unnamed = open.filter(|(path, example)| !is_named::<S>(schema, path, example));
    unnamed
        .map(|(path, _)| format!("{kind} {}", path.join(".")))
        .collect()
}

/// Upstream's generator looks neither at whether a Secret's key is optional, but for lists in Prometheus' own form, nor
/// at a rule's strategy for Thanos.
fn is_unused_by_upstream(path: &[String]) -> bool {
    let optional =
        path.last().is_some_and(|last| last == "optional") && !path[0].starts_with("additional");
    optional
        || path
            .last()
            .is_some_and(|last| last == "partial_response_strategy")
}

/// Whether a spec that sets only this leaf, and what it needs, has it named as not understood.
fn is_named<S: DeserializeOwned>(schema: &Value, path: &[String], example: &Value) -> bool {
    let mut spec = example_of(path, example);
    require(&mut spec, schema);
    match read::<S>(&spec.to_string()) {
        Ok(read) => read.ignored.iter().any(|ignored| {
            let ignored: Vec<&str> = ignored
                .split('.')
                .filter(|part| part.parse::<usize>().is_err())
                .collect();
            let path: Vec<&str> = path
                .iter()
                .map(String::as_str)
                .filter(|part| *part != "[]")
                .collect();
            path.starts_with(&ignored)
        }),
        Err(why) => panic!("{}: {why}", path.join(".")),
    }
}

fn example_of(path: &[String], leaf: &Value) -> Value {
    match path.split_first() {
        None => leaf.clone(),
        Some((first, rest)) if first == "[]" => json!([example_of(rest, leaf)]),
        Some((first, rest)) => json!({ first.replace("{}", "x"): example_of(rest, leaf) }),
    }
}

/// Adds fields that a schema requires.
fn require(value: &mut Value, schema: &Value) {
    match value {
        Value::Object(map) => {
            for name in schema["required"]
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(Value::as_str)
            {
                let needed = &schema["properties"][name];
                let entry = map.entry(name).or_insert_with(|| example(needed));
                require(entry, needed);
            }
            for (name, inner) in map.iter_mut() {
                let of = &schema["properties"][name.as_str()];
                require(
                    inner,
                    if of.is_null() {
                        &schema["additionalProperties"]
                    } else {
                        of
                    },
                );
            }
        }
        Value::Array(list) => list
            .iter_mut()
            .for_each(|item| require(item, &schema["items"])),
        _ => {}
    }
}

fn example(schema: &Value) -> Value {
    match schema["type"].as_str() {
        Some("object") => Value::Object(Map::new()),
        Some("array") => json!([]),
        Some("boolean") => json!(true),
        Some("integer") => json!(1),
        Some("number") => json!(1.5),
        _ => json!("1"),
    }
}

fn schema_leaves(schema: &Value, path: &mut Vec<String>, leaves: &mut Vec<(Vec<String>, Value)>) {
    let mut into = |step: &str, inner: &Value, path: &mut Vec<String>| {
        path.push(step.to_owned());
        schema_leaves(inner, path, leaves);
        path.pop();
    };
    if let Some(properties) = schema["properties"].as_object() {
        properties
            .iter()
            .for_each(|(name, inner)| into(name, inner, path));
    } else if schema["items"].is_object() {
        into("[]", &schema["items"], path);
    } else if schema["additionalProperties"].is_object() {
        into("{}", &schema["additionalProperties"], path);
    } else {
        leaves.push((path.clone(), example(schema)));
    }
}

/// Leaves that an object sets. A mapping with free keys counts under `{}` as well as under its own.
fn used_leaves(value: &Value, path: &mut Vec<String>, used: &mut BTreeSet<Vec<String>>) {
    match value {
        Value::Object(map) => {
            for (name, inner) in map {
                for step in [name.as_str(), "{}"] {
                    path.push(step.to_owned());
                    used_leaves(inner, path, used);
                    path.pop();
                }
            }
        }
        Value::Array(list) => {
            path.push("[]".to_owned());
            list.iter().for_each(|item| used_leaves(item, path, used));
            path.pop();
        }
        _ => {
            used.insert(path.clone());
        }
    }
}
