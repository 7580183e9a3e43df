//! What the last rounds of each object saw, decided and did, in memory, for `windlass explain`.
//!
//! Guarantees: no secret value is remembered: facts are masked before they get here, and of a command's arguments
//! those that hold a secret are left out. Rounds that did nothing new are counted, not repeated.

mod describe;

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};

pub use describe::{
    describe_action, describe_answer, describe_outcome, describe_question, describe_running,
};

use crate::object::ObjectKey;

/// How many rounds of an object are remembered.
const ROUNDS: usize = 20;

/// What one round saw, decided and did.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Round {
    /// Names it in logs and conditions.
    pub id: String,
    /// When it began, in milliseconds since the epoch; of repeated rounds the last.
    pub at: u64,
    /// How long it took, in microseconds.
    pub took: u64,
    /// Why the object was looked at.
    pub reason: String,
    /// The object's version that it saw.
    pub resource_version: String,
    /// The spec's generation that it saw.
    pub generation: i64,
    /// How often the plugin was called.
    pub calls: u32,
    /// What the plugin was told about.
    pub asked: Vec<Asked>,
    /// What it was told of earlier actions.
    pub told: Vec<String>,
    /// What it decided; None when it did not come to that.
    pub plan: Option<Planned>,
    /// What the host changed, in order.
    pub changed: Vec<String>,
    /// How its actions ended.
    pub outcomes: Vec<String>,
    /// How it ended: `in step`, `changed`, or what went wrong.
    pub ended: String,
    /// How many rounds before it were like it.
    pub repeated: u32,
}

/// A question and its answer, in short.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Asked {
    /// The stage.
    pub stage: u32,
    /// Such as `objects v1/Pod app=a`.
    pub question: String,
    /// Such as `3 objects`.
    pub answer: String,
}

/// A plan, in short.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Planned {
    /// The children that should exist.
    pub children: Vec<String>,
    /// The conditions that its status has, as `Ready=False NotEnoughPods: 1 of 3 Pods are ready`.
    #[serde(default)]
    pub conditions: Vec<String>,
    /// What of the spec is not followed.
    pub refusals: Vec<String>,
    /// Actions, in order.
    pub actions: Vec<String>,
    /// When to look again, in milliseconds.
    pub requeue_after: Option<u64>,
}

impl Round {
    /// Whether `later` saw, decided and did the same, which was nothing.
    fn is_repeated_by(&self, later: &Self) -> bool {
        let Self {
            asked,
            told,
            plan,
            changed,
            outcomes,
            ended,
            generation,
            ..
        } = self;
        changed.is_empty()
            && later.changed.is_empty()
            && *generation == later.generation
            && (asked, told, plan, outcomes, ended)
                == (
                    &later.asked,
                    &later.told,
                    &later.plan,
                    &later.outcomes,
                    &later.ended,
                )
    }
}

/// The last rounds of all objects. Cheap to clone; all clones are the same memory.
#[derive(Clone, Debug, Default)]
pub struct History(Arc<Mutex<HashMap<Arc<ObjectKey>, VecDeque<Round>>>>);

/// The rounds of one object.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Explained {
    /// The object.
    pub object: String,
    /// Oldest first.
    pub rounds: Vec<Round>,
}

impl History {
    /// Remembers a round.
    pub fn push(&self, object: &Arc<ObjectKey>, mut round: Round) {
        let mut objects = self.objects();
        let rounds = objects.entry(object.clone()).or_default();
        if let Some(last) = rounds.back_mut()
            && last.is_repeated_by(&round)
        {
            round.repeated = last.repeated.saturating_add(1);
            *last = round;
            return;
        }
        if rounds.len() == ROUNDS {
            rounds.pop_front();
        }
        rounds.push_back(round);
    }

    /// Forgets an object that is gone.
    pub fn forget(&self, object: &ObjectKey) {
        self.objects().remove(object);
    }

    /// The rounds of the objects of this name, in one namespace or, with None, in any. `kind` is a kind's name in any
    /// case, with or without its group: `redis`, `Redis.redis.example.com`.
    pub fn find(&self, kind: &str, namespace: Option<&str>, name: &str) -> Vec<Explained> {
        let wanted = |key: &ObjectKey| {
            key.name == name
                && (key.kind.kind.eq_ignore_ascii_case(kind)
                    || key.kind.qualified().eq_ignore_ascii_case(kind))
                && (namespace.is_none() || key.namespace.as_deref() == namespace)
        };
        let objects = self.objects();
        let mut found: Vec<_> = objects
            .iter()
            .filter(|(key, _)| wanted(key))
            .map(|(key, rounds)| Explained {
                object: key.to_string(),
                rounds: rounds.iter().cloned().collect(),
            })
            .collect();
        found.sort_by(|one, other| one.object.cmp(&other.object));
        found
    }

    /// No operation panics half-way through a change, so a poisoned lock still guards sound rounds.
    fn objects(&self) -> MutexGuard<'_, HashMap<Arc<ObjectKey>, VecDeque<Round>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::object::Kind;

    fn object(name: &str) -> Arc<ObjectKey> {
        let kind = Kind::new("redis.example.com/v1", "Redis");
        Arc::new(ObjectKey {
            kind,
            namespace: Some("default".into()),
            name: name.into(),
        })
    }

    fn round(id: &str, changed: &[&str]) -> Round {
        let changed = changed.iter().map(|text| (*text).to_owned()).collect();
        Round {
            id: id.into(),
            changed,
            ..Round::default()
        }
    }

    fn ids(history: &History, name: &str) -> Vec<String> {
        let found = history.find("redis", None, name);
        found
            .iter()
            .flat_map(|one| &one.rounds)
            .map(|round| round.id.clone())
            .collect()
    }

    #[test]
    fn quiet_rounds_are_counted_and_those_that_changed_something_are_kept() {
        let history = History::default();
        for (id, changed) in [
            ("1", vec!["made Service a"]),
            ("2", vec![]),
            ("3", vec![]),
            ("4", vec!["status"]),
        ] {
            history.push(&object("a"), round(id, &changed));
        }
        assert_eq!(ids(&history, "a"), ["1", "3", "4"]);
        assert_eq!(
            history.find("Redis.redis.example.com", Some("default"), "a")[0].rounds[1].repeated,
            1
        );
    }

    #[test]
    fn only_the_last_rounds_are_kept() {
        let history = History::default();
        for number in 0..50 {
            history.push(&object("a"), round(&number.to_string(), &["status"]));
        }
        let ids = ids(&history, "a");
        assert_eq!((ids.len(), &*ids[0]), (ROUNDS, "30"));
    }

    #[test]
    fn an_object_is_found_by_kind_name_and_namespace() {
        let history = History::default();
        history.push(&object("a"), round("1", &[]));
        assert!(history.find("redis", Some("other"), "a").is_empty());
        assert!(history.find("mysql", None, "a").is_empty());
        assert!(history.find("redis", None, "b").is_empty());
        history.forget(&object("a"));
        assert!(ids(&history, "a").is_empty());
    }
}
