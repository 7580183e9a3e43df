//! Plugins as an administrator installs them: `Plugin` resources, from their source to being served.
//!
//! Flow, for each Plugin on its own: [`acquire`] fetches and verifies the artifact, the plugin room compiles it and
//! asks what it is, [`admit`] decides whether it may take the place of what is served, and the controllers switch
//! between two rounds. [`status`] tells how far it came. [`worker`] runs this again when the Plugin changes or
//! something failed; [`removal`] lets it go; [`unserved`] tells the objects that nothing serves.
//!
//! Guarantees: whatever fails, what is served goes on; one Plugin's trouble is no other's; of two Plugins that claim
//! one kind the older one has it, on every host; status is written by the host that acts, and only when it differs.

mod acquire;
mod admit;
pub mod crd;
mod removal;
pub mod status;
mod teller;
mod unserved;
mod worker;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use futures::{StreamExt, pin_mut};
use kube::api::{Api, ApiResource, DynamicObject};
use kube::core::GroupVersionKind;
use kube::runtime::WatchStreamExt;
use kube::runtime::watcher::{self, Event};
use tokio::sync::watch;
use tokio::task::JoinSet;

pub use acquire::{AcquireError, Acquired, Acquirer};

use crate::controllers::Controllers;
use crate::oci::Digest;
use crate::plugin::Loader;
use crate::reconcile::Rooms;
use worker::Worker;

/// A Plugin as the API server shows it; None once it is gone.
type Shown = Option<Arc<DynamicObject>>;

/// The kind of Plugins.
pub fn plugins() -> ApiResource {
    let kind = GroupVersionKind::gvk("windlass.dev", "v1alpha1", "Plugin");
    ApiResource::from_gvk_with_plural(&kind, "plugins")
}

/// Installs what the Plugins of a cluster say.
pub struct Installer {
    shared: Arc<Shared>,
}

/// What all workers use.
struct Shared {
    rooms: Rooms,
    controllers: Controllers,
    acquirer: Acquirer,
    loader: Loader,
    workers: Mutex<BTreeMap<String, Known>>,
    /// True once all Plugins that there are were listed.
    listed: AtomicBool,
    /// True once each of them was tried.
    settled: watch::Sender<bool>,
}

/// A Plugin that was seen.
struct Known {
    shown: watch::Sender<Shown>,
    /// Counts up to make its worker look again.
    poke: watch::Sender<u64>,
    /// True after its first try, however that ended.
    tried: bool,
    /// What it serves from.
    in_use: BTreeSet<Digest>,
    /// Ends the worker when dropped.
    _worker: JoinSet<()>,
}

impl Installer {
    /// Serves through `controllers` what it acquires and loads.
    pub fn new(rooms: Rooms, controllers: Controllers, acquirer: Acquirer, loader: Loader) -> Self {
        let shared = Shared {
            rooms,
            controllers,
            acquirer,
            loader,
            workers: Mutex::default(),
            listed: AtomicBool::new(false),
            settled: watch::Sender::new(false),
        };
        Self {
            shared: Arc::new(shared),
        }
    }

    /// True once every Plugin that was there at the start was tried.
    pub fn settled(&self) -> watch::Receiver<bool> {
        self.shared.settled.subscribe()
    }

    /// Follows the Plugins until `stop` is done.
    pub async fn run(self, stop: impl Future<Output = ()>) {
        tokio::select! {
            () = self.follow() => {}
            () = stop => {}
        }
    }

    async fn follow(&self) {
        let api: Api<DynamicObject> = Api::all_with(self.shared.rooms.cluster.client(), &plugins());
        let events = watcher::watcher(api, watcher::Config::default()).default_backoff();
        pin_mut!(events);
        let mut listed = BTreeSet::new();
        while let Some(event) = events.next().await {
            match event {
                Ok(Event::Init) => listed.clear(),
                Ok(Event::InitApply(plugin)) => {
                    listed.extend(plugin.metadata.name.clone());
                    self.show(plugin);
                }
                Ok(Event::InitDone) => {
                    self.keep_only(&listed);
                    self.shared.listed.store(true, Ordering::Relaxed);
                    self.shared.settle();
                }
                Ok(Event::Apply(plugin)) => self.show(plugin),
                Ok(Event::Delete(plugin)) => {
                    self.gone(plugin.metadata.name.as_deref().unwrap_or_default());
                }
                Err(error) => tracing::warn!(
                    %error,
                    "failed to watch Plugins; are the CustomResourceDefinition plugins.windlass.dev and the host's roles installed?"
                ),
            }
        }
    }

    fn show(&self, plugin: DynamicObject) {
        let Some(name) = plugin.metadata.name.clone() else {
            return;
        };
        let shown = Some(Arc::new(plugin));
        let mut workers = self.shared.workers();
        match workers.get(&name) {
            Some(known) => {
                known.shown.send_replace(shown);
            }
            None => {
                let known = self.begin(&name, shown);
                workers.insert(name, known);
            }
        }
    }

    fn begin(&self, name: &str, shown: Shown) -> Known {
        let shown = watch::Sender::new(shown);
        let poke = watch::Sender::new(0);
        let worker = Worker::new(
            name.to_owned(),
            self.shared.clone(),
            shown.subscribe(),
            poke.subscribe(),
        );
        let mut task = JoinSet::new();
        task.spawn(worker.run());
        Known {
            shown,
            poke,
            tried: false,
            in_use: BTreeSet::new(),
            _worker: task,
        }
    }

    /// A Plugin that is gone although its finalizer held it was let go by hand: nothing serves it any more.
    fn gone(&self, name: &str) {
        if let Some(known) = self.shared.workers().get(name) {
            known.shown.send_replace(None);
        }
    }

    fn keep_only(&self, listed: &BTreeSet<String>) {
        for (name, known) in &*self.shared.workers() {
            if !listed.contains(name) {
                known.shown.send_replace(None);
            }
        }
    }
}

impl Shared {
    fn workers(&self) -> std::sync::MutexGuard<'_, BTreeMap<String, Known>> {
        self.workers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The first try of this Plugin is over.
    fn tried(&self, name: &str) {
        if let Some(known) = self.workers().get_mut(name) {
            known.tried = true;
        }
        self.settle();
    }

    fn settle(&self) {
        let all_tried = self.workers().values().all(|known| known.tried);
        if all_tried && self.listed.load(Ordering::Relaxed) {
            self.settled.send_replace(true);
        }
    }

    /// Makes all others look again, as when a kind became free.
    fn poke_others(&self, name: &str) {
        for (other, known) in &*self.workers() {
            if other != name {
                known
                    .poke
                    .send_modify(|count| *count = count.wrapping_add(1));
            }
        }
    }

    /// Notes what a Plugin serves from, and lets go of content that nobody serves from when there is too much.
    fn note_in_use(&self, name: &str, digests: BTreeSet<Digest>) {
        let in_use = {
            let mut workers = self.workers();
            if let Some(known) = workers.get_mut(name) {
                known.in_use = digests;
            }
            workers
                .values()
                .flat_map(|known| known.in_use.clone())
                .collect()
        };
        if let Err(error) = self.acquirer.make_room(&in_use) {
            tracing::warn!(%error, "failed to make room for plugins");
        }
    }

    /// Whether the Plugin `one` is older than `other`; of the same age, the first by name.
    fn is_older(&self, one: &str, other: &str) -> bool {
        let workers = self.workers();
        let age = |name: &str| {
            let shown = workers.get(name)?.shown.borrow().clone()?;
            let created = shown.metadata.creation_timestamp.clone();
            Some((created.map(|time| time.0), name.to_owned()))
        };
        match (age(one), age(other)) {
            (Some(one), Some(other)) => one < other,
            (one, _) => one.is_some(),
        }
    }
}
