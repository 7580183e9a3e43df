//! What the cache keeps of an object.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::object::{DOMAIN, Kind, Object};

/// True for kinds of which only metadata is watched and kept: their content may be large or secret, and is fetched
/// when it is asked for.
pub fn is_metadata_only(kind: &Kind) -> bool {
    kind.group.is_empty() && matches!(kind.kind.as_str(), "Secret" | "ConfigMap")
}

/// True for kinds whose content is never shown to a plugin.
pub fn is_secret(kind: &Kind) -> bool {
    kind.group.is_empty() && kind.kind == "Secret"
}

/// `object` as far as the cache keeps it.
pub(super) fn kept(mut object: Object) -> Object {
    if is_metadata_only(&object.key.kind) {
        object.json = metadata_text(&object);
    }
    object
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Header<'a> {
    #[serde(borrow)]
    api_version: &'a RawValue,
    #[serde(borrow)]
    kind: &'a RawValue,
    #[serde(borrow)]
    metadata: &'a RawValue,
}

/// `apiVersion`, `kind` and `metadata` of an object as JSON text; of a Secret without annotations but the host's own.
pub fn metadata_text(object: &Object) -> Arc<str> {
    let Ok(mut header) = serde_json::from_str::<Header<'_>>(&object.json) else {
        return object.json.clone();
    };
    let without_annotations = is_secret(&object.key.kind)
        .then(|| own_annotations_only(header.metadata))
        .flatten();
    if let Some(metadata) = &without_annotations {
        header.metadata = metadata;
    }
    serde_json::to_string(&header).map_or_else(|_| object.json.clone(), Arc::from)
}

fn own_annotations_only(metadata: &RawValue) -> Option<Box<RawValue>> {
    let mut metadata: Map<String, Value> = serde_json::from_str(metadata.get()).ok()?;
    if let Some(Value::Object(annotations)) = metadata.get_mut("annotations") {
        annotations.retain(|key, _| key.starts_with(DOMAIN));
    }
    serde_json::value::to_raw_value(&metadata).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cache::tests::object;
    use serde_json::json;

    #[test]
    fn a_secret_keeps_neither_values_nor_what_kubectl_wrote_down() {
        let secret = kept(object(
            "v1",
            "Secret",
            json!({"metadata": {"name": "a", "annotations": {
                "kubectl.kubernetes.io/last-applied-configuration": "canary",
                "windlass.dev/applied": "digest"}},
                "data": {"password": "canary"}}),
        ));
        assert!(!secret.json.contains("canary"), "{}", secret.json);
        assert!(secret.json.contains("digest"));
        assert!(secret.json.contains(r#""kind":"Secret""#));
    }

    #[test]
    fn other_kinds_are_kept_whole() {
        let pod = kept(object(
            "v1",
            "Pod",
            json!({"metadata": {"name": "a"}, "spec": {"nodeName": "n"}}),
        ));
        assert!(pod.json.contains("nodeName"));
    }
}
