//! What runs all the time: the router, the controllers, the figures.
//!
//! Guarantees: rounds run only while the lease is held; when it is lost they are dropped where they stand, and
//! their objects wait again. A stand-by watches, so that it begins where it stands. On a graceful stop no new round
//! begins and those in flight may end.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::Duration;

use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::task::JoinSet;

use crate::cache::{Change, Watched};
use crate::controllers::{Controller, Controllers};
use crate::metrics::{Metrics, OfPlugin};
use crate::object::Kind;
use crate::queue::Reason;
use crate::reconcile::Rooms;
use crate::watch::{Router, Serving, State, States, Watchers};

/// How often figures about queues are taken.
const MEASURE_EVERY: Duration = Duration::from_secs(10);

/// Everything that runs.
pub struct Host {
    router: Router,
    changes: UnboundedReceiver<Change>,
    routes: UnboundedReceiver<HashMap<Kind, Serving>>,
    states: States,
    metrics: Metrics,
    controllers: Controllers,
}

impl Host {
    /// Without a plugin yet. `changes` are those of the cache in `rooms`; `watchers` fill it, and `rooms.states` are
    /// theirs.
    pub fn new(rooms: Rooms, changes: UnboundedReceiver<Change>, watchers: Watchers) -> Self {
        let (routed, routes) = unbounded_channel();
        Self {
            router: Router::new(rooms.cache.clone(), rooms.index.clone(), HashMap::new()),
            changes,
            routes,
            states: rooms.states.clone(),
            metrics: rooms.metrics.clone(),
            controllers: Controllers::new(rooms, watchers, routed),
        }
    }

    /// The plugins that it serves, to add, replace and withdraw them while it runs.
    pub fn controllers(&self) -> Controllers {
        self.controllers.clone()
    }

    /// Runs until `stop` is done and rounds in flight have ended.
    pub async fn run(self, stop: impl Future<Output = ()>) {
        let Self {
            router,
            changes,
            routes,
            states,
            metrics,
            controllers,
        } = self;
        let mut background = JoinSet::new();
        background.spawn(route(router, routes, changes));
        background.spawn(tell_availability(states, controllers.clone()));
        background.spawn(measure(metrics, controllers.clone()));
        stop.await;
        controllers.stop().await;
    }
}

async fn route(
    mut router: Router,
    mut routes: UnboundedReceiver<HashMap<Kind, Serving>>,
    mut changes: UnboundedReceiver<Change>,
) {
    loop {
        tokio::select! {
            // First: who begins to serve a kind is told before its objects are shown.
            biased;
            Some(serving) = routes.recv() => router.serve(serving),
            Some(change) = changes.recv() => router.route(&change),
            else => return,
        }
    }
}

/// A kind that came or went changes what plugins may plan.
async fn tell_availability(states: States, controllers: Controllers) {
    let mut changes = states.subscribe();
    let mut before = changes.borrow_and_update().clone();
    while changes.changed().await.is_ok() {
        let after = changes.borrow_and_update().clone();
        for kind in turned(&before, &after) {
            let all = controllers.all();
            let concerned = all
                .iter()
                .filter(|controller| controller.cares_about(&kind));
            concerned.for_each(|controller| {
                controller.wake_all(&Reason::Availability(kind.to_string()));
            });
        }
        before = after;
    }
}

/// Keeps the figures about queues up to date.
async fn measure(metrics: Metrics, controllers: Controllers) {
    let mut ticks = tokio::time::interval(MEASURE_EVERY);
    loop {
        ticks.tick().await;
        controllers
            .all()
            .iter()
            .for_each(|controller| measure_one(&metrics, controller));
    }
}

fn measure_one(metrics: &Metrics, controller: &Controller) {
    let reconciler = controller.reconciler();
    let of = OfPlugin {
        plugin: reconciler.plugin().name().to_owned(),
    };
    let count = |number: usize| i64::try_from(number).unwrap_or(i64::MAX);
    let due = count(controller.queue().depth().due);
    metrics.queued.get_or_create(&of).set(due);
    let objects = count(reconciler.objects().len());
    metrics.objects.get_or_create(&of).set(objects);
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
