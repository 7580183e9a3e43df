//! All watchers: what is watched, and in which state each watch is.

mod index;
mod interest;
mod router;
mod wanted;
mod watcher;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

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
    fn new(watched: &BTreeSet<Watched>) -> Self {
        let states = watched
            .iter()
            .map(|watched| (watched.clone(), State::Starting))
            .collect();
        Self(Arc::new(watch::Sender::new(states)))
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

/// All watchers; dropped, they end.
#[derive(Debug)]
pub struct Watchers {
    states: States,
    _running: JoinSet<()>,
}

impl Watchers {
    /// Starts to watch.
    ///
    /// # Errors
    /// When a selector is none.
    pub fn start(
        cluster: &Cluster,
        cache: &Cache,
        watched: &BTreeSet<Watched>,
    ) -> Result<Self, crate::cache::selector::NotASelector> {
        watched.iter().try_for_each(|watched| cache.open(watched))?;
        let states = States::new(watched);
        let mut running = JoinSet::new();
        for watched in watched {
            let watcher = Watcher {
                cluster: cluster.clone(),
                cache: cache.clone(),
                watched: watched.clone(),
                states: states.clone(),
            };
            running.spawn(watcher.run());
        }
        Ok(Self {
            states,
            _running: running,
        })
    }

    /// The states of all watches.
    pub fn states(&self) -> States {
        self.states.clone()
    }
}
