//! Objects that nothing serves: they say so, and what to do about it.
//!
//! Nobody watches them then, so they are listed. Guarantees: the same is written once; an object of a kind that another
//! plugin serves meanwhile is left to that.

use std::collections::BTreeSet;

use kube::api::{Api, DynamicObject, ListParams};
use kube::discovery;

use super::Shared;
use crate::apply::Memory;
use crate::cluster::{ClusterError, asked};
use crate::finalizer;
use crate::object::{Kind, Object};
use crate::reconcile::{FINALIZER, Rooms, is_to_go, way_out};
use crate::status::{Draft, Need, StatusError, Unsynced};

/// Objects in one answer of the API server.
const PAGE: u32 = 500;

/// Which objects a Plugin serves.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Scope {
    /// The kinds, with their groups.
    pub(super) kinds: Vec<String>,
    /// The namespaces; empty for all.
    pub(super) namespaces: BTreeSet<String>,
}

/// Says on the objects of `scope` that their Plugin is not served. One that is being deleted and was let go goes.
///
/// # Errors
/// When they cannot be listed, or one that is let go does not go.
pub(super) async fn tell(shared: &Shared, plugin: &str, scope: &Scope) -> Result<(), ClusterError> {
    for object in objects(shared, scope).await? {
        if is_served(shared, &object.key.kind.qualified()) {
            continue;
        }
        let text = not_served(plugin, &object);
        let object = told(&shared.rooms, object, text).await;
        if is_to_go(&object) {
            release(&shared.rooms, &object).await?;
        }
    }
    Ok(())
}

/// Says on the objects of `scope` that their Plugin is removed, and holds none of them any longer.
///
/// # Errors
/// When they cannot be listed, or one is still held.
pub(super) async fn let_go(
    shared: &Shared,
    plugin: &str,
    scope: &Scope,
) -> Result<(), ClusterError> {
    for object in objects(shared, scope).await? {
        if is_served(shared, &object.key.kind.qualified()) {
            continue;
        }
        let object = told(&shared.rooms, object, removed(plugin)).await;
        if object.finalizers.iter().any(|held| held == FINALIZER) {
            release(&shared.rooms, &object).await?;
        }
    }
    Ok(())
}

/// Says nothing that differs from one try to the next: why the Plugin is not served stands there.
fn not_served(plugin: &str, object: &Object) -> String {
    let text = format!(
        "the Plugin {plugin} is not served, so nothing is done for this object; what to do says: kubectl describe plugin {plugin}"
    );
    match object.deleting {
        true => format!("{text}; {}", way_out(object)),
        false => text,
    }
}

fn removed(plugin: &str) -> String {
    format!(
        "the Plugin {plugin} was removed, so nothing is done for this object: apply the Plugin again, or delete the object"
    )
}

fn is_served(shared: &Shared, kind: &str) -> bool {
    let controllers = shared.controllers.all();
    controllers.iter().any(|controller| {
        let reconciler = controller.reconciler();
        let kinds = reconciler.plugin().description().kinds();
        kinds.iter().any(|served| served.qualified() == kind)
    })
}

/// The object as it then stands. One that cannot be told harms no other.
async fn told(rooms: &Rooms, object: Object, text: String) -> Object {
    let draft = Draft::failed(&Unsynced::Unserved(text));
    let now = rooms.clock.now();
    let mut memory = Memory::default();
    let stored = rooms
        .status
        .store(&object, &draft, Need::Nothing, now, &mut memory);
    match stored.await {
        Ok(stored) => stored.object().clone(),
        Err(error) => {
            if !matches!(error, StatusError::Gone) {
                tracing::warn!(object = %object.key, %error, "failed to tell an object that nothing serves it");
            }
            object
        }
    }
}

async fn release(rooms: &Rooms, object: &Object) -> Result<(), ClusterError> {
    finalizer::release(object, FINALIZER, &rooms.cluster, &rooms.cache).await
}

/// The objects of kinds that no plugin serves.
async fn objects(shared: &Shared, scope: &Scope) -> Result<Vec<Object>, ClusterError> {
    let rooms = &shared.rooms;
    let mut found = Vec::new();
    for kind in &scope.kinds {
        if is_served(shared, kind) {
            continue;
        }
        let Some(kind) = looked_up(rooms, kind).await? else {
            continue;
        };
        if scope.namespaces.is_empty() {
            found.extend(list(rooms, &kind, None).await?);
        }
        for namespace in &scope.namespaces {
            found.extend(list(rooms, &kind, Some(namespace)).await?);
        }
    }
    Ok(found)
}

/// A kind at the version that the cluster prefers; None where its CRD is gone, and its objects with it.
async fn looked_up(rooms: &Rooms, qualified: &str) -> Result<Option<Kind>, ClusterError> {
    let Some((kind, group)) = qualified.split_once('.') else {
        return Ok(None);
    };
    let client = rooms.cluster.client();
    let what = format!("look up {qualified}");
    let known = match asked(&what, discovery::group(&client, group)).await {
        Err(error) if error.is_not_found() => return Ok(None),
        other => other?,
    };
    let known = known.recommended_kind(kind);
    Ok(known.map(|(resource, _)| Kind::new(&resource.api_version, &resource.kind)))
}

async fn list(
    rooms: &Rooms,
    kind: &Kind,
    namespace: Option<&str>,
) -> Result<Vec<Object>, ClusterError> {
    let api: Api<DynamicObject> = rooms.cluster.api(kind, namespace).await?;
    let mut page = ListParams::default().limit(PAGE);
    let mut found = Vec::new();
    loop {
        let listed = asked(&format!("list {kind}"), api.list(&page)).await?;
        let objects = listed.items.into_iter();
        found.extend(objects.filter_map(|live| Object::new(kind, live).ok()));
        match listed.metadata.continue_.filter(|token| !token.is_empty()) {
            Some(token) => page = page.continue_token(&token),
            None => return Ok(found),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::cache::tests::object;

    #[test]
    fn an_object_that_is_being_deleted_is_told_the_way_out() {
        let meta = json!({"name": "a", "namespace": "team"});
        let alive = object("example.com/v1", "Thing", json!({"metadata": meta}));
        assert!(!not_served("mine", &alive).contains("let-go"));
        let leaving = Object {
            deleting: true,
            ..alive
        };
        let text = not_served("mine", &leaving);
        assert!(
            text.contains("kubectl describe plugin mine") && text.contains("let-go=true"),
            "{text}"
        );
    }
}
