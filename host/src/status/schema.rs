//! What the API server makes of a status: unknown fields dropped, defaults filled in.
//!
//! A status that the schema changes would differ from what stands for ever. So what is wanted is first put into
//! the form in which the API server would store it, by the served schema.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Map, Value};

use crate::cluster::{Cluster, ClusterError};
use crate::object::{Kind, ObjectKey};

/// The structural schema of a kind's status, as its CRD serves it.
#[derive(Clone, Debug)]
pub struct Schema(Value);

impl Schema {
    /// A schema that takes everything as it is: for kinds that are not defined by a CRD.
    pub fn open() -> Self {
        Self(Value::Null)
    }

    /// The status schema of one version of a CRD; None when the CRD has no such version or no schema.
    pub fn of(crd: &Value, version: &str) -> Option<Self> {
        let versions = crd["spec"]["versions"].as_array()?;
        let version = versions.iter().find(|served| served["name"] == version)?;
        let root = &version["schema"]["openAPIV3Schema"];
        match (
            root.get("properties")
                .and_then(|properties| properties.get("status")),
            preserves(root),
        ) {
            (Some(status), _) => Some(Self(status.clone())),
            (None, true) => Some(Self::open()),
            (None, false) => None,
        }
    }

    /// Whether the API server keeps a field of status.
    pub fn keeps(&self, field: &str) -> bool {
        let known = self
            .0
            .get("properties")
            .is_some_and(|properties| properties.get(field).is_some());
        known || !self.0.is_object() || preserves(&self.0)
    }

    /// Puts a status into the form in which the API server stores it.
    pub fn conform(&self, status: &mut Value) {
        conform(status, &self.0);
    }
}

fn preserves(schema: &Value) -> bool {
    schema["x-kubernetes-preserve-unknown-fields"] == true
}

fn conform(value: &mut Value, schema: &Value) {
    match value {
        Value::Object(map) => conform_map(map, schema),
        Value::Array(list) => {
            if let Some(items) = schema.get("items") {
                list.iter_mut().for_each(|item| conform(item, items));
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn conform_map(map: &mut Map<String, Value>, schema: &Value) {
    let properties = schema.get("properties").and_then(Value::as_object);
    let additional = schema
        .get("additionalProperties")
        .filter(|additional| additional.is_object());
    let closed = schema.is_object()
        && additional.is_none()
        && schema["additionalProperties"] != true
        && !preserves(schema);
    let known = |key: &str| properties.and_then(|properties| properties.get(key));
    map.retain(|key, _| !closed || known(key).is_some());
    map.retain(|key, value| !dropped_null(value, known(key).or(additional)));
    for (key, schema) in properties.into_iter().flatten() {
        if let Some(default) = schema.get("default") {
            map.entry(key).or_insert_with(|| default.clone());
        }
    }
    for (key, value) in map.iter_mut() {
        if let Some(schema) = known(key).or(additional) {
            conform(value, schema);
        }
    }
}

/// Whether a null goes: where the schema does not take one. A default then takes its place.
fn dropped_null(value: &Value, schema: Option<&Value>) -> bool {
    value.is_null() && schema.is_some_and(|schema| schema["nullable"] != true)
}

/// The schemas of the kinds that are served, each read once.
#[derive(Clone)]
pub struct Schemas {
    cluster: Cluster,
    read: Arc<Mutex<HashMap<Kind, Arc<Schema>>>>,
}

impl Schemas {
    /// Reads CRDs from `cluster`.
    pub fn new(cluster: Cluster) -> Self {
        Self {
            cluster,
            read: Arc::default(),
        }
    }

    /// The status schema of `kind`.
    ///
    /// # Errors
    /// When the API server cannot be asked for the CRD.
    pub async fn of(&self, kind: &Kind) -> Result<Arc<Schema>, ClusterError> {
        let known = self
            .read
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .get(kind)
            .cloned();
        if let Some(schema) = known {
            return Ok(schema);
        }
        let schema = Arc::new(self.fetch(kind).await?);
        self.read
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(kind.clone(), schema.clone());
        Ok(schema)
    }

    /// Forgets the schema of `kind`: its CRD changed, as an answer of the API server showed.
    pub fn forget(&self, kind: &Kind) {
        self.read
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .remove(kind);
    }

    async fn fetch(&self, kind: &Kind) -> Result<Schema, ClusterError> {
        let plural = self.cluster.served(kind).await?.resource.plural;
        let crd = ObjectKey {
            kind: Kind::new("apiextensions.k8s.io/v1", "CustomResourceDefinition"),
            namespace: None,
            name: format!("{plural}.{}", kind.group),
        };
        let crd = self.cluster.get(&crd).await?;
        let crd: Option<Value> = crd.and_then(|crd| serde_json::from_str(&crd.json).ok());
        Ok(crd
            .and_then(|crd| Schema::of(&crd, &kind.version))
            .unwrap_or_else(Schema::open))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn conformed(schema: Value, status: Value) -> Value {
        let crd = json!({"spec": {"versions": [{"name": "v1", "schema": {"openAPIV3Schema":
            {"properties": {"status": schema}}}}]}});
        let mut status = status;
        Schema::of(&crd, "v1").unwrap().conform(&mut status);
        status
    }

    #[test]
    fn a_status_takes_the_form_in_which_it_is_stored() {
        let schema = json!({"properties": {
            "phase": {"type": "string"},
            "mode": {"type": "string", "default": "auto"},
            "pods": {"additionalProperties": {"properties": {"ready": {"type": "boolean"}}}},
            "list": {"items": {"properties": {"a": {"type": "integer"}}}},
            "free": {"x-kubernetes-preserve-unknown-fields": true},
        }});
        for (name, status, stored) in [
            (
                "unknown fields go",
                json!({"phase": "x", "mode": "m", "y": 1}),
                json!({"phase": "x", "mode": "m"}),
            ),
            ("defaults come", json!({}), json!({"mode": "auto"})),
            (
                "a null gives way to a default",
                json!({"mode": null}),
                json!({"mode": "auto"}),
            ),
            (
                "a null goes where none may stand",
                json!({"mode": "m", "phase": null}),
                json!({"mode": "m"}),
            ),
            (
                "map values are looked into",
                json!({"mode": "m", "pods": {"a": {"ready": true, "x": 1}}}),
                json!({"mode": "m", "pods": {"a": {"ready": true}}}),
            ),
            (
                "list items are looked into",
                json!({"mode": "m", "list": [{"a": 1, "x": 1}]}),
                json!({"mode": "m", "list": [{"a": 1}]}),
            ),
            (
                "what is free stays",
                json!({"mode": "m", "free": {"x": 1}}),
                json!({"mode": "m", "free": {"x": 1}}),
            ),
        ] {
            assert_eq!(conformed(schema.clone(), status), stored, "{name}");
        }
    }
}
