//! What one watcher shows, with this host's own writes laid over it.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use kube::core::{Selector, SelectorExt};

use super::label_index::{LabelIndex, Place, equalities};
use crate::object::Object;

/// What changed in the cache.
#[derive(Clone, Debug)]
pub struct Change {
    /// The object as it was; None when it is new.
    pub before: Option<Arc<Object>>,
    /// The object as it is; None when it is gone.
    pub after: Option<Arc<Object>>,
    /// Who changed it.
    pub by: By,
}

/// Who changed an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// This host, which has just written it. What the watch shows of that later changes nothing any more.
    Us,
    /// Anybody, as the watch tells while it runs.
    Watch,
    /// Anybody, at some time before the list that the watch began with.
    List,
}

/// The objects of one watcher.
///
/// An own write takes its object's place at once. Until the watch has caught up with it, older versions that the
/// watch still shows are passed over.
#[derive(Debug)]
pub(super) struct View {
    namespace: Option<String>,
    selector: Selector,
    objects: BTreeMap<Arc<Place>, Arc<Object>>,
    index: LabelIndex,
    /// Own writes that the watch has not reached, by version.
    ahead: BTreeMap<u64, OwnWrite>,
    /// Objects that this host deleted and the watch may still show, by uid: the number of the write.
    gone: HashMap<String, u64>,
    /// The newest version that the watch has shown.
    reached: u64,
    /// Counts own writes, to tell which came after a list began.
    writes: u64,
    listing: Option<Listing>,
}

#[derive(Debug)]
struct OwnWrite {
    place: Arc<Place>,
    number: u64,
}

#[derive(Debug)]
struct Listing {
    writes_before: u64,
    objects: BTreeMap<Arc<Place>, Arc<Object>>,
}

fn place(object: &Object) -> Arc<Place> {
    Arc::new((object.key.namespace.clone(), object.key.name.clone()))
}

/// Versions of one kind's objects are numbers that grow; where one is not a number it compares with nothing.
fn version(object: &Object) -> Option<u64> {
    object.resource_version.parse().ok()
}

/// True when `incoming` tells nothing that `current` does not know.
fn knows(current: &Object, incoming: &Object) -> bool {
    match (version(current), version(incoming)) {
        (Some(current), Some(incoming)) => incoming <= current,
        _ => incoming.resource_version == current.resource_version,
    }
}

impl View {
    pub(super) fn new(namespace: Option<String>, selector: Selector) -> Self {
        Self {
            namespace,
            selector,
            objects: BTreeMap::new(),
            index: LabelIndex::default(),
            ahead: BTreeMap::new(),
            gone: HashMap::new(),
            reached: 0,
            writes: 0,
            listing: None,
        }
    }

    /// Whether the watch shows objects like this one.
    fn covers(&self, object: &Object) -> bool {
        let namespace = self.namespace.is_none() || self.namespace == object.key.namespace;
        namespace && self.selector.matches(&object.labels)
    }

    pub(super) fn get(&self, place: &Place) -> Option<&Arc<Object>> {
        self.objects.get(place)
    }

    pub(super) fn len(&self) -> usize {
        self.objects.len()
    }

    /// The watch shows an object that is new or changed.
    pub(super) fn applied(&mut self, object: Object) -> Vec<Change> {
        let mut changes = Vec::new();
        let at = place(&object);
        let known = self
            .objects
            .get(&at)
            .is_some_and(|current| knows(current, &object));
        let reached = version(&object);
        if !known && !self.gone.contains_key(&object.uid) {
            changes.push(self.put(at, Arc::new(object), By::Watch));
        }
        changes.extend(self.reach(reached));
        changes
    }

    /// The watch shows that an object is gone, or no longer one of those it shows.
    pub(super) fn deleted(&mut self, object: &Object) -> Vec<Change> {
        self.gone.remove(&object.uid);
        let at = place(object);
        let same = self
            .objects
            .get(&at)
            .is_some_and(|current| current.uid == object.uid);
        let mut changes: Vec<_> = same
            .then(|| self.take(&at, By::Watch))
            .flatten()
            .into_iter()
            .collect();
        changes.extend(self.reach(version(object)));
        changes
    }

    /// Notes how far the watch has come. An own write that it passed without showing it was undone before the
    /// watch got there.
    fn reach(&mut self, version_shown: Option<u64>) -> Vec<Change> {
        let Some(shown) = version_shown else {
            return Vec::new();
        };
        self.reached = self.reached.max(shown);
        let mut undone = Vec::new();
        while let Some(entry) = self.ahead.first_entry()
            && *entry.key() <= shown
        {
            let (written, OwnWrite { place, .. }) = entry.remove_entry();
            let current = self
                .objects
                .get(&place)
                .and_then(|current| version(current));
            if written < shown && current == Some(written) {
                undone.extend(self.take(&place, By::Watch));
            }
        }
        undone
    }

    /// The watch begins from the start with a list.
    pub(super) fn list_began(&mut self) {
        self.listing = Some(Listing {
            writes_before: self.writes,
            objects: BTreeMap::new(),
        });
    }

    /// An object of that list.
    pub(super) fn listed(&mut self, object: Object) {
        if let Some(listing) = &mut self.listing {
            listing.objects.insert(place(&object), Arc::new(object));
        }
    }

    /// The list is complete: it replaces everything but what was written after it began.
    pub(super) fn list_ended(&mut self) -> Vec<Change> {
        let Some(Listing {
            writes_before,
            objects,
        }) = self.listing.take()
        else {
            return Vec::new();
        };
        self.ahead.retain(|_, write| write.number > writes_before);
        self.gone.retain(|_, number| *number > writes_before);
        self.reached = objects
            .values()
            .filter_map(|object| version(object))
            .max()
            .unwrap_or(0);
        let mut changes = self.drop_unlisted(&objects);
        for (at, object) in objects {
            let same = self
                .objects
                .get(&at)
                .is_some_and(|current| same_version(current, &object));
            if !same && !self.gone.contains_key(&object.uid) && !self.is_ahead(&at, &object) {
                changes.push(self.put(at, object, By::List));
            }
        }
        changes
    }

    fn drop_unlisted(&mut self, listed: &BTreeMap<Arc<Place>, Arc<Object>>) -> Vec<Change> {
        let unlisted: Vec<_> = self
            .objects
            .iter()
            .filter(|(at, object)| !listed.contains_key(*at) && !self.is_ahead_itself(object))
            .map(|(at, _)| at.clone())
            .collect();
        unlisted
            .iter()
            .filter_map(|at| self.take(at, By::List))
            .collect()
    }

    /// Whether this host has written at this place what the list could not know yet.
    fn is_ahead(&self, at: &Place, listed: &Object) -> bool {
        let current = self.objects.get(at);
        current.is_some_and(|current| self.is_ahead_itself(current) && knows(current, listed))
    }

    fn is_ahead_itself(&self, object: &Object) -> bool {
        version(object).is_some_and(|version| self.ahead.contains_key(&version))
    }

    /// This host wrote an object; `object` is what the API server answered.
    pub(super) fn wrote(&mut self, object: &Object) -> Option<Change> {
        self.writes += 1;
        let at = place(object);
        let current = self.objects.get(&at);
        let known = current.is_some_and(|current| knows(current, object));
        let written = version(object);
        // What the watch has passed and does not show was deleted before this answer arrived.
        let passed = current.is_none() && written.is_some_and(|written| written <= self.reached);
        if known || passed || !self.covers(object) || self.gone.contains_key(&object.uid) {
            return None;
        }
        if let Some(written) = written {
            let own = OwnWrite {
                place: at.clone(),
                number: self.writes,
            };
            self.ahead.insert(written, own);
        }
        Some(self.put(at, Arc::new(object.clone()), By::Us))
    }

    /// This host deleted the object with this uid, and the API server said that it is gone.
    pub(super) fn removed(&mut self, at: &Place, uid: &str) -> Option<Change> {
        self.writes += 1;
        if self.objects.get(at)?.uid != uid {
            return None;
        }
        self.gone.insert(uid.to_owned(), self.writes);
        self.take(at, By::Us)
    }

    fn put(&mut self, at: Arc<Place>, object: Arc<Object>, by: By) -> Change {
        let before = self.objects.insert(at.clone(), object.clone());
        if let Some(before) = &before {
            self.index.remove(&at, &before.labels);
        }
        self.index.insert(&at, &object.labels);
        Change {
            before,
            after: Some(object),
            by,
        }
    }

    fn take(&mut self, at: &Place, by: By) -> Option<Change> {
        let (at, before) = self.objects.remove_entry(at)?;
        self.index.remove(&at, &before.labels);
        Some(Change {
            before: Some(before),
            after: None,
            by,
        })
    }

    /// Whether what `selector` selects can be found without looking at everything.
    pub(super) fn is_indexed_for(&self, selector: &Selector) -> bool {
        equalities(selector).all(|(key, _)| self.index.has(&key))
    }

    /// Indexes the keys of `selector`.
    pub(super) fn index_for(&mut self, selector: &Selector) {
        for (key, _) in equalities(selector) {
            if !self.index.has(&key) {
                let objects = self.objects.iter().map(|(at, object)| (at, &object.labels));
                self.index.begin(&key, objects);
            }
        }
    }

    /// The objects that match, sorted by namespace, then name.
    pub(super) fn list(&self, namespace: Option<&str>, selector: &Selector) -> Vec<Arc<Object>> {
        let matching = |object: &&Arc<Object>| selector.matches(&object.labels);
        let first = (namespace.map(str::to_owned), String::new());
        let inside = |at: &Place| namespace.is_none() || at.0.as_deref() == namespace;
        match self.index.fewest(selector) {
            Some(places) => places
                .range::<Place, _>(first..)
                .take_while(|at| inside(at))
                .filter_map(|at| self.objects.get(at))
                .filter(matching)
                .cloned()
                .collect(),
            None => self
                .objects
                .range::<Place, _>(first..)
                .take_while(|(at, _)| inside(at))
                .map(|(_, object)| object)
                .filter(matching)
                .cloned()
                .collect(),
        }
    }
}

fn same_version(one: &Object, other: &Object) -> bool {
    one.uid == other.uid && one.resource_version == other.resource_version
}
