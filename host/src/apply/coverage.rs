//! Whether a managedFields entry covers what is wanted.
//!
//! The API server keeps, for each field manager, the set of fields that it last decided about (`fieldsV1`). When
//! somebody else changes or removes one of them, it leaves our set. So a child whose wanted paths are all in our
//! set still is as we applied it, and values need not be compared: defaults, normalised quantities and webhooks
//! make no difference.
//!
//! In `fieldsV1` a member of the set maps to `{}`, and what lies below a path is keyed by `f:NAME` for fields,
//! `k:{KEYS}` for the items of an associative list, `v:VALUE` for those of a set, `i:INDEX` for those of others;
//! `.` stands for the path itself.

use serde_json::{Map, Value};

/// The first wanted path that `fields` does not cover, as a person would write it; None when all are covered.
///
/// `fields` is the `fieldsV1` of an entry. The paths that the API server never records are not looked for.
pub(super) fn uncovered(wanted: &Map<String, Value>, fields: &Value) -> Option<String> {
    wanted.iter().find_map(|(key, value)| match key.as_str() {
        "apiVersion" | "kind" => None,
        "metadata" => {
            let meta = fields.get("f:metadata").unwrap_or(&Value::Null);
            let entries = value.as_object().into_iter().flatten();
            let mut recorded =
                entries.filter(|(key, _)| !matches!(key.as_str(), "name" | "namespace"));
            recorded.find_map(|(key, value)| {
                in_field(value, meta, key).map(|rest| below("metadata", &rest))
            })
        }
        _ => in_field(value, fields, key),
    })
}

fn below(path: &str, rest: &str) -> String {
    match rest.starts_with('[') {
        true => format!("{path}{rest}"),
        false => format!("{path}.{rest}"),
    }
}

fn in_field(wanted: &Value, owned: &Value, key: &str) -> Option<String> {
    match owned.get(format!("f:{key}")) {
        None => Some(key.to_owned()),
        Some(owned) => missing(wanted, owned).map(|rest| below(key, &rest)),
    }
}

/// What below a path that is in the set is not; empty for the path itself.
fn missing(wanted: &Value, owned: &Value) -> Option<String> {
    let whole = owned.as_object().is_some_and(Map::is_empty);
    match wanted {
        _ if whole => None,
        Value::Object(map) => map
            .iter()
            .find_map(|(key, value)| in_field(value, owned, key)),
        Value::Array(list) => list
            .iter()
            .enumerate()
            .find(|(at, item)| !item_covered(*at, item, owned))
            .map(|(at, item)| item_path(at, item, owned)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    }
}

fn item_covered(at: usize, item: &Value, owned: &Value) -> bool {
    items_for(at, item, owned).any(|below| missing(item, below).is_none())
}

/// Where in the item it is: the path of the first field that is not covered, or the item.
fn item_path(at: usize, item: &Value, owned: &Value) -> String {
    let inside = items_for(at, item, owned).find_map(|below| missing(item, below));
    let name = item
        .get("name")
        .and_then(Value::as_str)
        .map_or_else(|| at.to_string(), str::to_owned);
    match inside {
        Some(rest) => below(&format!("[{name}]"), &rest),
        None => format!("[{name}]"),
    }
}

/// The entries of the set that may stand for a list's item.
fn items_for<'a>(
    at: usize,
    item: &'a Value,
    owned: &'a Value,
) -> impl Iterator<Item = &'a Value> + 'a {
    let entries = owned.as_object().into_iter().flatten();
    entries
        .filter(move |(key, _)| is_item(key, at, item))
        .map(|(_, below)| below)
}

fn is_item(key: &str, at: usize, item: &Value) -> bool {
    match key.split_once(':') {
        Some(("i", index)) => index.parse() == Ok(at),
        Some(("v", value)) => {
            serde_json::from_str::<Value>(value).is_ok_and(|value| value == *item)
        }
        Some(("k", keys)) => {
            serde_json::from_str::<Map<String, Value>>(keys).is_ok_and(|keys| has_keys(item, &keys))
        }
        _ => false,
    }
}

/// Whether an item has these keys. One that it leaves out was filled in by its default, which the schema knows and
/// we do not: `{"containerPort": 80}` is `k:{"containerPort":80,"protocol":"TCP"}`.
fn has_keys(item: &Value, keys: &Map<String, Value>) -> bool {
    let same = |(key, value): (&String, &Value)| item.get(key).is_none_or(|own| own == value);
    item.is_object() && keys.iter().all(same) && keys.keys().any(|key| item.get(key).is_some())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn first_uncovered(wanted: Value, fields: Value) -> Option<String> {
        uncovered(wanted.as_object().unwrap(), &fields)
    }

    #[test]
    fn what_we_still_own_is_covered() {
        for (name, wanted, fields) in [
            (
                "what is never recorded",
                json!({"apiVersion": "v1", "kind": "X", "metadata": {"name": "a", "namespace": "b"}}),
                json!({}),
            ),
            (
                "a scalar",
                json!({"spec": {"a": 1}}),
                json!({"f:spec": {"f:a": {}}}),
            ),
            (
                "an empty object",
                json!({"emptyDir": {}}),
                json!({"f:emptyDir": {}}),
            ),
            (
                "an object with itself recorded",
                json!({"spec": {"a": 1}}),
                json!({"f:spec": {".": {}, "f:a": {}}}),
            ),
            (
                "an atomic list",
                json!({"args": ["a", "b"]}),
                json!({"f:args": {}}),
            ),
            (
                "an atomic object",
                json!({"selector": {"a": "b"}}),
                json!({"f:selector": {}}),
            ),
            (
                "a set",
                json!({"finalizers": ["a"]}),
                json!({"f:finalizers": {"v:\"a\"": {}}}),
            ),
            (
                "an item by index",
                json!({"x": ["a"]}),
                json!({"f:x": {"i:0": {}}}),
            ),
            (
                "an item by key",
                json!({"c": [{"name": "a", "image": "i"}]}),
                json!({"f:c": {"k:{\"name\":\"a\"}": {".": {}, "f:name": {}, "f:image": {}}}}),
            ),
            (
                "a key that a default filled in",
                json!({"ports": [{"containerPort": 80}]}),
                json!({"f:ports": {"k:{\"containerPort\":80,\"protocol\":\"TCP\"}": {".": {}, "f:containerPort": {}}}}),
            ),
            (
                "two protocols on one port",
                json!({"ports": [{"port": 1, "protocol": "UDP"}]}),
                json!({"f:ports": {"k:{\"port\":1,\"protocol\":\"TCP\"}": {}, "k:{\"port\":1,\"protocol\":\"UDP\"}": {}}}),
            ),
            (
                "an owner reference",
                json!({"metadata": {"ownerReferences": [{"uid": "u", "name": "n"}]}}),
                json!({"f:metadata": {"f:ownerReferences": {"k:{\"uid\":\"u\"}": {}}}}),
            ),
        ] {
            assert_eq!(first_uncovered(wanted, fields), None, "{name}");
        }
    }

    #[test]
    fn what_somebody_took_is_named() {
        for (path, wanted, fields) in [
            ("spec", json!({"spec": {"a": 1}}), json!({})),
            (
                "spec.a",
                json!({"spec": {"a": 1}}),
                json!({"f:spec": {"f:b": {}}}),
            ),
            (
                "metadata.labels.x",
                json!({"metadata": {"name": "a", "labels": {"x": "y"}}}),
                json!({"f:metadata": {"f:labels": {"f:z": {}}}}),
            ),
            (
                "metadata.labels",
                json!({"metadata": {"labels": {"x": "y"}}}),
                json!({"f:spec": {}}),
            ),
            (
                "c[a].image",
                json!({"c": [{"name": "a", "image": "i"}]}),
                json!({"f:c": {"k:{\"name\":\"a\"}": {".": {}, "f:name": {}}}}),
            ),
            (
                "c[b]",
                json!({"c": [{"name": "b"}]}),
                json!({"f:c": {"k:{\"name\":\"a\"}": {}}}),
            ),
            (
                "finalizers[0]",
                json!({"finalizers": ["b"]}),
                json!({"f:finalizers": {"v:\"a\"": {}}}),
            ),
            (
                "x[1]",
                json!({"x": ["a", "b"]}),
                json!({"f:x": {"i:0": {}}}),
            ),
        ] {
            assert_eq!(first_uncovered(wanted, fields).as_deref(), Some(path));
        }
    }

    #[test]
    fn without_an_entry_of_ours_nothing_is_covered() {
        assert_eq!(
            first_uncovered(json!({"data": {"a": "b"}}), json!({})).as_deref(),
            Some("data")
        );
    }
}
