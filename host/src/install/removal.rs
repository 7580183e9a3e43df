//! Letting a Plugin go: not while it has objects, which would be left without anybody to look after them.

use std::sync::Arc;

use kube::api::{Api, DynamicObject, Patch, PatchParams};
use serde_json::json;

use super::plugins;
use crate::cluster::{Cluster, ClusterError, asked};
use crate::controllers::Controller;
use crate::object::Object;
use crate::reconcile::{LET_GO, Rooms, release as release_from_finalizer};

/// Keeps a Plugin as long as it has objects.
const HELD: &str = "windlass.dev/plugin";

/// How many objects a message names.
const NAMED: usize = 5;

/// Whether its objects may be left alone.
pub(super) fn is_let_go(plugin: &DynamicObject) -> bool {
    let annotations = plugin.metadata.annotations.as_ref();
    annotations.is_some_and(|all| all.get(LET_GO).is_some_and(|value| value == "true"))
}

/// What the removal waits for, in words; None when nothing holds it.
pub(super) fn waits_for(controller: Option<&Controller>, plugin: &DynamicObject) -> Option<String> {
    let objects = controller?.reconciler().objects();
    if objects.is_empty() || is_let_go(plugin) {
        return None;
    }
    let named: Vec<_> = objects
        .iter()
        .take(NAMED)
        .map(ToString::to_string)
        .collect();
    let more = if objects.len() > NAMED { ", …" } else { "" };
    let name = plugin.metadata.name.as_deref().unwrap_or_default();
    Some(format!(
        "removal waits for {} objects, which are served meanwhile: {}{more}; delete them, or leave them to themselves: kubectl annotate plugin {name} {LET_GO}=true",
        objects.len(),
        named.join(", "),
    ))
}

/// Puts the finalizer on, if it is not there.
///
/// # Errors
/// The API server's refusal.
pub(super) async fn hold(cluster: &Cluster, plugin: &DynamicObject) -> Result<(), ClusterError> {
    let finalizers = plugin.metadata.finalizers.clone().unwrap_or_default();
    match finalizers.iter().any(|finalizer| finalizer == HELD) {
        true => Ok(()),
        false => {
            set(
                cluster,
                plugin,
                [finalizers, vec![HELD.to_owned()]].concat(),
            )
            .await
        }
    }
}

/// Takes the finalizer off.
///
/// # Errors
/// The API server's refusal.
pub(super) async fn release(cluster: &Cluster, plugin: &DynamicObject) -> Result<(), ClusterError> {
    let mut finalizers = plugin.metadata.finalizers.clone().unwrap_or_default();
    finalizers.retain(|finalizer| finalizer != HELD);
    set(cluster, plugin, finalizers).await
}

/// Lets an object of the Plugin go without its plugin, now or whenever it is deleted.
///
/// # Errors
/// The API server's refusal.
pub(super) async fn release_object(
    rooms: &Rooms,
    object: &Arc<Object>,
) -> Result<(), ClusterError> {
    match release_from_finalizer(object, &rooms.cluster, &rooms.cache).await {
        Err(error) if error.is_not_found() => Ok(()),
        other => other.map(drop),
    }
}

async fn set(
    cluster: &Cluster,
    plugin: &DynamicObject,
    finalizers: Vec<String>,
) -> Result<(), ClusterError> {
    let name = plugin.metadata.name.as_deref().unwrap_or_default();
    let api: Api<DynamicObject> = Api::all_with(cluster.client(), &plugins());
    let patch = json!({"metadata": {
        "resourceVersion": plugin.metadata.resource_version,
        "finalizers": finalizers,
    }});
    let parameters = PatchParams::default();
    let patch = Patch::Merge(&patch);
    let written = asked(
        "change a Plugin's finalizers",
        api.patch(name, &parameters, &patch),
    );
    match written.await {
        Err(error) if error.is_not_found() => Ok(()),
        other => other.map(drop),
    }
}
