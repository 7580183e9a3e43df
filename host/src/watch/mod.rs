//! All watchers: what is watched, and in which state each watch is.

mod index;
mod interest;
mod router;
mod wanted;
mod watcher;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::watch;
use tokio::task::JoinSet;

pub use index::Index;
pub use interest::Interest;
pub use router::{Router, Serving};
pub use wanted::{Allowed, between_owner_and_pods, wanted};

use crate::cache::{Cache, Watched};
use crate::cluster::Cluster;
use crate::object::Kind;
use watcher::Watcher;

/// How a watch stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// Its first list is not complete.
    Starting,
    /// The cache knows what it watches.
    Synced,
    /// Its kind is not served, or may not be watched: why. It is waited for.
    Unavailable(String),
}

/// The states of all watches. Cheap to clone; all clones are the same states.
#[derive(Clone, Debug)]
pub struct States(Arc<watch::Sender<BTreeMap<Watched, State>>>);

impl States {
    fn new() -> Self {
        Self(Arc::new(watch::Sender::new(BTreeMap::new())))
    }

    /// Says whether that was news.
    fn set(&self, watched: &Watched, state: State) -> bool {
        self.0.send_if_modified(|states| {
            let news = states.get(watched) != Some(&state);
            states.insert(watched.clone(), state);
            news
        })
    }

    /// Whether objects of this kind can be asked about: it is watched, and all watches of it are synced.
    pub fn is_synced(&self, kind: &Kind) -> bool {
        let states = self.0.borrow();
        let mut of_kind = states
            .iter()
            .filter(|(watched, _)| watched.kind == *kind)
            .peekable();
        of_kind.peek().is_some() && of_kind.all(|(_, state)| *state == State::Synced)
    }

    /// Whether this kind is known not to be there, or may not be watched.
    pub fn is_unavailable(&self, kind: &Kind) -> bool {
        let states = self.0.borrow();
        let mut of_kind = states.iter().filter(|(watched, _)| watched.kind == *kind);
        of_kind.any(|(_, state)| matches!(state, State::Unavailable(_)))
    }

    fn forget(&self, watched: &Watched) {
        self.0
            .send_if_modified(|states| states.remove(watched).is_some());
    }

    fn of(&self, watched: &Watched) -> Option<State> {
        self.0.borrow().get(watched).cloned()
    }

    /// Whether every watch is synced or known to be unavailable.
    pub fn is_settled(&self) -> bool {
        self.0
            .borrow()
            .values()
            .all(|state| *state != State::Starting)
    }

    /// Waits until every watch of these kinds is synced or known to be unavailable.
    pub async fn settled(&self, kinds: &BTreeSet<Kind>) {
        let mut changes = self.0.subscribe();
        let settled = |states: &BTreeMap<Watched, State>| {
            let mut concerned = states
                .iter()
                .filter(|(watched, _)| kinds.contains(&watched.kind));
            concerned.all(|(_, state)| *state != State::Starting)
        };
        // The sender lives as long as `self`.
        let _ = changes.wait_for(settled).await;
    }

    /// Which of these kinds can be asked about, now and after each change.
    pub fn subscribe(&self) -> watch::Receiver<BTreeMap<Watched, State>> {
        self.0.subscribe()
    }

    /// Why watches are unavailable.
    pub fn troubles(&self) -> BTreeMap<Watched, String> {
        let trouble = |(watched, state): (&Watched, &State)| match state {
            State::Unavailable(why) => Some((watched.clone(), why.clone())),
            State::Starting | State::Synced => None,
        };
        self.0.borrow().iter().filter_map(trouble).collect()
    }
}

/// All watchers; dropped, they end. Cheap to clone; all clones are the same.
#[derive(Clone)]
pub struct Watchers {
    cluster: Cluster,
    cache: Cache,
    states: States,
    /// Each in a set of its own, which ends it when dropped.
    running: Arc<Mutex<BTreeMap<Watched, JoinSet<()>>>>,
}

impl Watchers {
    /// None yet; what they tell goes into `cache`.
    pub fn new(cluster: Cluster, cache: Cache) -> Self {
        Self {
            cluster,
            cache,
            states: States::new(),
            running: Arc::default(),
        }
    }

    /// Starts to watch what is not watched yet.
    ///
    /// # Errors
    /// When a selector is none; nothing is started then.
    pub fn add(
        &self,
        wanted: &BTreeSet<Watched>,
    ) -> Result<(), crate::cache::selector::NotASelector> {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        let new: Vec<_> = wanted
            .iter()
            .filter(|watched| !running.contains_key(*watched))
            .collect();
        new.iter()
            .try_for_each(|watched| self.cache.open(watched))?;
        for watched in new {
            self.states.set(watched, State::Starting);
            let watcher = Watcher {
                cluster: self.cluster.clone(),
                cache: self.cache.clone(),
                watched: watched.clone(),
                states: self.states.clone(),
            };
            let mut task = JoinSet::new();
            task.spawn(watcher.run());
            running.insert(watched.clone(), task);
        }
        Ok(())
    }

    /// Ends all watches but these, and lets go of what only they showed.
    pub fn keep_only(&self, wanted: &BTreeSet<Watched>) {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        running.retain(|watched, _| wanted.contains(watched));
        for watched in self.cache.close_all_but(wanted) {
            self.states.forget(&watched);
        }
    }

    /// The states of all watches.
    pub fn states(&self) -> States {
        self.states.clone()
    }
}
