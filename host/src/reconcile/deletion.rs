//! Deletion: what a round has to do about an object that is going, and what people are told.

use std::time::Duration;

use jiff::Timestamp;
use serde::Deserialize;

use crate::cluster::{Cluster, ClusterError};
use crate::object::{Object, ObjectKey};
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

/// Whether a person let go an object that is held.
pub(crate) fn is_to_go(object: &Object) -> bool {
    stage(object, true) == Stage::LetGo
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
pub(crate) fn way_out(object: &Object) -> String {
    let ObjectKey {
        kind,
        namespace,
        name,
    } = &object.key;
    let kind = kind.qualified().to_lowercase();
    let namespace = namespace
        .as_ref()
        .map_or_else(String::new, |namespace| format!(" -n {namespace}"));
    format!(
        "deletion waits for its plugin; to let it go without, run: kubectl annotate{namespace} {kind} {name} {LET_GO}=true"
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

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
    fn the_way_out_is_a_command_that_finds_the_object() {
        for (namespace, expected) in [
            (
                json!("team"),
                "kubectl annotate -n team thing.example.com a ",
            ),
            (json!(null), "kubectl annotate thing.example.com a "),
        ] {
            let told = way_out(&thing(json!({"name": "a", "namespace": namespace})));
            assert!(told.contains(expected), "{told}");
        }
    }

    #[test]
    fn the_deadline_counts_from_when_deletion_was_asked_for() {
        let deleted = thing(json!({"name": "a", "deletionTimestamp": WHEN}));
        assert_eq!(deadline(&deleted), 1_767_225_600_000 + 600_000);
    }
}
