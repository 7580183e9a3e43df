//! The plugins that are served: each with its queue and its rounds; added, replaced and withdrawn while the host runs.
//!
//! Guarantees: a plugin is replaced between two rounds of each of its objects, and its queue stays, so none is lost
//! and none is done by both; no kind is served by two plugins; what a new version looks at is known before it decides,
//! and what only the old one looked at is let go after.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::{Mutex as AsyncMutex, watch};
use tokio::task::JoinSet;

use crate::cache::Watched;
use crate::cache::selector::NotASelector;
use crate::lease::LeaseGuard;
use crate::object::Kind;
use crate::plugin::Operator;
use crate::plugin::configuration::PluginSpec;
use crate::queue::{Queue, Reason, Ticket};
use crate::reconcile::{Reconciler, Rooms};
use crate::watch::{Allowed, Serving, States, Watchers, wanted};

/// How long rounds in flight get to end when a plugin stops.
const GRACE: Duration = Duration::from_secs(10);

/// How long a new version waits to know what it looks at before it serves with what is known.
const SETTLING: Duration = Duration::from_secs(30);

/// A plugin and how it is served.
#[derive(Clone)]
pub struct Plugged {
    /// The plugin.
    pub plugin: Arc<dyn Operator>,
    /// What the administrator said about it.
    pub spec: PluginSpec,
}

/// Why a plugin is not served.
#[derive(Debug, thiserror::Error)]
pub enum NotServed {
    /// Another plugin serves one of its kinds.
    #[error(
        "{kind} is served by the plugin {by}: two plugins cannot serve one kind; remove one of the two"
    )]
    KindTaken {
        /// The kind.
        kind: Kind,
        /// The plugin that serves it.
        by: String,
    },
    /// Its description bounds a kind by something that is no label selector.
    #[error("its description is wrong: {0}")]
    Selector(#[from] NotASelector),
}

/// A plugin's rounds and what waits for them.
#[derive(Clone)]
pub struct Controller {
    /// The reconciler of today's version; a change of it is news for who runs the rounds.
    current: watch::Sender<Arc<Reconciler>>,
    queue: Queue,
}

/// All controllers. Cheap to clone; all clones are the same.
#[derive(Clone)]
pub struct Controllers(Arc<Inner>);

struct Inner {
    rooms: Rooms,
    watchers: Watchers,
    routes: UnboundedSender<HashMap<Kind, Serving>>,
    running: Mutex<BTreeMap<String, Running>>,
    /// Held while plugins are added, replaced or withdrawn: one at a time.
    changing: AsyncMutex<()>,
}

/// A controller and its task, which ends when this is dropped.
struct Running {
    controller: Controller,
    stop: watch::Sender<bool>,
    task: JoinSet<()>,
}

impl Controllers {
    /// None yet. Which kinds are whose is told to `routes`.
    pub(crate) fn new(
        rooms: Rooms,
        watchers: Watchers,
        routes: UnboundedSender<HashMap<Kind, Serving>>,
    ) -> Self {
        Self(Arc::new(Inner {
            rooms,
            watchers,
            routes,
            running: Mutex::default(),
            changing: AsyncMutex::default(),
        }))
    }

    /// Serves a plugin, in the place of the one of that name if there is one. What it looks at is watched first.
    ///
    /// # Errors
    /// When another plugin serves one of its kinds, or its description holds a wrong selector; then everything stays
    /// as it was.
    pub async fn serve(&self, plugged: Plugged) -> Result<(), NotServed> {
        let _alone = self.0.changing.lock().await;
        self.check_claims(&plugged)?;
        let name = plugged.plugin.name().to_owned();
        let replaced = self.get(&name);
        let (reconciler, queue) = match &replaced {
            Some(controller) => {
                let old = controller.reconciler();
                let new = old.succeeded_by(plugged.plugin, plugged.spec);
                (Arc::new(new), controller.queue.clone())
            }
            None => self.first(plugged),
        };
        let mut reconcilers = self.reconcilers();
        reconcilers.insert(name.clone(), (reconciler.clone(), queue.clone()));
        let wanted = watched(&reconcilers);
        // Before the watchers begin: what they show first is not to be missed.
        self.route(&reconcilers);
        if let Err(error) = self.0.watchers.add(&wanted) {
            self.route(&self.reconcilers());
            return Err(error.into());
        }
        match replaced {
            Some(controller) => {
                let states = self.0.watchers.states();
                let kinds = looks_at(&reconciler);
                if tokio::time::timeout(SETTLING, states.settled(&kinds))
                    .await
                    .is_err()
                {
                    tracing::warn!(
                        plugin = name,
                        "what the new version looks at is not known yet"
                    );
                }
                controller.current.send_replace(reconciler);
            }
            None => self.start(name, reconciler, queue),
        }
        self.0.watchers.keep_only(&wanted);
        Ok(())
    }

    /// Serves a plugin no longer: its rounds in flight end, and its objects are left alone.
    pub async fn withdraw(&self, name: &str) {
        let _alone = self.0.changing.lock().await;
        let Some(running) = self.running().remove(name) else {
            return;
        };
        let reconciler = running.controller.reconciler();
        running.ended().await;
        let reconcilers = self.reconcilers();
        self.route(&reconcilers);
        for object in reconciler.objects() {
            reconciler.forget_object(&object);
        }
        let wanted = watched(&reconcilers);
        // Narrower ones that a watcher of this plugin covered.
        if let Err(error) = self.0.watchers.add(&wanted) {
            tracing::error!(%error, "failed to watch for the plugins that remain");
        }
        self.0.watchers.keep_only(&wanted);
    }

    /// The controller of that plugin.
    pub fn get(&self, name: &str) -> Option<Controller> {
        let running = self.running();
        running.get(name).map(|running| running.controller.clone())
    }

    /// All controllers, by their plugins' names.
    pub fn all(&self) -> Vec<Controller> {
        let running = self.running();
        running
            .values()
            .map(|running| running.controller.clone())
            .collect()
    }

    /// Ends all rounds: no new one begins, and those in flight may end.
    pub(crate) async fn stop(&self) {
        let _alone = self.0.changing.lock().await;
        let running = std::mem::take(&mut *self.running());
        futures::future::join_all(running.into_values().map(Running::ended)).await;
    }

    fn check_claims(&self, plugged: &Plugged) -> Result<(), NotServed> {
        let kinds = plugged.plugin.description().kinds();
        for (name, running) in &*self.running() {
            let theirs = running.controller.reconciler();
            let claimed = theirs.plugin().description().kinds();
            if name != plugged.plugin.name()
                && let Some(kind) = kinds.intersection(&claimed).next()
            {
                return Err(NotServed::KindTaken {
                    kind: kind.clone(),
                    by: name.clone(),
                });
            }
        }
        Ok(())
    }

    fn first(&self, plugged: Plugged) -> (Arc<Reconciler>, Queue) {
        let rooms = self.0.rooms.clone();
        let mut seed = [0; 8];
        rooms.entropy.fill(&mut seed);
        let queue = Queue::new(u64::from_le_bytes(seed));
        let reconciler = Reconciler::new(plugged.plugin, plugged.spec, rooms, queue.clone());
        (Arc::new(reconciler), queue)
    }

    fn start(&self, name: String, reconciler: Arc<Reconciler>, queue: Queue) {
        let controller = Controller {
            current: watch::Sender::new(reconciler),
            queue,
        };
        let (stop, stopped) = watch::channel(false);
        let mut task = JoinSet::new();
        task.spawn(controller.clone().run(
            self.0.watchers.states(),
            self.0.rooms.lease.clone(),
            stopped,
        ));
        let running = Running {
            controller,
            stop,
            task,
        };
        self.running().insert(name, running);
    }

    fn route(&self, reconcilers: &BTreeMap<String, (Arc<Reconciler>, Queue)>) {
        let serving = reconcilers.values().flat_map(|(reconciler, queue)| {
            let serving = Serving {
                queue: queue.clone(),
                namespaces: reconciler.spec().namespaces.clone(),
            };
            let kinds = reconciler.plugin().description().kinds();
            kinds.into_iter().map(move |kind| (kind, serving.clone()))
        });
        // Nobody routes while the host stops.
        let _ = self.0.routes.send(serving.collect());
    }

    fn reconcilers(&self) -> BTreeMap<String, (Arc<Reconciler>, Queue)> {
        let running = self.running();
        let of = |Running { controller, .. }: &Running| {
            (controller.reconciler(), controller.queue.clone())
        };
        running
            .iter()
            .map(|(name, running)| (name.clone(), of(running)))
            .collect()
    }

    fn running(&self) -> MutexGuard<'_, BTreeMap<String, Running>> {
        self.0
            .running
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl Running {
    async fn ended(mut self) {
        // The receiver lives in the task until it ends.
        let _ = self.stop.send(true);
        while self.task.join_next().await.is_some() {}
    }
}

/// The watches that these plugins need together.
fn watched(reconcilers: &BTreeMap<String, (Arc<Reconciler>, Queue)>) -> BTreeSet<Watched> {
    wanted(reconcilers.values().map(|(reconciler, _)| Allowed {
        description: reconciler.plugin().description(),
        grants: &reconciler.spec().grants,
        namespaces: &reconciler.spec().namespaces,
    }))
}

/// All kinds whose objects its rounds look at.
fn looks_at(reconciler: &Reconciler) -> BTreeSet<Kind> {
    let grants = reconciler.spec().grants.iter();
    let granted = grants.filter_map(|grant| grant.kind().cloned());
    granted
        .chain(reconciler.plugin().description().kinds())
        .collect()
}

/// Why the rounds of a controller ended.
enum Ended {
    Stopped,
    Suspended,
}

impl Controller {
    /// Runs the rounds of today's version.
    pub fn reconciler(&self) -> Arc<Reconciler> {
        self.current.borrow().clone()
    }

    /// What waits.
    pub fn queue(&self) -> &Queue {
        &self.queue
    }

    /// Whether its rounds look at objects of `kind`.
    pub(crate) fn cares_about(&self, kind: &Kind) -> bool {
        looks_at(&self.reconciler()).contains(kind)
    }

    pub(crate) fn wake_all(&self, reason: &Reason) {
        for object in self.reconciler().objects() {
            self.queue.add(&object, reason.clone());
        }
    }

    /// Runs rounds whenever the lease is held, until `stopped`. Those of a plugin that is suspended only tell people so.
    async fn run(self, states: States, mut lease: LeaseGuard, mut stopped: watch::Receiver<bool>) {
        loop {
            tokio::select! {
                () = lease.acquired() => {}
                () = stop_asked(&mut stopped) => return,
            }
            let mut rounds = JoinSet::new();
            let ended = tokio::select! {
                ended = self.act(&states, &mut rounds, &mut stopped) => Some(ended),
                () = lease.lost() => None,
            };
            rounds.shutdown().await;
            self.reconciler().forget_all();
            match ended {
                Some(Ended::Stopped) => return,
                Some(Ended::Suspended) => {}
                None => tracing::warn!(
                    plugin = self.reconciler().plugin().name(),
                    "the lease is lost: rounds in flight were dropped"
                ),
            }
        }
    }

    /// Runs rounds until `stopped`, or suspended from now on. Whoever drops the future ends the rounds in flight.
    async fn act(
        &self,
        states: &States,
        rounds: &mut JoinSet<()>,
        stopped: &mut watch::Receiver<bool>,
    ) -> Ended {
        let mut current = self.current.subscribe();
        let mut suspended = self.reconciler().spec().suspended;
        let kinds = looks_at(&self.reconciler());
        tokio::select! {
            () = states.settled(&kinds) => {}
            () = stop_asked(stopped) => return Ended::Stopped,
        }
        self.wake_all(&Reason::Started);
        let ended = loop {
            let reconciler = self.reconciler();
            let at_once =
                usize::try_from(reconciler.spec().concurrency.get()).unwrap_or(usize::MAX);
            tokio::select! {
                ticket = self.queue.next(), if rounds.len() < at_once => {
                    rounds.spawn(round(self.reconciler(), ticket));
                }
                Some(ended) = rounds.join_next() => log_panic(ended),
                // The sender lives in `self`.
                _ = current.changed() => {
                    let before = std::mem::replace(&mut suspended, self.reconciler().spec().suspended);
                    // What runs for its objects ends first; then they are told.
                    if suspended && !before {
                        break Ended::Suspended;
                    }
                    self.wake_all(&Reason::Switched);
                }
                () = stop_asked(stopped) => break Ended::Stopped,
            }
        };
        let ending = async { while rounds.join_next().await.is_some() {} };
        if tokio::time::timeout(GRACE, ending).await.is_err() {
            tracing::warn!("rounds in flight did not end in time and are dropped");
        }
        ended
    }
}

async fn round(reconciler: Arc<Reconciler>, ticket: Ticket) {
    let next = reconciler.round(ticket.request()).await;
    ticket.finish(next);
}

/// A round that panics is a fault of the host's: the object waits again, and the log tells.
fn log_panic(ended: Result<(), tokio::task::JoinError>) {
    if let Err(error) = ended {
        tracing::error!(%error, "a round panicked; its object is tried again");
    }
}

async fn stop_asked(stopped: &mut watch::Receiver<bool>) {
    // The sender lives until the controller has ended.
    let _ = stopped.wait_for(|stopped| *stopped).await;
}
