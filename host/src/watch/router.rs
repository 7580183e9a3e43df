//! Turns a change of the cache into entries in the queues of those whom it concerns.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;

use super::index::Index;
use crate::cache::{By, Cache, Change};
use crate::object::{Kind, OWNER_LABEL, Object, ObjectKey, owner_label};
use crate::queue::{Queue, Reason};

/// How many owners stand above an object at most: a Pod, its Job, its CronJob, its custom resource, and one more.
const LONGEST_CHAIN: usize = 5;

/// Whose objects of a kind are reconciled where.
#[derive(Clone, Debug)]
pub struct Serving {
    /// The plugin's queue.
    pub queue: Queue,
    /// The namespaces that it serves; empty for all.
    pub namespaces: BTreeSet<String>,
}

impl Serving {
    fn includes(&self, object: &ObjectKey) -> bool {
        let inside = |namespace: &String| self.namespaces.contains(namespace);
        self.namespaces.is_empty() || object.namespace.as_ref().is_some_and(inside)
    }
}

/// Knows whom a change concerns.
pub struct Router {
    cache: Cache,
    index: Index,
    serving: HashMap<Kind, Serving>,
    /// Custom resources by namespace and owner label.
    owners: HashMap<(Option<String>, String), Arc<ObjectKey>>,
}

impl Router {
    /// Routes to these plugins.
    pub fn new(cache: Cache, index: Index, serving: HashMap<Kind, Serving>) -> Self {
        Self {
            cache,
            index,
            serving,
            owners: HashMap::new(),
        }
    }

    /// Routes to these plugins from now on.
    pub fn serve(&mut self, serving: HashMap<Kind, Serving>) {
        self.owners
            .retain(|_, owner| serving.contains_key(&owner.kind));
        let new = serving
            .keys()
            .filter(|kind| !self.serving.contains_key(*kind));
        // What is in the cache already, since another plugin looks at it, will not be shown as new.
        let everything = kube::core::Selector::default();
        for known in new.flat_map(|kind| self.cache.list(kind, None, &everything)) {
            let label = (known.key.namespace.clone(), owner_label(&known.key));
            self.owners.insert(label, Arc::new(known.key.clone()));
        }
        self.serving = serving;
    }

    /// Wakes those whom a change concerns.
    pub fn route(&mut self, change: &Change) {
        let Some(object) = change.after.as_ref().or(change.before.as_ref()) else {
            return;
        };
        let what = format!("{} {}", object.key.kind.kind, object.key.name);
        let itself = self
            .serving
            .contains_key(&object.key.kind)
            .then(|| self.note_owner(change));
        let owners = self.owners_of(change);
        if let Some(itself) = &itself
            && change.by != By::Us
        {
            self.wake(itself, own_reason(change));
        }
        let asked = self
            .index
            .woken(change.before.as_deref(), change.after.as_deref());
        let concerned = owners
            .iter()
            .chain(asked.iter().filter(|asker| !owners.contains(*asker)));
        for other in concerned.filter(|other| itself.as_ref() != Some(*other)) {
            // Whose round wrote it looks again by itself.
            if change.by != By::Us || !owners.contains(other) {
                self.wake(other, Reason::Observed(what.clone()));
            }
        }
    }

    fn wake(&self, object: &Arc<ObjectKey>, reason: Reason) {
        if let Some(serving) = self.serving.get(&object.kind)
            && serving.includes(object)
        {
            serving.queue.add(object, reason);
        }
    }

    /// Remembers a custom resource by its label as long as it exists.
    fn note_owner(&mut self, change: &Change) -> Arc<ObjectKey> {
        let key = change
            .after
            .as_ref()
            .or(change.before.as_ref())
            .map(|object| &object.key);
        let key = key
            .cloned()
            .unwrap_or_else(|| unreachable!("a change has a before or an after"));
        let label = (key.namespace.clone(), owner_label(&key));
        if change.after.is_none() {
            return self.owners.remove(&label).unwrap_or_else(|| Arc::new(key));
        }
        self.owners
            .entry(label)
            .or_insert_with(|| Arc::new(key))
            .clone()
    }

    /// The custom resources that an object belongs to, before or after the change.
    fn owners_of(&self, change: &Change) -> BTreeSet<Arc<ObjectKey>> {
        let versions = change.before.iter().chain(change.after.iter());
        versions
            .flat_map(|version| {
                self.by_reference(version)
                    .into_iter()
                    .chain(self.by_label(version))
            })
            .collect()
    }

    fn by_label(&self, object: &Object) -> Option<Arc<ObjectKey>> {
        let label = object.labels.get(OWNER_LABEL)?;
        self.owners
            .get(&(object.key.namespace.clone(), label.clone()))
            .cloned()
    }

    /// Follows controllers up, as from a Pod to its StatefulSet to its custom resource.
    fn by_reference(&self, object: &Object) -> Option<Arc<ObjectKey>> {
        let mut reference = object.controller()?.clone();
        for _ in 0..LONGEST_CHAIN {
            let owner = self.referenced(&reference, object.key.namespace.as_deref())?;
            if self.serving.contains_key(&owner.key.kind) {
                return Some(Arc::new(owner.key.clone()));
            }
            reference = owner.controller()?.clone();
        }
        None
    }

    fn referenced(
        &self,
        reference: &OwnerReference,
        namespace: Option<&str>,
    ) -> Option<Arc<Object>> {
        let key = |namespace: Option<&str>| ObjectKey {
            kind: Kind::new(&reference.api_version, &reference.kind),
            namespace: namespace.map(str::to_owned),
            name: reference.name.clone(),
        };
        let found = self
            .cache
            .get(&key(namespace))
            .or_else(|| self.cache.get(&key(None)))?;
        (found.uid == reference.uid).then_some(found)
    }
}

/// Why a custom resource that changed is looked at.
fn own_reason(change: &Change) -> Reason {
    match (&change.before, &change.after) {
        (_, None) => Reason::Deletion,
        (None, Some(_)) if change.by == By::List => Reason::Started,
        (None, Some(_)) => Reason::Changed,
        (Some(before), Some(after)) => {
            if after.deleting && !before.deleting {
                Reason::Deletion
            } else if is_asked_for(before, after) {
                Reason::Changed
            } else {
                Reason::Observed("it".into())
            }
        }
    }
}

fn is_asked_for(before: &Object, after: &Object) -> bool {
    before.uid != after.uid
        || before.generation != after.generation
        || before.annotations != after.annotations
        || before.finalizers != after.finalizers
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use tokio::sync::mpsc::UnboundedReceiver;

    use super::*;
    use crate::cache::tests::object;
    use crate::cache::{News, Watched};

    /// A cache of Things, StatefulSets and Pods, and a router from it to one plugin that serves Things.
    struct World {
        cache: Cache,
        changes: UnboundedReceiver<Change>,
        router: Router,
        queue: Queue,
    }

    fn thing(name: &str, version: u64, generation: i64) -> Object {
        let meta = json!({"name": name, "namespace": "default", "uid": format!("uid-{name}"),
            "resourceVersion": version.to_string(), "generation": generation});
        object("example.com/v1", "Thing", json!({"metadata": meta}))
    }

    fn owned(api_version: &str, kind: &str, name: &str, owner: (&str, &str, &str)) -> Object {
        let reference = json!({"apiVersion": owner.0, "kind": owner.1, "name": owner.2,
            "uid": format!("uid-{}", owner.2), "controller": true});
        let meta = json!({"name": name, "namespace": "default", "uid": format!("uid-{name}"),
            "resourceVersion": "1", "ownerReferences": [reference]});
        object(api_version, kind, json!({"metadata": meta}))
    }

    impl World {
        fn new() -> Self {
            let (cache, changes) = Cache::new();
            let queue = Queue::new(0);
            let serving = Serving {
                queue: queue.clone(),
                namespaces: BTreeSet::new(),
            };
            let things = Kind::new("example.com/v1", "Thing");
            let router = Router::new(cache.clone(), Index::default(), [(things, serving)].into());
            Self {
                cache,
                changes,
                router,
                queue,
            }
        }

        fn shows(&self, object: Object) {
            let watched = Watched {
                kind: object.key.kind.clone(),
                namespace: None,
                selector: String::new(),
            };
            self.cache.open(&watched).unwrap();
            self.cache.learn(&watched, News::Applied(object));
        }

        fn writes(&self, object: Object) {
            self.cache.wrote(object);
        }

        /// Who is woken by what happened since the last look, and why.
        async fn woken(&mut self) -> Vec<(String, Reason)> {
            while let Ok(change) = self.changes.try_recv() {
                self.router.route(&change);
            }
            let mut woken = Vec::new();
            while let Ok(ticket) =
                tokio::time::timeout(std::time::Duration::from_secs(1), self.queue.next()).await
            {
                let request = ticket.request().clone();
                woken.push((request.object.name.clone(), request.reason));
                ticket.finish(crate::queue::Next::Never);
            }
            woken
        }

        fn asks(&self, asker: &str, about: &ObjectKey) {
            let asker = Arc::new(thing(asker, 1, 1).key);
            self.router
                .index
                .add(&asker, super::super::Interest::Object(about.clone()));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_new_or_changed_spec_is_told_from_a_mere_observation() {
        let mut world = World::new();
        world.shows(thing("a", 1, 1));
        assert_eq!(world.woken().await, [("a".into(), Reason::Changed)]);
        world.shows(thing("a", 2, 2));
        assert_eq!(world.woken().await, [("a".into(), Reason::Changed)]);
        world.shows(thing("a", 3, 2));
        assert!(matches!(
            world.woken().await.as_slice(),
            [(_, Reason::Observed(_))]
        ));
    }

    #[tokio::test(start_paused = true)]
    async fn a_pod_wakes_the_thing_that_its_stateful_set_belongs_to() {
        let mut world = World::new();
        world.shows(thing("a", 1, 1));
        world.shows(owned(
            "apps/v1",
            "StatefulSet",
            "set",
            ("example.com/v1", "Thing", "a"),
        ));
        world.woken().await;
        world.shows(owned(
            "v1",
            "Pod",
            "set-0",
            ("apps/v1", "StatefulSet", "set"),
        ));
        assert_eq!(
            world.woken().await,
            [("a".into(), Reason::Observed("Pod set-0".into()))]
        );
    }

    #[tokio::test(start_paused = true)]
    async fn an_owner_that_was_made_again_is_not_the_owner() {
        let mut world = World::new();
        let mut other = thing("a", 1, 1);
        other.uid = "another".into();
        world.shows(other);
        world.woken().await;
        world.shows(owned("v1", "Pod", "p", ("example.com/v1", "Thing", "a")));
        assert!(world.woken().await.is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn what_carries_the_label_wakes_without_an_owner_reference() {
        let mut world = World::new();
        world.shows(thing("a", 1, 1));
        world.woken().await;
        let mut claim = owned(
            "v1",
            "PersistentVolumeClaim",
            "data",
            ("v1", "Node", "none"),
        );
        claim
            .labels
            .insert(OWNER_LABEL.into(), owner_label(&thing("a", 1, 1).key));
        world.shows(claim);
        assert_eq!(world.woken().await.len(), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn an_own_write_wakes_those_who_asked_about_it_but_not_its_owner_and_its_echo_nobody() {
        let mut world = World::new();
        world.shows(thing("owner", 1, 1));
        world.shows(thing("asker", 1, 1));
        world.shows(owned("v1", "Pod", "other", ("v1", "Node", "n")));
        world.woken().await;
        let pod = owned("v1", "Pod", "p", ("example.com/v1", "Thing", "owner"));
        world.asks("asker", &pod.key);
        world.asks("owner", &pod.key);
        let mut pod = pod;
        pod.resource_version = "2".into();
        world.writes(pod.clone());
        assert_eq!(
            world.woken().await,
            [("asker".into(), Reason::Observed("Pod p".into()))]
        );
        world.shows(pod);
        assert!(world.woken().await.is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn an_own_status_write_wakes_nobody() {
        let mut world = World::new();
        world.shows(thing("a", 1, 1));
        world.woken().await;
        world.writes(thing("a", 2, 1));
        world.shows(thing("a", 2, 1));
        assert!(world.woken().await.is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn a_kind_that_is_served_later_is_known_with_what_was_seen_before() {
        let mut world = World::new();
        let serving = std::mem::take(&mut world.router.serving);
        world.shows(thing("a", 1, 1));
        assert!(world.woken().await.is_empty());
        world.router.serve(serving);
        let mut claim = owned("v1", "Secret", "data", ("v1", "Node", "none"));
        claim
            .labels
            .insert(OWNER_LABEL.into(), owner_label(&thing("a", 1, 1).key));
        world.shows(claim);
        assert_eq!(world.woken().await.len(), 1);
        world.router.serve(HashMap::new());
        world.shows(thing("a", 2, 2));
        assert!(world.woken().await.is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_outside_the_granted_namespaces_is_left_alone() {
        let mut world = World::new();
        let serving = world.router.serving.values_mut().next().unwrap();
        serving.namespaces = BTreeSet::from(["elsewhere".to_owned()]);
        world.shows(thing("a", 1, 1));
        assert!(world.woken().await.is_empty());
    }
}
