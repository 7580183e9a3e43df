//! The bookkeeping of a queue, without a clock or a lock of its own.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::backoff::Backoff;
use super::reason::Reason;
use crate::object::ObjectKey;

/// An object and why it wants a round. Equality is the object's: the reason only tells.
#[derive(Clone, Debug)]
pub struct ReconcileRequest {
    /// The object.
    pub object: Arc<ObjectKey>,
    /// Why.
    pub reason: Reason,
}

impl PartialEq for ReconcileRequest {
    fn eq(&self, other: &Self) -> bool {
        self.object == other.object
    }
}

impl Eq for ReconcileRequest {}

/// What a round says about its object's next one.
#[derive(Clone, Debug)]
pub enum Next {
    /// The object is gone: no further round unless something is added.
    Never,
    /// Again after this long, or earlier when something happens.
    After(Duration, Reason),
    /// It failed: again after a back-off, or earlier when something happens.
    Failed {
        /// Why it is tried again.
        reason: Reason,
        /// However long the back-off is, not later than this.
        at_most: Option<Duration>,
    },
}

impl Next {
    /// Again after a back-off.
    pub fn failed(reason: Reason) -> Self {
        Self::Failed {
            reason,
            at_most: None,
        }
    }
}

#[derive(Debug)]
struct Waiting {
    due: Instant,
    reason: Reason,
}

impl Waiting {
    /// What is due takes its turn in the order of this moment.
    fn turn(&self) -> Instant {
        self.due + self.reason.priority().overtaken_for()
    }
}

#[derive(Debug)]
enum Slot {
    Waiting(Waiting),
    InFlight { behind: Option<Waiting> },
}

/// Everything that waits or is in flight.
#[derive(Debug)]
pub struct Entries {
    slots: HashMap<Arc<ObjectKey>, Slot>,
    later: BTreeSet<(Instant, Arc<ObjectKey>)>,
    /// Ordered by their turn.
    due: BTreeSet<(Instant, Arc<ObjectKey>)>,
    failing: HashMap<Arc<ObjectKey>, Backoff>,
    seed: u64,
}

impl Entries {
    /// Empty; `seed` decides the jitter of back-offs.
    pub fn new(seed: u64) -> Self {
        Self {
            slots: HashMap::new(),
            later: BTreeSet::new(),
            due: BTreeSet::new(),
            failing: HashMap::new(),
            seed,
        }
    }

    /// Wants a round of `object` at `due`, or earlier where it waits already for an earlier time.
    pub fn add(&mut self, object: &Arc<ObjectKey>, reason: Reason, due: Instant) {
        let wanted = Waiting { due, reason };
        match self.slots.remove_entry(object) {
            None => self.wait(object.clone(), wanted),
            Some((object, Slot::Waiting(earlier))) => {
                self.later.remove(&(earlier.due, object.clone()));
                self.due.remove(&(earlier.turn(), object.clone()));
                self.wait(object, merged(earlier, wanted));
            }
            Some((object, Slot::InFlight { behind })) => {
                let behind = Some(match behind {
                    Some(earlier) => merged(earlier, wanted),
                    None => wanted,
                });
                self.slots.insert(object, Slot::InFlight { behind });
            }
        }
    }

    fn wait(&mut self, object: Arc<ObjectKey>, wanted: Waiting) {
        self.later.insert((wanted.due, object.clone()));
        self.slots.insert(object, Slot::Waiting(wanted));
    }

    /// Takes the most urgent entry that is due; its object is in flight until [`Self::finish`].
    pub fn take(&mut self, now: Instant) -> Option<ReconcileRequest> {
        self.ripen(now);
        let (_, object) = self.due.pop_first()?;
        let in_flight = Slot::InFlight { behind: None };
        match self.slots.insert(object.clone(), in_flight) {
            Some(Slot::Waiting(Waiting { reason, .. })) => {
                Some(ReconcileRequest { object, reason })
            }
            other => {
                debug_assert!(false, "{object} is due but is {other:?}");
                None
            }
        }
    }

    /// Moves what has become due to where it is ordered by urgency.
    fn ripen(&mut self, now: Instant) {
        while self.later.first().is_some_and(|(due, _)| *due <= now)
            && let Some((_, object)) = self.later.pop_first()
        {
            if let Some(Slot::Waiting(waiting)) = self.slots.get(&object) {
                self.due.insert((waiting.turn(), object));
            }
        }
    }

    /// When there will be something to take, `now` where there is; None when nothing waits.
    pub fn next_due(&self, now: Instant) -> Option<Instant> {
        match self.due.is_empty() {
            false => Some(now),
            true => self.later.first().map(|(due, _)| *due),
        }
    }

    /// Ends the round of `object`: it waits again as its round says, or for what was added meanwhile.
    pub fn finish(&mut self, object: &Arc<ObjectKey>, next: Next, now: Instant) {
        let behind = match self.slots.remove(object) {
            Some(Slot::InFlight { behind }) => behind,
            _ => None,
        };
        let own = self.next_wish(object, next, now);
        for Waiting { due, reason } in own.into_iter().chain(behind) {
            self.add(object, reason, due);
        }
    }

    fn next_wish(&mut self, object: &Arc<ObjectKey>, next: Next, now: Instant) -> Option<Waiting> {
        let (wait, reason) = match next {
            Next::Failed { reason, at_most } => {
                let wait = self.backoff(object).wait();
                (wait.min(at_most.unwrap_or(wait)), reason)
            }
            Next::After(wait, reason) => {
                self.failing.remove(object);
                (wait, reason)
            }
            Next::Never => {
                self.failing.remove(object);
                return None;
            }
        };
        Some(Waiting {
            due: now + wait,
            reason,
        })
    }

    fn backoff(&mut self, object: &Arc<ObjectKey>) -> &mut Backoff {
        let seed = &mut self.seed;
        self.failing.entry(object.clone()).or_insert_with(|| {
            *seed = seed.wrapping_add(1);
            Backoff::new(*seed)
        })
    }

    /// How many wait for their time or their turn.
    pub fn waiting(&self) -> usize {
        self.later.len() + self.due.len()
    }

    /// How many are due at `now` and not yet taken.
    pub fn due(&self, now: Instant) -> usize {
        self.due.len() + self.later.iter().take_while(|(due, _)| *due <= now).count()
    }
}

/// The earlier time and the more urgent reason of two.
fn merged(one: Waiting, other: Waiting) -> Waiting {
    let due = one.due.min(other.due);
    let reason = match one.reason.priority() <= other.reason.priority() {
        true => one.reason,
        false => other.reason,
    };
    Waiting { due, reason }
}
