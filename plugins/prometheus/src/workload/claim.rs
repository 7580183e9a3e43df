//! The volume of each Pod.

use serde_json::{Map, Value, json};

use super::Blueprint;
use crate::units;

/// The volume's name in the Pod's template.
pub(super) fn name(of: &Blueprint<'_>) -> String {
    let named = of
        .spec
        .storage
        .as_ref()
        .and_then(|storage| storage.volume_claim_template.metadata.name.clone());
    named
        .filter(|name| !name.is_empty())
        .unwrap_or_else(|| of.names.volume())
}

/// The folder of the volume that is mounted.
pub(super) fn sub_path(of: &Blueprint<'_>) -> Option<&'static str> {
    let storage = of.spec.storage.as_ref()?;
    (!storage.disable_mount_sub_path).then_some("prometheus-db")
}

/// A volume that goes with the Pod, where a user wants no claim that stays.
pub(super) fn passing(of: &Blueprint<'_>) -> Option<Value> {
    let name = of.names.volume();
    let Some(storage) = &of.spec.storage else {
        return Some(json!({"name": name, "emptyDir": {}}));
    };
    if let Some(folder) = &storage.empty_dir {
        return Some(json!({"name": name, "emptyDir": folder}));
    }
    let claim = storage.ephemeral.as_ref()?;
    Some(json!({"name": name, "ephemeral": claim}))
}

/// The claim of each Pod.
pub(super) fn template(of: &Blueprint<'_>) -> Option<Value> {
    if passing(of).is_some() {
        return None;
    }
    let claim = &of.spec.storage.as_ref()?.volume_claim_template;
    let mut spec = match claim.spec.as_ref().map(|spec| &spec.0) {
        Some(Value::Object(spec)) => spec.clone(),
        _ => Map::new(),
    };
    spec.entry("accessModes")
        .or_insert_with(|| json!(["ReadWriteOnce"]));
    Some(json!({
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {
            "name": name(of),
            "labels": claim.metadata.labels,
            "annotations": claim.metadata.annotations,
        },
        "spec": spec,
    }))
}

/// How large the volumes should be, as a quantity and in bytes.
#[must_use]
pub fn wanted_size(of: &Blueprint<'_>) -> Option<(String, f64)> {
    let template = template(of)?;
    let quantity = template
        .pointer("/spec/resources/requests/storage")?
        .as_str()?
        .to_owned();
    let bytes = units::quantity(&quantity)?;
    Some((quantity, bytes))
}
