//! What the watchers know, with this host's own writes laid over it.

mod kept;
mod label_index;
pub mod selector;
#[cfg(test)]
pub(crate) mod tests;
mod view;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use kube::core::{Expression, Selector};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

pub use kept::{is_metadata_only, is_secret, metadata_text};
pub(crate) use label_index::equalities;
pub use view::{By, Change};

use crate::object::{Kind, OWNER_LABEL, Object, ObjectKey, owner_label};
use view::View;

/// What one watcher watches.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Watched {
    /// The kind.
    pub kind: Kind,
    /// One namespace, or all.
    pub namespace: Option<String>,
    /// A label selector that bounds what is watched; empty for everything.
    pub selector: String,
}

impl fmt::Display for Watched {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.kind)?;
        if let Some(namespace) = &self.namespace {
            write!(f, " in {namespace}")?;
        }
        if !self.selector.is_empty() {
            write!(f, " with {}", self.selector)?;
        }
        Ok(())
    }
}

/// What a watcher tells.
#[derive(Clone, Debug)]
pub enum News {
    /// It begins with a list.
    ListBegan,
    /// An object of that list.
    Listed(Object),
    /// The list is complete.
    ListEnded,
    /// An object is new or changed.
    Applied(Object),
    /// An object is gone.
    Deleted(Object),
}

/// The cache. Cheap to clone; all clones are the same cache.
#[derive(Clone, Debug)]
pub struct Cache {
    views: Arc<RwLock<HashMap<Kind, BTreeMap<Watched, View>>>>,
    changes: UnboundedSender<Change>,
}

impl Cache {
    /// An empty cache, and the changes that will happen in it, in order.
    pub fn new() -> (Self, UnboundedReceiver<Change>) {
        let (changes, receiver) = unbounded_channel();
        (
            Self {
                views: Arc::default(),
                changes,
            },
            receiver,
        )
    }

    /// Makes room for what a watcher will tell.
    ///
    /// # Errors
    /// When the selector is none.
    pub fn open(&self, watched: &Watched) -> Result<(), selector::NotASelector> {
        let selector = selector::parse(&watched.selector)?;
        let mut views = self.write();
        let of_kind = views.entry(watched.kind.clone()).or_default();
        of_kind
            .entry(watched.clone())
            .or_insert_with(|| View::new(watched.namespace.clone(), selector));
        Ok(())
    }

    /// Lets go of what other watchers than these showed, and says which those were. Nobody is told: the objects are
    /// not gone, only nobody looks at them any more.
    pub fn close_all_but(&self, wanted: &BTreeSet<Watched>) -> Vec<Watched> {
        let mut closed = Vec::new();
        let mut views = self.write();
        views.retain(|_, of_kind| {
            of_kind.retain(|watched, _| {
                let kept = wanted.contains(watched);
                if !kept {
                    closed.push(watched.clone());
                }
                kept
            });
            !of_kind.is_empty()
        });
        closed
    }

    /// Takes in what a watcher tells.
    pub fn learn(&self, watched: &Watched, news: News) {
        let mut views = self.write();
        let Some(view) = views
            .get_mut(&watched.kind)
            .and_then(|views| views.get_mut(watched))
        else {
            return;
        };
        let changes = match news {
            News::ListBegan => {
                view.list_began();
                Vec::new()
            }
            News::Listed(object) => {
                view.listed(kept::kept(object));
                Vec::new()
            }
            News::ListEnded => view.list_ended(),
            News::Applied(object) => view.applied(kept::kept(object)),
            News::Deleted(object) => view.deleted(&object),
        };
        changes.into_iter().for_each(|change| self.tell(change));
    }

    /// Takes in an own write: what the API server answered. To be called after each, status included.
    pub fn wrote(&self, object: Object) {
        let object = kept::kept(object);
        let mut views = self.write();
        let of_kind = views
            .get_mut(&object.key.kind)
            .into_iter()
            .flat_map(BTreeMap::values_mut);
        for change in of_kind.filter_map(|view| view.wrote(&object)) {
            self.tell(change);
        }
    }

    /// Takes in an own delete after which the API server said that the object is gone. Where it still exists, as with
    /// finalizers or a Pod that is ending, use [`Self::wrote`] with what was answered.
    pub fn removed(&self, key: &ObjectKey, uid: &str) {
        let place = (key.namespace.clone(), key.name.clone());
        let mut views = self.write();
        let of_kind = views
            .get_mut(&key.kind)
            .into_iter()
            .flat_map(BTreeMap::values_mut);
        for change in of_kind.filter_map(|view| view.removed(&place, uid)) {
            self.tell(change);
        }
    }

    /// One object.
    pub fn get(&self, key: &ObjectKey) -> Option<Arc<Object>> {
        let place = (key.namespace.clone(), key.name.clone());
        let views = self.read();
        let found = views
            .get(&key.kind)?
            .values()
            .filter_map(|view| view.get(&place).cloned());
        found.reduce(newer)
    }

    /// The objects of a kind that match, sorted by namespace, then name; None looks in all namespaces.
    pub fn list(
        &self,
        kind: &Kind,
        namespace: Option<&str>,
        selector: &Selector,
    ) -> Vec<Arc<Object>> {
        self.index_for(kind, selector);
        let views = self.read();
        let Some(views) = views.get(kind) else {
            return Vec::new();
        };
        let mut lists = views.values().map(|view| view.list(namespace, selector));
        let first = lists.next().unwrap_or_default();
        lists.fold(first, union)
    }

    /// The objects of these kinds that carry the owner's label, sorted by kind, then name.
    pub fn children(&self, owner: &ObjectKey, kinds: &[Kind]) -> Vec<Arc<Object>> {
        let label = Expression::Equal(OWNER_LABEL.into(), owner_label(owner));
        let selector = Selector::from(label);
        let mut kinds: Vec<_> = kinds.iter().collect();
        kinds.sort();
        kinds
            .into_iter()
            .flat_map(|kind| self.list(kind, owner.namespace.as_deref(), &selector))
            .collect()
    }

    /// How many objects are kept, by kind.
    pub fn sizes(&self) -> BTreeMap<Kind, usize> {
        let views = self.read();
        let size = |views: &BTreeMap<Watched, View>| views.values().map(View::len).sum();
        views
            .iter()
            .map(|(kind, views)| (kind.clone(), size(views)))
            .collect()
    }

    fn index_for(&self, kind: &Kind, selector: &Selector) {
        let indexed = self
            .read()
            .get(kind)
            .is_none_or(|views| views.values().all(|view| view.is_indexed_for(selector)));
        if !indexed && let Some(views) = self.write().get_mut(kind) {
            views.values_mut().for_each(|view| view.index_for(selector));
        }
    }

    fn tell(&self, change: Change) {
        // Nobody listens in tests and while the host stops.
        let _ = self.changes.send(change);
    }

    /// No operation panics half-way through a change, so a poisoned lock still guards sound views.
    fn read(&self) -> RwLockReadGuard<'_, HashMap<Kind, BTreeMap<Watched, View>>> {
        self.views.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, HashMap<Kind, BTreeMap<Watched, View>>> {
        self.views.write().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The newer of two versions of one object that different watchers show.
fn newer(one: Arc<Object>, other: Arc<Object>) -> Arc<Object> {
    let version = |object: &Object| object.resource_version.parse::<u64>().unwrap_or(0);
    if version(&other) > version(&one) {
        other
    } else {
        one
    }
}

/// All objects of two lists of one kind, sorted, each once.
fn union(one: Vec<Arc<Object>>, other: Vec<Arc<Object>>) -> Vec<Arc<Object>> {
    let mut by_key = BTreeMap::new();
    for object in one.into_iter().chain(other) {
        let object = match by_key.remove(&object.key) {
            Some(known) => newer(known, object),
            None => object,
        };
        by_key.insert(object.key.clone(), object);
    }
    by_key.into_values().collect()
}
