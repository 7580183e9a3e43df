//! Wires the rooms and runs them: watchers, the router, one loop of rounds for each plugin.
//!
//! Guarantees: rounds run only while the lease is held; when it is lost they are dropped where they stand, and
//! their objects wait again. A stand-by watches, so that it begins where it stands. On a graceful stop no new round
//! begins and those in flight may end.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc::UnboundedReceiver;
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::cache::{Change, Watched};
use crate::lease::LeaseGuard;
use crate::metrics::{Metrics, OfPlugin};
use crate::object::Kind;
use crate::plugin::Operator;
use crate::plugin::configuration::PluginSpec;
use crate::queue::{Queue, Reason, Ticket};
use crate::reconcile::{Reconciler, Rooms};
use crate::watch::{Router, Serving, State, States, Watchers};

/// How long rounds in flight get to end when the host stops.
const GRACE: Duration = Duration::from_secs(10);

/// How often figures about queues are taken.
const MEASURE_EVERY: Duration = Duration::from_secs(10);

/// A plugin and how it is served.
#[derive(Clone)]
pub struct Plugged {
    /// The plugin.
    pub plugin: Arc<dyn Operator>,
    /// What the administrator said about it.
    pub spec: PluginSpec,
}

/// A plugin's rounds and what waits for them.
#[derive(Clone)]
pub struct Controller {
    /// Runs its rounds.
    pub reconciler: Arc<Reconciler>,
    /// What waits.
    pub queue: Queue,
}

/// Everything that runs. `changes` are those of the cache in `rooms`; `watchers` fill it.
pub struct Host {
    rooms: Rooms,
    controllers: Vec<Controller>,
    changes: UnboundedReceiver<Change>,
    watchers: Watchers,
}

impl Host {
    /// Puts the plugins' controllers beside the rooms. Watching has begun already: `rooms.states` are the
    /// watchers'.
    pub fn new(
        rooms: Rooms,
        plugins: Vec<Plugged>,
        changes: UnboundedReceiver<Change>,
        watchers: Watchers,
    ) -> Self {
        let controller = |Plugged { plugin, spec }: Plugged| {
            let mut seed = [0; 8];
            rooms.entropy.fill(&mut seed);
            let queue = Queue::new(u64::from_le_bytes(seed));
            let reconciler = Reconciler::new(plugin, spec, rooms.clone(), queue.clone());
            Controller {
                reconciler: Arc::new(reconciler),
                queue,
            }
        };
        let controllers = plugins.into_iter().map(controller).collect();
        Self {
            rooms,
            controllers,
            changes,
            watchers,
        }
    }

    /// The plugins' controllers, for whoever tells about them.
    pub fn controllers(&self) -> Vec<Controller> {
        self.controllers.clone()
    }

    /// Runs until `stop` is done and rounds in flight have ended.
    pub async fn run(self, stop: impl Future<Output = ()>) {
        let Self {
            rooms,
            controllers,
            changes,
            watchers,
        } = self;
        let (stopping, stopped) = watch::channel(false);
        let mut background = JoinSet::new();
        background.spawn(route(router(&rooms, &controllers), changes));
        background.spawn(tell_availability(rooms.states.clone(), controllers.clone()));
        background.spawn(measure(rooms.metrics.clone(), controllers.clone()));
        let mut running = JoinSet::new();
        for controller in controllers {
            running.spawn(controller.run(
                rooms.states.clone(),
                rooms.lease.clone(),
                stopped.clone(),
            ));
        }
        stop.await;
        // Receivers live in the controllers until they end.
        let _ = stopping.send(true);
        while running.join_next().await.is_some() {}
        drop(watchers);
    }
}

fn router(rooms: &Rooms, controllers: &[Controller]) -> Router {
    let serving = controllers.iter().flat_map(|controller| {
        let namespaces = &controller.reconciler.spec().namespaces;
        let serving = Serving {
            queue: controller.queue.clone(),
            namespaces: namespaces.clone(),
        };
        controller
            .kinds()
            .into_iter()
            .map(move |kind| (kind, serving.clone()))
    });
    Router::new(
        rooms.cache.clone(),
        rooms.index.clone(),
        serving.collect::<HashMap<_, _>>(),
    )
}

async fn route(mut router: Router, mut changes: UnboundedReceiver<Change>) {
    while let Some(change) = changes.recv().await {
        router.route(&change);
    }
}

/// A kind that came or went changes what plugins may plan.
async fn tell_availability(states: States, controllers: Vec<Controller>) {
    let mut changes = states.subscribe();
    let mut before = changes.borrow_and_update().clone();
    while changes.changed().await.is_ok() {
        let after = changes.borrow_and_update().clone();
        for kind in turned(&before, &after) {
            let concerned = |controller: &&Controller| controller.cares_about(&kind);
            controllers.iter().filter(concerned).for_each(|controller| {
                controller.wake_all(&Reason::Availability(kind.to_string()));
            });
        }
        before = after;
    }
}

/// Keeps the figures about queues up to date.
async fn measure(metrics: Metrics, controllers: Vec<Controller>) {
    let mut ticks = tokio::time::interval(MEASURE_EVERY);
    loop {
        ticks.tick().await;
        for Controller { reconciler, queue } in &controllers {
            let of = OfPlugin {
                plugin: reconciler.plugin().name().to_owned(),
            };
            let count = |number: usize| i64::try_from(number).unwrap_or(i64::MAX);
            metrics
                .queued
                .get_or_create(&of)
                .set(count(queue.depth().due));
            metrics
                .objects
                .get_or_create(&of)
                .set(count(reconciler.objects().len()));
        }
    }
}

/// The kinds that became available or ceased to be. A first list that completes is neither.
fn turned(before: &BTreeMap<Watched, State>, after: &BTreeMap<Watched, State>) -> BTreeSet<Kind> {
    let gone = |state: Option<&State>| matches!(state, Some(State::Unavailable(_)));
    after
        .iter()
        .filter(|(watched, state)| gone(before.get(*watched)) != gone(Some(*state)))
        .map(|(watched, _)| watched.kind.clone())
        .collect()
}

impl Controller {
    /// The kinds that it serves.
    fn kinds(&self) -> Vec<Kind> {
        let serves = &self.reconciler.plugin().description().serves;
        serves.iter().map(|served| served.kind.clone()).collect()
    }

    /// All kinds whose objects its rounds look at.
    fn looks_at(&self) -> BTreeSet<Kind> {
        let granted = self
            .reconciler
            .spec()
            .grants
            .iter()
            .filter_map(|grant| grant.kind().cloned());
        granted.chain(self.kinds()).collect()
    }

    fn cares_about(&self, kind: &Kind) -> bool {
        self.looks_at().contains(kind)
    }

    fn wake_all(&self, reason: &Reason) {
        for object in self.reconciler.objects() {
            self.queue.add(&object, reason.clone());
        }
    }

    /// Runs rounds whenever the lease is held, until `stopped`.
    async fn run(self, states: States, mut lease: LeaseGuard, mut stopped: watch::Receiver<bool>) {
        if self.reconciler.spec().suspended {
            return;
        }
        loop {
            tokio::select! {
                () = lease.acquired() => {}
                () = stop_asked(&mut stopped) => return,
            }
            let mut rounds = JoinSet::new();
            tokio::select! {
                () = self.act(&states, &mut rounds, &mut stopped) => {
                    self.reconciler.forget_all();
                    return;
                }
                () = lease.lost() => {}
            }
            rounds.shutdown().await;
            self.reconciler.forget_all();
            tracing::warn!(
                plugin = self.reconciler.plugin().name(),
                "the lease is lost: rounds in flight were dropped"
            );
        }
    }

    /// Runs rounds until `stopped`. Whoever drops the future ends the rounds in flight.
    async fn act(
        &self,
        states: &States,
        rounds: &mut JoinSet<()>,
        stopped: &mut watch::Receiver<bool>,
    ) {
        let kinds = self.looks_at();
        tokio::select! {
            () = states.settled(&kinds) => {}
            () = stop_asked(stopped) => return,
        }
        self.wake_all(&Reason::Started);
        let at_once =
            usize::try_from(self.reconciler.spec().concurrency.get()).unwrap_or(usize::MAX);
        loop {
            tokio::select! {
                ticket = self.queue.next(), if rounds.len() < at_once => {
                    rounds.spawn(round(self.reconciler.clone(), ticket));
                }
                Some(ended) = rounds.join_next() => log_panic(ended),
                () = stop_asked(stopped) => break,
            }
        }
        let ending = async { while rounds.join_next().await.is_some() {} };
        if tokio::time::timeout(GRACE, ending).await.is_err() {
            tracing::warn!("rounds in flight did not end in time and are dropped");
        }
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
    // The sender lives until all controllers have ended.
    let _ = stopped.wait_for(|stopped| *stopped).await;
}
