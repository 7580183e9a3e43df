//! Patches, deletes and evictions of objects that are not children.

use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use kube::api::{Api, DeleteParams, DynamicObject, EvictParams, Patch, PatchParams, Preconditions};
use kube::runtime::conditions::is_deleted;
use kube::runtime::wait::await_condition;
use serde_json::{Value, json};

use super::{Actions, Undone};
use crate::cluster::asked;
use crate::object::{FIELD_MANAGER, Kind, Object, ObjectKey};
use crate::plugin::bindings::{DeleteAction, EvictAction, ObjectRef, PatchAction};

impl Actions {
    /// The uid travels in the patch: the API server refuses it when the live object has another.
    pub(super) async fn patch(&self, action: &PatchAction) -> Result<Value, Undone> {
        let key = key(&action.object);
        let patch = with_uid(&action.patch, &action.uid)?;
        let api = self
            .cluster
            .api(&key.kind, key.namespace.as_deref())
            .await?;
        let parameters = PatchParams {
            field_manager: Some(FIELD_MANAGER.into()),
            ..PatchParams::default()
        };
        let patch = Patch::Merge(patch);
        let request = api.patch(&key.name, &parameters, &patch);
        let live = asked(&format!("patch {key}"), request).await?;
        if let Ok(object) = Object::new(&key.kind, live) {
            self.cache.wrote(object);
        }
        Ok(Value::Null)
    }

    pub(super) async fn delete(&self, action: &DeleteAction) -> Result<Value, Undone> {
        let key = key(&action.object);
        let api = self
            .cluster
            .api(&key.kind, key.namespace.as_deref())
            .await?;
        let parameters = DeleteParams {
            grace_period_seconds: action.grace_seconds,
            preconditions: Some(precondition(&action.uid)),
            ..DeleteParams::default()
        };
        match asked(&format!("delete {key}"), api.delete(&key.name, &parameters)).await {
            // Gone already, or replaced by another under its name: what was asked for is so.
            Err(error) if error.is_not_found() || error.is_conflict() => return Ok(Value::Null),
            deleted => deleted?,
        };
        if action.wait > 0 && gone(api, &key, &action.uid, Duration::from_millis(action.wait)).await
        {
            self.cache.removed(&key, &action.uid);
        }
        Ok(Value::Null)
    }

    pub(super) async fn evict(
        &self,
        owner: &Object,
        action: &EvictAction,
    ) -> Result<Value, Undone> {
        self.targets.pod(owner, &action.pod, &action.uid)?;
        let namespace = owner.key.namespace.as_deref().unwrap_or_default();
        let api: Api<Pod> = Api::namespaced(self.cluster.client(), namespace);
        let delete_options = DeleteParams {
            preconditions: Some(precondition(&action.uid)),
            ..DeleteParams::default()
        };
        let parameters = EvictParams {
            delete_options: Some(delete_options),
            ..EvictParams::default()
        };
        let what = format!("evict the Pod {namespace}/{}", action.pod);
        asked(&what, api.evict(&action.pod, &parameters)).await?;
        Ok(Value::Null)
    }
}

/// Waits until the object of this uid is gone; false when it is still there at the end.
async fn gone(api: Api<DynamicObject>, key: &ObjectKey, uid: &str, at_most: Duration) -> bool {
    let wait = await_condition(api, &key.name, is_deleted(uid));
    matches!(tokio::time::timeout(at_most, wait).await, Ok(Ok(_)))
}

fn precondition(uid: &str) -> Preconditions {
    Preconditions {
        uid: Some(uid.to_owned()),
        resource_version: None,
    }
}

fn with_uid(patch: &str, uid: &str) -> Result<Value, Undone> {
    let mut patch: Value = serde_json::from_str(patch)
        .map_err(|error| Undone::NotSent(format!("its patch is not JSON: {error}")))?;
    if !patch.is_object()
        || patch
            .get("metadata")
            .is_some_and(|metadata| !metadata.is_object())
    {
        return Err(Undone::NotSent("its patch is not a JSON object".into()));
    }
    patch["metadata"]["uid"] = json!(uid);
    Ok(patch)
}

fn key(object: &ObjectRef) -> ObjectKey {
    ObjectKey {
        kind: Kind::new(&object.api_version, &object.kind),
        namespace: object.namespace.clone(),
        name: object.name.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_patch_carries_the_uid_beside_what_it_changes() {
        let patch = with_uid(r#"{"metadata":{"labels":{"role":"master"}}}"#, "u-1").unwrap();
        assert_eq!(
            patch,
            json!({"metadata": {"labels": {"role": "master"}, "uid": "u-1"}})
        );
    }

    #[test]
    fn a_patch_that_is_no_object_is_not_sent() {
        for patch in ["[]", "3", "{", r#"{"metadata":1}"#] {
            assert!(with_uid(patch, "u-1").is_err(), "{patch}");
        }
    }
}
