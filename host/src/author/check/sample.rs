//! An object to try a plugin with: made up from its CRD, as small as the schema allows.

use serde_json::{Map, Value, json};

use crate::plugin::description::Served;

/// A made-up object of a served kind: defaults where the schema has them, and something plain for each field
/// that is required.
pub(super) fn object(served: &Served) -> Value {
    let mut object = match version_schema(served).map(|schema| value_of(&schema)) {
        Some(Value::Object(object)) => object,
        _ => Map::new(),
    };
    // What the plugin has not written yet.
    object.remove("status");
    object.entry("spec").or_insert_with(|| json!({}));
    let mut object = Value::Object(object);
    complete(&mut object, served);
    object
}

/// Gives an object what only an API server can give it.
pub(super) fn complete(object: &mut Value, served: &Served) {
    object["apiVersion"] = served.kind.api_version().into();
    object["kind"] = served.kind.kind.clone().into();
    let metadata = &mut object["metadata"];
    if !metadata.is_object() {
        *metadata = json!({});
    }
    let mut given = json!({
        "name": "sample",
        "uid": "5a3c1f0e-0000-4000-8000-000000000001",
        "resourceVersion": "1",
        "generation": 1,
        "creationTimestamp": "2026-01-01T00:00:00Z",
    });
    if served.crd.spec.scope == "Namespaced" {
        given["namespace"] = "default".into();
    }
    for (field, value) in given.as_object().into_iter().flatten() {
        if metadata.get(field).is_none() {
            metadata[field] = value.clone();
        }
    }
}

/// A made-up configuration.
pub(super) fn config(schema: &Value) -> Value {
    let takes_nothing =
        jsonschema::validator_for(schema).map_or(true, |validator| validator.is_valid(&json!({})));
    match takes_nothing {
        true => json!({}),
        false => value_of(schema),
    }
}

fn version_schema(served: &Served) -> Option<Value> {
    let mut versions = served.crd.spec.versions.iter();
    let version = versions.find(|version| version.name == served.kind.version)?;
    let schema = version.schema.as_ref()?.open_api_v3_schema.as_ref()?;
    serde_json::to_value(schema).ok()
}

/// The plainest value that a schema takes, as far as that can be told.
fn value_of(schema: &Value) -> Value {
    if let Some(default) = schema.get("default") {
        return default.clone();
    }
    for keyword in ["enum", "examples"] {
        if let Some(first) = schema[keyword].as_array().and_then(|values| values.first()) {
            return first.clone();
        }
    }
    if let Some(example) = schema.get("example") {
        return example.clone();
    }
    match schema["type"].as_str() {
        Some("object") => object_of(schema),
        Some("array") => list_of(schema),
        Some("integer") => schema.get("minimum").cloned().unwrap_or(json!(1)),
        Some("number") => schema.get("minimum").cloned().unwrap_or(json!(1.0)),
        Some("boolean") => json!(false),
        Some("string") => text_of(schema).into(),
        _ if schema["x-kubernetes-int-or-string"] == true => json!(1),
        _ => json!({}),
    }
}

fn object_of(schema: &Value) -> Value {
    let required: Vec<&str> = schema["required"]
        .as_array()
        .map(|names| names.iter().filter_map(Value::as_str).collect())
        .unwrap_or_default();
    let properties = schema["properties"].as_object().into_iter().flatten();
    let wanted = |(field, inner): &(&String, &Value)| {
        required.contains(&field.as_str()) || inner.get("default").is_some() || has_defaults(inner)
    };
    let fields = properties.filter(wanted);
    fields
        .map(|(field, inner)| (field.clone(), value_of(inner)))
        .collect::<Map<_, _>>()
        .into()
}

/// Whether an API server would fill something in below.
fn has_defaults(schema: &Value) -> bool {
    schema.get("default").is_some_and(Value::is_object)
}

fn list_of(schema: &Value) -> Value {
    let count = schema["minItems"].as_u64().unwrap_or(0).min(16);
    (0..count)
        .map(|_| value_of(&schema["items"]))
        .collect::<Vec<_>>()
        .into()
}

fn text_of(schema: &Value) -> String {
    let text = match schema["format"].as_str() {
        Some("date-time") => "2026-01-01T00:00:00Z",
        Some("date") => "2026-01-01",
        Some("byte") => "c2FtcGxl",
        Some("uri") => "https://example.com",
        _ => "sample",
    };
    let shortest = usize::try_from(schema["minLength"].as_u64().unwrap_or(0))
        .unwrap_or(0)
        .min(1024);
    match text.len() < shortest {
        true => text.repeat(shortest.div_ceil(text.len())),
        false => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_required_or_has_a_default_is_there_and_nothing_else() {
        let schema = json!({
            "type": "object",
            "required": ["name", "size", "mode", "hosts"],
            "properties": {
                "name": {"type": "string", "minLength": 8},
                "size": {"type": "integer", "minimum": 3},
                "mode": {"type": "string", "enum": ["Fast", "Safe"]},
                "hosts": {"type": "array", "minItems": 2, "items": {"type": "string"}},
                "replicas": {"type": "integer", "default": 2},
                "note": {"type": "string"},
            },
        });
        let expected = json!({
            "name": "samplesample", "size": 3, "mode": "Fast", "hosts": ["sample", "sample"], "replicas": 2
        });
        assert_eq!(value_of(&schema), expected);
    }

    #[test]
    fn a_configuration_is_made_up_only_where_none_will_not_do() {
        let optional =
            json!({"type": "object", "properties": {"domain": {"type": "string", "default": "x"}}});
        assert_eq!(config(&optional), json!({}));
        let required = json!({"type": "object", "required": ["domain"], "properties": {"domain": {"type": "string"}}});
        assert_eq!(config(&required), json!({"domain": "sample"}));
        assert_eq!(config(&Value::Null), json!({}));
    }
}
