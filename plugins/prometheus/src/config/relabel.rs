//! Rewriting of labels.

use super::Setting;
use crate::api::{LabelSelector, Relabeling};
use crate::yaml::{Map, Yaml};

/// Where the hash stands by which targets are shared out; one that a user set wins.
const HASH: &str = "__tmp_hash";
/// Targets with this label go to every group of Pods.
const UNSHARED: &str = "__tmp_disable_sharding";

/// Users' rules as Prometheus takes them.
pub(super) fn rules(rules: &[Relabeling]) -> Vec<Map> {
    rules.iter().map(rule).collect()
}

fn rule(rule: &Relabeling) -> Map {
    let Relabeling {
        source_labels,
        separator,
        target_label,
        regex,
        modulus,
        replacement,
        action,
    } = rule;
    Map::new()
        .maybe(
            "source_labels",
            (!source_labels.is_empty()).then_some(source_labels.as_slice()),
        )
        .maybe("separator", separator.as_ref())
        .filled("target_label", target_label)
        .filled("regex", regex)
        .maybe("modulus", (*modulus != 0).then_some(*modulus))
        .maybe("replacement", replacement.as_ref())
        .filled("action", &action.to_lowercase())
}

/// The job's own name, before anything rewrites it.
pub(super) fn first() -> Vec<Map> {
    vec![copy("job", "__tmp_prometheus_job_name")]
}

/// One label copied to another.
pub(super) fn copy(from: impl Into<Yaml>, to: impl Into<Yaml>) -> Map {
    Map::new()
        .with("source_labels", Yaml::List(vec![from.into()]))
        .with("target_label", to)
}

/// One label copied to another where it is not empty.
pub(super) fn copy_filled(from: impl Into<Yaml>, to: impl Into<Yaml>) -> Map {
    copy(from, to)
        .with("regex", "(.+)")
        .with("replacement", "${1}")
}

/// A label set to a value.
pub(super) fn set(label: &'static str, value: impl Into<Yaml>) -> Map {
    Map::new()
        .with("target_label", label)
        .with("replacement", value)
}

/// Targets kept whose label matches.
pub(super) fn keep(label: impl Into<Yaml>, regex: impl Into<Yaml>) -> Map {
    matching("keep", vec![label.into()], regex)
}

fn matching(action: &'static str, labels: Vec<Yaml>, regex: impl Into<Yaml>) -> Map {
    Map::new()
        .with("action", action)
        .with("source_labels", Yaml::List(labels))
        .with("regex", regex)
}

/// Pods that ended are dropped.
pub(super) fn running() -> Map {
    matching(
        "drop",
        vec!["__meta_kubernetes_pod_phase".into()],
        "(Failed|Succeeded)",
    )
}

/// A label selector on what Prometheus calls `role`: service, pod or ingress.
pub(super) fn selected(role: &str, selector: &LabelSelector) -> Vec<Map> {
    let value = |label: &str| format!("__meta_kubernetes_{role}_label_{}", sanitized(label));
    let present =
        |label: &str| format!("__meta_kubernetes_{role}_labelpresent_{}", sanitized(label));
    let by_value = |action: &'static str, label: &str, values: &str| {
        matching(
            action,
            vec![value(label).into(), present(label).into()],
            format!("({values});true"),
        )
    };
    let exact = selector
        .match_labels
        .iter()
        .map(|(label, wanted)| by_value("keep", label, wanted));
    let expressions = selector.match_expressions.iter().filter_map(|requirement| {
        let label = requirement.key.as_str();
        let values = requirement.values.join("|");
        match requirement.operator.as_str() {
            "In" => Some(by_value("keep", label, &values)),
            "NotIn" => Some(by_value("drop", label, &values)),
            "Exists" => Some(matching("keep", vec![present(label).into()], "true")),
            "DoesNotExist" => Some(matching("drop", vec![present(label).into()], "true")),
            _ => None,
        }
    });
    exact.chain(expressions).collect()
}

/// A label's name as Prometheus writes it.
pub(super) fn sanitized(label: &str) -> String {
    let clean = |character: char| match character.is_ascii_alphanumeric() {
        true => character,
        false => '_',
    };
    label.chars().map(clean).collect()
}

/// Labels of a `role` object that targets get.
pub(super) fn taken<'l>(role: &str, labels: impl IntoIterator<Item = &'l String>) -> Vec<Map> {
    let take = |label: &String| {
        let label = sanitized(label);
        copy_filled(format!("__meta_kubernetes_{role}_label_{label}"), label)
    };
    labels.into_iter().map(take).collect()
}

/// Targets are shared out by the hash of a label.
pub(super) fn sharded(of: &Setting<'_>, by: &'static str) -> Vec<Map> {
    vec![
        Map::new()
            .with("source_labels", [by, HASH])
            .with("target_label", HASH)
            .with("regex", "(.+);")
            .with("replacement", "$1")
            .with("action", "replace"),
        Map::new()
            .with("source_labels", [HASH])
            .with("target_label", HASH)
            .with("modulus", of.shards())
            .with("action", "hashmod"),
        matching(
            "keep",
            vec![HASH.into(), UNSHARED.into()],
            "$(SHARD);|.+;.+",
        ),
    ]
}
