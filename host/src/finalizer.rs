//! Finalizers: holding an object, and letting it go.

use kube::api::{Patch, PatchParams};
use serde_json::json;

use crate::cache::Cache;
use crate::cluster::{Cluster, ClusterError, asked};
use crate::object::{FIELD_MANAGER, Object};

/// Holds `object` by `finalizer` if it is not held yet; returns it as it then is, None where it was held already.
///
/// # Errors
/// A conflict when somebody else changed it meanwhile, or the API server's refusal.
pub async fn hold(
    object: &Object,
    finalizer: &str,
    cluster: &Cluster,
    cache: &Cache,
) -> Result<Option<Object>, ClusterError> {
    if object.finalizers.iter().any(|known| known == finalizer) {
        return Ok(None);
    }
    let mut finalizers = object.finalizers.clone();
    finalizers.push(finalizer.to_owned());
    set(object, &finalizers, cluster, cache).await.map(Some)
}

/// Takes `finalizer` off `object`.
///
/// # Errors
/// As [`hold`].
pub async fn release(
    object: &Object,
    finalizer: &str,
    cluster: &Cluster,
    cache: &Cache,
) -> Result<(), ClusterError> {
    let mut others = object.finalizers.clone();
    others.retain(|known| known != finalizer);
    match set(object, &others, cluster, cache).await {
        Err(error) if error.is_not_found() => Ok(()),
        other => other.map(drop),
    }
}

/// A list cannot be changed in part by a merge patch, so the version that was seen goes with it.
async fn set(
    object: &Object,
    finalizers: &[String],
    cluster: &Cluster,
    cache: &Cache,
) -> Result<Object, ClusterError> {
    let key = &object.key;
    let patch = json!({"metadata": {
        "uid": object.uid, "resourceVersion": object.resource_version, "finalizers": finalizers}});
    let api = cluster.api(&key.kind, key.namespace.as_deref()).await?;
    let params = PatchParams {
        field_manager: Some(FIELD_MANAGER.into()),
        ..PatchParams::default()
    };
    let what = format!("set the finalizers of {key}");
    let written = asked(&what, api.patch(&key.name, &params, &Patch::Merge(&patch))).await?;
    let written = Object::new(&key.kind, written).map_err(|error| ClusterError::Unreachable {
        what,
        why: error.to_string(),
    })?;
    match written.deleting && written.finalizers.is_empty() {
        true => cache.removed(&written.key, &written.uid),
        false => cache.wrote(written.clone()),
    }
    Ok(written)
}
