//! What waits for a round: deduplicated, in order of urgency, never lost.

pub mod backoff;
pub mod entries;
pub mod reason;
#[cfg(test)]
mod tests;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

pub use entries::{Next, ReconcileRequest};
pub use reason::Reason;

use crate::object::ObjectKey;
use entries::Entries;

/// The queue of one plugin. Cheap to clone; all clones are the same queue.
#[derive(Clone, Debug)]
pub struct Queue {
    entries: Arc<Mutex<Entries>>,
    added: Arc<Notify>,
}

/// How full a queue is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Depth {
    /// Entries whose time has come.
    pub due: usize,
    /// All entries, those for later included.
    pub waiting: usize,
}

impl Queue {
    /// Empty; `seed` decides the jitter of back-offs.
    pub fn new(seed: u64) -> Self {
        Self {
            entries: Arc::new(Mutex::new(Entries::new(seed))),
            added: Arc::default(),
        }
    }

    /// Wants a round of `object`: at once, or for an observation after the time in which others may follow.
    pub fn add(&self, object: &Arc<ObjectKey>, reason: Reason) {
        let wait = reason.patience();
        self.add_after(object, reason, wait);
    }

    /// Wants a round of `object` after `wait`, or earlier where it waits already for an earlier time.
    pub fn add_after(&self, object: &Arc<ObjectKey>, reason: Reason, wait: Duration) {
        self.entries().add(object, reason, Instant::now() + wait);
        self.added.notify_one();
    }

    /// Waits for the most urgent entry that is due. Its object is in flight as long as the ticket lives.
    pub async fn next(&self) -> Ticket {
        loop {
            let (taken, next_due) = {
                let mut entries = self.entries();
                let now = Instant::now();
                (entries.take(now), entries.next_due(now))
            };
            match (taken, next_due) {
                (Some(request), next_due) => {
                    // Two additions may have left one notification: the next waiter looks for itself.
                    if next_due.is_some() {
                        self.added.notify_one();
                    }
                    return Ticket {
                        request,
                        queue: self.clone(),
                        next: None,
                    };
                }
                (None, Some(due)) => {
                    tokio::select! { () = sleep_until(due) => {}, () = self.added.notified() => {} }
                }
                (None, None) => self.added.notified().await,
            }
        }
    }

    /// How full it is.
    pub fn depth(&self) -> Depth {
        let entries = self.entries();
        Depth {
            due: entries.due(Instant::now()),
            waiting: entries.waiting(),
        }
    }

    fn finish(&self, object: &Arc<ObjectKey>, next: Next) {
        self.entries().finish(object, next, Instant::now());
        self.added.notify_one();
    }

    /// No operation panics half-way through a change, so a poisoned lock still guards sound entries.
    fn entries(&self) -> MutexGuard<'_, Entries> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The right to one round of an object. Dropped without [`Ticket::finish`], as in a panic or when the host stops
/// acting, the object waits again as after a failure.
#[derive(Debug)]
pub struct Ticket {
    request: ReconcileRequest,
    queue: Queue,
    next: Option<Next>,
}

impl Ticket {
    /// Whose round, and why.
    pub fn request(&self) -> &ReconcileRequest {
        &self.request
    }

    /// Ends the round.
    pub fn finish(mut self, next: Next) {
        self.next = Some(next);
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        let interrupted = || Next::failed(Reason::Retry("its round was cut short".into()));
        let next = self.next.take().unwrap_or_else(interrupted);
        self.queue.finish(&self.request.object, next);
    }
}
