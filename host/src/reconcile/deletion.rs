//! Finalizers: holding an object until its plugin has finished with it, and letting it go.

use std::time::Duration;

use jiff::Timestamp;
use kube::api::{Patch, PatchParams};
use serde::Deserialize;
use serde_json::json;

use crate::cache::Cache;
use crate::cluster::{Cluster, ClusterError, asked};
use crate::object::{FIELD_MANAGER, Object, ObjectKey};
use crate::plugin::bindings::Deletion;

use super::question::namespace_kind;

/// Keeps an object until its plugin's `finalize` says that nothing is left to do.
pub const FINALIZER: &str = "windlass.dev/finalize";

/// The way out: `"true"` lets an object go without asking its plugin.
pub const LET_GO: &str = "windlass.dev/let-go";

/// After this long an object that is still being deleted says how to let it go by hand.
const PATIENCE: Duration = Duration::from_secs(600);

/// What a round has to do about deletion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// It should exist.
    Alive,
    /// The plugin's `finalize` decides.
    Finalizing,
    /// The finalizer may go without asking.
    LetGo,
    /// It goes by itself: nothing of ours holds it.
    Leaving,
}

/// Where an object stands; `finalizes` when its plugin wants to be asked.
pub(super) fn stage(object: &Object, finalizes: bool) -> Stage {
    let held = object
        .finalizers
        .iter()
        .any(|finalizer| finalizer == FINALIZER);
    match (object.deleting, held) {
        (false, _) => Stage::Alive,
        (true, false) => Stage::Leaving,
        (true, true) if finalizes && !is_let_go(object) => Stage::Finalizing,
        (true, true) => Stage::LetGo,
    }
}

fn is_let_go(object: &Object) -> bool {
    object
        .annotations
        .get(LET_GO)
        .is_some_and(|value| value == "true")
}

/// What a plugin is told about the deletion of `object`.
///
/// # Errors
/// When the API server does not tell about the namespace.
pub(super) async fn deletion(object: &Object, cluster: &Cluster) -> Result<Deletion, ClusterError> {
    let namespace_terminating = match &object.key.namespace {
        Some(name) => is_terminating(name, cluster).await?,
        None => false,
    };
    Ok(Deletion {
        namespace_terminating,
        deadline: deadline(object),
    })
}

async fn is_terminating(namespace: &str, cluster: &Cluster) -> Result<bool, ClusterError> {
    let key = ObjectKey {
        kind: namespace_kind(),
        namespace: None,
        name: namespace.to_owned(),
    };
    let found = cluster.get(&key).await?;
    Ok(found.is_none_or(|namespace| namespace.deleting))
}

/// In milliseconds since the epoch.
pub(super) fn deadline(object: &Object) -> u64 {
    #[derive(Deserialize)]
    struct Whole {
        metadata: Meta,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Meta {
        deletion_timestamp: Option<Timestamp>,
    }
    let asked = serde_json::from_str::<Whole>(&object.json).ok();
    let asked = asked.and_then(|whole| whole.metadata.deletion_timestamp);
    let asked = asked
        .and_then(|asked| u64::try_from(asked.as_millisecond()).ok())
        .unwrap_or(0);
    let patience = u64::try_from(PATIENCE.as_millis()).unwrap_or(u64::MAX);
    asked.saturating_add(patience)
}

/// What to tell people once the deadline is over.
pub(super) fn way_out(object: &Object) -> String {
    format!(
        "deletion waits for its plugin; to let it go without, run: kubectl annotate {} {} {LET_GO}=true",
        object.key.kind.qualified().to_lowercase(),
        object.key.name
    )
}

/// Holds `object` if it is not held yet; returns it as it then is, None where it was held already.
///
/// # Errors
/// A conflict when somebody else changed it meanwhile, or the API server's refusal.
pub(super) async fn hold(
    object: &Object,
    cluster: &Cluster,
    cache: &Cache,
) -> Result<Option<Object>, ClusterError> {
    if object
        .finalizers
        .iter()
        .any(|finalizer| finalizer == FINALIZER)
    {
        return Ok(None);
    }
    let mut finalizers = object.finalizers.clone();
    finalizers.push(FINALIZER.to_owned());
    set(object, &finalizers, cluster, cache).await.map(Some)
}

/// Lets `object` go.
///
/// # Errors
/// As [`hold`].
pub async fn release(
    object: &Object,
    cluster: &Cluster,
    cache: &Cache,
) -> Result<(), ClusterError> {
    let others = object
        .finalizers
        .iter()
        .filter(|finalizer| *finalizer != FINALIZER);
    let others: Vec<_> = others.cloned().collect();
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cache::tests::object;

    fn thing(meta: serde_json::Value) -> Object {
        object("example.com/v1", "Thing", json!({"metadata": meta}))
    }

    const WHEN: &str = "2026-01-01T00:00:00Z";

    #[test]
    fn every_stage_of_a_deletion_is_told_from_the_object() {
        for (meta, finalizes, expected) in [
            (json!({"name": "a"}), true, Stage::Alive),
            (
                json!({"name": "a", "finalizers": [FINALIZER]}),
                true,
                Stage::Alive,
            ),
            (
                json!({"name": "a", "deletionTimestamp": WHEN, "finalizers": [FINALIZER]}),
                true,
                Stage::Finalizing,
            ),
            (
                json!({"name": "a", "deletionTimestamp": WHEN, "finalizers": [FINALIZER]}),
                false,
                Stage::LetGo,
            ),
            (
                json!({"name": "a", "deletionTimestamp": WHEN, "finalizers": [FINALIZER],
                    "annotations": {LET_GO: "true"}}),
                true,
                Stage::LetGo,
            ),
            (
                json!({"name": "a", "deletionTimestamp": WHEN, "finalizers": ["other"]}),
                true,
                Stage::Leaving,
            ),
        ] {
            assert_eq!(stage(&thing(meta.clone()), finalizes), expected, "{meta}");
        }
    }

    #[test]
    fn the_deadline_counts_from_when_deletion_was_asked_for() {
        let deleted = thing(json!({"name": "a", "deletionTimestamp": WHEN}));
        assert_eq!(deadline(&deleted), 1_767_225_600_000 + 600_000);
    }
}
