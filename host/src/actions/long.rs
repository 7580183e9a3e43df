//! Long actions: they run beside the rounds, one for each key of an object.
//!
//! Flow: a round starts one; it runs on its own, and its end wakes the object; the round that is woken takes the
//! outcome. While it runs, each round is told so.
//! Guarantees: of one object no two run under one key; an end is told once, unless the host ended before; whoever
//! stops acting stops them all.
//! Caveats: what runs is known in memory only, and closing a connection does not end what the server is doing.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::task::AbortHandle;

use crate::object::Object;
use crate::plugin::bindings::{Outcome, Running};
use crate::queue::{Queue, Reason};

/// The long actions of one plugin's objects. Cheap to clone; all clones are the same.
#[derive(Clone)]
pub struct LongActions {
    queue: Queue,
    /// By the object's uid, then by key.
    known: Arc<Mutex<BTreeMap<String, BTreeMap<String, Entry>>>>,
}

/// One that runs, or has ended and was not yet told.
struct Entry {
    since: u64,
    state: State,
}

enum State {
    Runs(AbortHandle),
    Ended(Outcome),
}

impl LongActions {
    /// None yet; their ends wake objects through `queue`.
    pub fn new(queue: Queue) -> Self {
        Self {
            queue,
            known: Arc::default(),
        }
    }

    /// Starts `work` for `owner`, unless there is one under its key that runs or was not yet told; says whether it
    /// did.
    pub fn start(
        &self,
        owner: &Object,
        key: &str,
        now: u64,
        work: impl Future<Output = Outcome> + Send + 'static,
    ) -> bool {
        let mut known = self.known();
        let of_object = known.entry(owner.uid.clone()).or_default();
        if of_object.contains_key(key) {
            return false;
        }
        // It cannot come to its end before it is entered: the lock is held.
        let task = tokio::spawn(self.clone().run(owner.clone(), key.to_owned(), work));
        let entry = Entry {
            since: now,
            state: State::Runs(task.abort_handle()),
        };
        of_object.insert(key.to_owned(), entry);
        true
    }

    async fn run(self, owner: Object, key: String, work: impl Future<Output = Outcome>) {
        let outcome = work.await;
        let is_known = self.end(&owner.uid, &key, outcome);
        // Forgotten meanwhile: nobody is left to be told.
        if is_known {
            self.queue
                .add(&Arc::new(owner.key), Reason::LongActionEnded(key));
        }
    }

    fn end(&self, uid: &str, key: &str, outcome: Outcome) -> bool {
        let mut known = self.known();
        let entry = known
            .get_mut(uid)
            .and_then(|of_object| of_object.get_mut(key));
        match entry {
            Some(entry) => {
                entry.state = State::Ended(outcome);
                true
            }
            None => false,
        }
    }

    /// Those that run for the object of this uid, by key.
    pub fn running(&self, uid: &str) -> Vec<Running> {
        let known = self.known();
        let of_object = known.get(uid).into_iter().flatten();
        of_object
            .filter(|(_, entry)| matches!(entry.state, State::Runs(_)))
            .map(|(key, entry)| Running {
                key: key.clone(),
                since: entry.since,
            })
            .collect()
    }

    /// Takes the outcomes of those that ended: from now on their keys are free again.
    pub fn ended(&self, uid: &str) -> Vec<Outcome> {
        let mut known = self.known();
        let mut outcomes = Vec::new();
        if let Some(of_object) = known.get_mut(uid) {
            of_object.retain(|_, entry| match &entry.state {
                State::Runs(_) => true,
                State::Ended(outcome) => {
                    outcomes.push(outcome.clone());
                    false
                }
            });
        }
        known.retain(|_, of_object| !of_object.is_empty());
        outcomes
    }

    /// Stops those of an object that is gone.
    pub fn forget(&self, uid: &str) {
        let gone = self.known().remove(uid);
        gone.into_iter()
            .flatten()
            .for_each(|(_, entry)| entry.stop());
    }

    /// Stops all of them: this host acts no more.
    pub fn forget_all(&self) {
        let all = std::mem::take(&mut *self.known());
        let entries = all.into_values().flatten();
        entries.for_each(|(_, entry)| entry.stop());
    }

    /// No operation panics half-way through a change, so a poisoned lock still guards sound entries.
    fn known(&self) -> MutexGuard<'_, BTreeMap<String, BTreeMap<String, Entry>>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Entry {
    /// A task that is dropped closes its connection.
    fn stop(&self) {
        if let State::Runs(task) = &self.state {
            task.abort();
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use tokio::sync::oneshot;

    use super::*;
    use crate::cache::tests::object;
    use crate::plugin::bindings::Ended;

    fn owner() -> Object {
        let meta = json!({"metadata": {"name": "a", "namespace": "default", "uid": "u-1"}});
        object("example.com/v1", "Thing", meta)
    }

    fn outcome() -> Outcome {
        Outcome {
            id: "rebuild".into(),
            ended: Ended::Unknown,
        }
    }

    /// Work that ends when it is told to.
    fn work() -> (oneshot::Sender<()>, impl Future<Output = Outcome>) {
        let (end, ended) = oneshot::channel();
        let work = async move {
            drop(ended.await);
            outcome()
        };
        (end, work)
    }

    #[tokio::test]
    async fn a_key_runs_once_until_its_end_was_told() {
        let queue = Queue::new(1);
        let long = LongActions::new(queue.clone());
        let (end, first) = work();
        assert!(long.start(&owner(), "clone", 7, first));
        assert!(!long.start(&owner(), "clone", 8, work().1));
        assert!(long.start(&owner(), "upgrade", 9, std::future::pending()));
        let running: Vec<_> = long
            .running("u-1")
            .into_iter()
            .map(|it| (it.key, it.since))
            .collect();
        assert_eq!(
            running,
            [("clone".to_owned(), 7), ("upgrade".to_owned(), 9)]
        );
        assert_eq!(long.ended("u-1"), []);
        end.send(()).unwrap();
        let woken = queue.next().await;
        assert_eq!(woken.request().object.name, "a");
        assert_eq!(
            woken.request().reason,
            Reason::LongActionEnded("clone".into())
        );
        assert!(
            !long.start(&owner(), "clone", 10, work().1),
            "its end was not told"
        );
        assert_eq!(long.running("u-1").len(), 1);
        assert_eq!(long.ended("u-1"), [outcome()]);
        assert_eq!(long.ended("u-1"), []);
        assert!(long.start(&owner(), "clone", 11, work().1));
    }

    #[tokio::test]
    async fn what_is_forgotten_is_dropped_where_it_stands_and_wakes_nobody() {
        let queue = Queue::new(1);
        let long = LongActions::new(queue.clone());
        let (end, first) = work();
        let (end_of_other, second) = work();
        assert!(long.start(&owner(), "clone", 7, first));
        let mut other = owner();
        other.uid = "u-2".into();
        assert!(long.start(&other, "clone", 7, second));
        long.forget("u-1");
        let mut end = end;
        end.closed().await;
        assert_eq!(long.running("u-2").len(), 1);
        long.forget_all();
        let mut end_of_other = end_of_other;
        end_of_other.closed().await;
        assert_eq!(queue.depth().waiting, 0);
    }
}
