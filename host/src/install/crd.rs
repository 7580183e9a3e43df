//! The CustomResourceDefinition of `Plugin`, generated from the types that the host reads.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::core::schema::StructuralSchemaRewriter;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Value, json};

use super::status::PluginStatus;
use crate::plugin::configuration::PluginSpec;

/// The CRD.
///
/// # Errors
/// Never for the types as they are: a test makes it.
pub fn crd() -> serde_json::Result<CustomResourceDefinition> {
    let mut status = schema::<PluginStatus>();
    status["properties"]["conditions"] = conditions();
    let spec = schema::<PluginSpec>();
    serde_json::from_value(json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "plugins.windlass.dev"},
        "spec": {
            "group": "windlass.dev",
            "names": {
                "kind": "Plugin", "plural": "plugins", "singular": "plugin", "listKind": "PluginList",
                "categories": ["windlass"],
            },
            "scope": "Cluster",
            "versions": [{
                "name": "v1alpha1",
                "served": true,
                "storage": true,
                "schema": {"openAPIV3Schema": {
                    "type": "object",
                    "description": "A plugin that teaches Windlass one application.",
                    "required": ["spec"],
                    "properties": {"spec": spec, "status": status},
                }},
                "subresources": {"status": {}},
                "additionalPrinterColumns": columns(),
            }],
        },
    }))
}

fn columns() -> Value {
    let ready = ".status.conditions[?(@.type==\"Serving\")].status";
    json!([
        {"name": "Version", "type": "string", "jsonPath": ".status.version"},
        {"name": "Digest", "type": "string", "jsonPath": ".status.shortDigest"},
        {"name": "Kinds", "type": "string", "jsonPath": ".status.kindNames"},
        {"name": "Objects", "type": "integer", "jsonPath": ".status.objects"},
        {"name": "Ready", "type": "string", "jsonPath": ready},
        {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
    ])
}

fn conditions() -> Value {
    let text = json!({"type": "string"});
    json!({
        "type": "array",
        "description": "How far it came: Fetched, Verified, Compiled, Granted, Serving.",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["type"],
        "items": {
            "type": "object",
            "required": ["type", "status", "reason", "message", "lastTransitionTime"],
            "properties": {
                "type": text, "status": text, "reason": text, "message": text,
                "observedGeneration": {"type": "integer", "format": "int64"},
                "lastTransitionTime": {"type": "string", "format": "date-time"},
            },
        },
    })
}

/// A type's schema, in the form that the API server takes.
fn schema<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::openapi3().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let generator = settings
        .with_transform(StructuralSchemaRewriter)
        .into_generator();
    let mut schema = generator.into_root_schema_for::<T>().to_value();
    acceptable(&mut schema);
    schema
}

/// Takes out what the API server refuses in a CRD: it is strict about unknown fields by itself.
fn acceptable(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            fields.remove("title");
            if fields.get("additionalProperties") == Some(&Value::Bool(false)) {
                fields.remove("additionalProperties");
            }
            if fields.get("additionalProperties") == Some(&Value::Bool(true)) {
                fields.remove("additionalProperties");
                fields.insert("x-kubernetes-preserve-unknown-fields".into(), true.into());
            }
            if fields.remove("uniqueItems").is_some() && fields["items"]["type"] == "string" {
                fields.insert("x-kubernetes-list-type".into(), "set".into());
            }
            let unsigned = |format: &Value| {
                format
                    .as_str()
                    .is_some_and(|format| format.starts_with("uint"))
            };
            if fields.get("format").is_some_and(unsigned) {
                fields.remove("format");
            }
            fields.values_mut().for_each(acceptable);
        }
        Value::Array(items) => items.iter_mut().for_each(acceptable),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../crds/windlass.dev_plugins.yaml"
    );

    #[test]
    fn the_file_in_crds_is_what_the_types_say() {
        let generated = serde_saphyr::to_string(&crd().unwrap()).unwrap();
        let generated = format!(
            "# Generated from host/src/install/crd.rs by its test with UPDATE_GOLDEN=1.\n{generated}"
        );
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            std::fs::write(FILE, &generated).unwrap();
        }
        let there = std::fs::read_to_string(FILE).unwrap_or_default();
        assert_eq!(
            there, generated,
            "run this test with UPDATE_GOLDEN=1 and review what changed"
        );
    }

    #[test]
    fn what_the_api_server_refuses_is_not_in_it() {
        let text = serde_json::to_string(&crd().unwrap()).unwrap();
        for refused in [
            "\"uniqueItems\"",
            "\"additionalProperties\":false",
            "\"$ref\"",
        ] {
            assert!(!text.contains(refused), "{refused}");
        }
    }
}
