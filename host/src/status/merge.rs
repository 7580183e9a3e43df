//! Makes the whole status of what the plugin says, what the host says and what stood.

use serde_json::{Map, Value};

use crate::apply::FIELD;
use crate::status::conditions;
use crate::status::draft::Draft;

/// What a merge needs to know besides the draft.
pub(super) struct Seen<'a> {
    /// The status as the round saw it.
    pub(super) status: &'a Map<String, Value>,
    /// The generation that the round saw.
    pub(super) generation: i64,
    /// The round's time in RFC 3339.
    pub(super) now: &'a str,
}

/// Whether measurements take their new values or stay as they stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Figures {
    Stay,
    Renew,
}

/// The status that should stand.
pub(super) fn merge(draft: &Draft, seen: &Seen<'_>, figures: Figures) -> Value {
    let mut status = draft.plugin.clone().unwrap_or_else(|| seen.status.clone());
    let host = draft.host_conditions(conditions::of(seen.status));
    let seen_conditions = conditions::of(seen.status);
    let merged = conditions::merge(
        conditions::of(&status),
        &host,
        seen_conditions,
        seen.generation,
        seen.now,
    );
    status.insert("conditions".into(), merged.into());
    if seen.generation > 0 {
        status.insert("observedGeneration".into(), seen.generation.into());
    }
    let record = match &draft.record {
        Some(record) if record.is_empty() => None,
        Some(record) => serde_json::to_value(record).ok(),
        None => seen.status.get(FIELD).cloned(),
    };
    match record {
        Some(record) => status.insert(FIELD.into(), record),
        None => status.remove(FIELD),
    };
    let mut status = Value::Object(status);
    place(draft, seen, figures, &mut status);
    status
}

/// Puts measurements at their places: the new values, or those that stand.
fn place(draft: &Draft, seen: &Seen<'_>, figures: Figures, status: &mut Value) {
    let stood = Value::Object(seen.status.clone());
    for figure in &draft.figures {
        let Some(pointer) = &figure.status else {
            continue;
        };
        match (figures, stood.pointer(pointer)) {
            (Figures::Stay, Some(value)) => put(status, pointer, value.clone()),
            (Figures::Stay, None) => remove(status, pointer),
            (Figures::Renew, _) => put(status, pointer, figure.value.clone()),
        }
    }
}

/// Sets the value at a JSON pointer, making objects on the way. A way that leads through something else than
/// objects and lists ends there.
fn put(root: &mut Value, pointer: &str, value: Value) {
    let mut at = root;
    for step in pointer.split('/').skip(1).map(unescaped) {
        if at.is_null() {
            *at = Value::Object(Map::new());
        }
        at = match at {
            Value::Object(map) => map.entry(step).or_insert(Value::Null),
            Value::Array(list) => match step
                .parse::<usize>()
                .ok()
                .and_then(|index| list.get_mut(index))
            {
                Some(item) => item,
                None => return,
            },
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => return,
        };
    }
    *at = value;
}

fn remove(root: &mut Value, pointer: &str) {
    let Some((parent, key)) = pointer.rsplit_once('/') else {
        return;
    };
    if let Some(Value::Object(map)) = root.pointer_mut(parent) {
        map.remove(&unescaped(key));
    }
}

fn unescaped(step: &str) -> String {
    step.replace("~1", "/").replace("~0", "~")
}

/// Whether two statuses say the same; numbers by value, since the API server writes 1.0 as 1.
pub(super) fn same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => {
            one == other || one.as_f64() == other.as_f64()
        }
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| same(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            one.len() == other.len()
                && one
                    .iter()
                    .all(|(key, value)| other.get(key).is_some_and(|other| same(value, other)))
        }
        _ => one == other,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::plan::Figure;

    fn draft(status: Option<Value>, figures: Vec<Figure>) -> Draft {
        let plugin = status.map(|status| status.as_object().unwrap().clone());
        Draft {
            plugin,
            record: None,
            conditions: Vec::new(),
            figures,
        }
    }

    fn merged(draft: &Draft, stood: &Value, figures: Figures) -> Value {
        let seen = Seen {
            status: stood.as_object().unwrap(),
            generation: 0,
            now: "now",
        };
        let mut status = merge(draft, &seen, figures);
        status.as_object_mut().unwrap().remove("conditions");
        status
    }

    fn lag(value: i64) -> Vec<Figure> {
        vec![Figure {
            status: Some("/replication/lag".into()),
            metric: None,
            value: value.into(),
        }]
    }

    #[test]
    fn a_plan_without_status_leaves_it_as_it_is() {
        assert_eq!(
            merged(&draft(None, vec![]), &json!({"a": 1}), Figures::Stay),
            json!({"a": 1})
        );
        assert_eq!(
            merged(
                &draft(Some(json!({"b": 1})), vec![]),
                &json!({"a": 1}),
                Figures::Stay
            ),
            json!({"b": 1})
        );
    }

    #[test]
    fn the_hosts_record_outlives_a_status_that_does_not_name_it() {
        let stood = json!({"windlass": {"generated": ["s/p"]}});
        assert_eq!(
            merged(&draft(Some(json!({})), vec![]), &stood, Figures::Stay),
            stood
        );
    }

    #[test]
    fn measurements_stay_as_they_stand_until_they_are_renewed() {
        let stood = json!({"phase": "Running", "replication": {"lag": 1}});
        let draft = draft(Some(json!({"phase": "Running"})), lag(7));
        assert_eq!(merged(&draft, &stood, Figures::Stay), stood);
        let renewed = merged(&draft, &stood, Figures::Renew);
        assert_eq!(
            renewed,
            json!({"phase": "Running", "replication": {"lag": 7}})
        );
    }

    #[test]
    fn numbers_are_compared_by_value() {
        assert!(same(&json!({"a": [1.0]}), &json!({"a": [1]})));
        assert!(!same(&json!({"a": [1.5]}), &json!({"a": [1]})));
        assert!(!same(&json!({"a": 1}), &json!({"a": 1, "b": 1})));
    }
}
