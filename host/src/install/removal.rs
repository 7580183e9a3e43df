//! Letting a Plugin go: not while it has objects, which would be left without anybody to look after them.

use kube::api::DynamicObject;

use crate::cluster::ClusterError;
use crate::controllers::Controller;
use crate::finalizer;
use crate::object::{Kind, Object};
use crate::reconcile::{LET_GO, Rooms};

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
pub(super) async fn hold(rooms: &Rooms, plugin: &DynamicObject) -> Result<(), ClusterError> {
    let plugin = object(plugin)?;
    match finalizer::hold(&plugin, HELD, &rooms.cluster, &rooms.cache).await {
        Err(error) if error.is_not_found() => Ok(()),
        other => other.map(drop),
    }
}

/// Takes the finalizer off.
///
/// # Errors
/// The API server's refusal.
pub(super) async fn release(rooms: &Rooms, plugin: &DynamicObject) -> Result<(), ClusterError> {
    finalizer::release(&object(plugin)?, HELD, &rooms.cluster, &rooms.cache).await
}

fn object(plugin: &DynamicObject) -> Result<Object, ClusterError> {
    let kind = Kind::new("windlass.dev/v1alpha1", "Plugin");
    Object::new(&kind, plugin.clone()).map_err(|error| ClusterError::Unreachable {
        what: "read a Plugin".into(),
        why: error.to_string(),
    })
}
