//! Users' changes to containers, as a strategic merge patch makes them: lists of named things are merged by name.

use serde_json::{Map, Value};

use crate::api::Opaque;

/// The key by which the items of a list are told apart; None for a list that is replaced as a whole.
fn key_of(list: &str) -> Option<&'static str> {
    match list {
        "env" => Some("name"),
        "ports" => Some("containerPort"),
        "volumeMounts" => Some("mountPath"),
        "volumeDevices" => Some("devicePath"),
        _ => None,
    }
}

/// Containers with changes of those that go by the same name, and the others after them.
pub(super) fn containers(own: Vec<Value>, users: &[Opaque]) -> Vec<Value> {
    let changes: Vec<Value> = users.iter().map(|container| container.0.clone()).collect();
    merge_lists(own, &changes, "name")
}

fn merge_lists(mut list: Vec<Value>, changes: &[Value], key: &str) -> Vec<Value> {
    for change in changes {
        let same = list
            .iter_mut()
            .find(|item| item.get(key) == change.get(key));
        match same {
            Some(item) => patch(item, change),
            None => list.push(change.clone()),
        }
    }
    list
}

/// Changes a value: maps field by field, null removes.
pub(super) fn patch(value: &mut Value, change: &Value) {
    let (Value::Object(map), Value::Object(changes)) = (&mut *value, change) else {
        *value = change.clone();
        return;
    };
    for (field, change) in changes {
        patch_field(map, field, change);
    }
}

fn patch_field(map: &mut Map<String, Value>, field: &str, change: &Value) {
    match (map.get_mut(field), change) {
        (_, Value::Null) => {
            map.remove(field);
        }
        (Some(Value::Array(list)), Value::Array(changes)) => {
            let merged = key_of(field).map(|key| merge_lists(std::mem::take(list), changes, key));
            *list = merged.unwrap_or_else(|| changes.clone());
        }
        (Some(value @ Value::Object(_)), Value::Object(_)) => patch(value, change),
        _ => {
            map.insert(field.to_owned(), change.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_container_by_the_same_name_is_changed() {
        let own = vec![
            json!({"name": "a", "args": ["x"], "env": [{"name": "A", "value": "1"}], "image": "i"}),
        ];
        let users = [
            Opaque(
                json!({"name": "a", "args": ["y"], "env": [{"name": "A", "value": "2"}, {"name": "B"}]}),
            ),
            Opaque(json!({"name": "b", "image": "j"})),
        ];
        assert_eq!(
            containers(own, &users),
            [
                json!({"name": "a", "args": ["y"], "env": [{"name": "A", "value": "2"}, {"name": "B"}], "image": "i"}),
                json!({"name": "b", "image": "j"}),
            ]
        );
    }
}
