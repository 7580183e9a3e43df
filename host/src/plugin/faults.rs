//! Which objects a faulty plugin is still called for, and how often it was at fault.
//!
//! Pure bookkeeping in the host's memory: the reconcile room tells how rounds ended and asks before it starts
//! one. A fault stops only the object it happened on, ever more rarely tried, and never an object whose last
//! round succeeded.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use crate::object::ObjectKey;
use crate::plugin::call_error::Fault;

/// The wait after a first fault; every further one doubles it.
const FIRST_WAIT: Duration = Duration::from_secs(1);

/// The longest wait.
const LONGEST_WAIT: Duration = Duration::from_secs(30 * 60);

/// From this many faults in a row on, no event starts a round before the wait is over.
const BREAKS_AFTER: u32 = 5;

/// The faults of one plugin.
#[derive(Debug, Default)]
pub struct Faults {
    objects: HashMap<ObjectKey, Streak>,
    counts: BTreeMap<&'static str, u64>,
    last: Option<String>,
}

/// Faults in a row on one object.
#[derive(Debug)]
struct Streak {
    length: u32,
    generation: i64,
    until: Duration,
}

/// Whether a round may start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission {
    /// Yes.
    Go,
    /// Not before this long.
    Wait(Duration),
}

impl Faults {
    /// Whether to start a round for `object`, whose spec is at `generation`. A changed spec gets one try at once:
    /// the person who mends an object should not wait for the host. `now` is time since boot.
    pub fn admit(&self, object: &ObjectKey, generation: i64, now: Duration) -> Admission {
        match self.objects.get(object) {
            Some(streak)
                if streak.length >= BREAKS_AFTER
                    && streak.generation == generation
                    && now < streak.until =>
            {
                Admission::Wait(streak.until - now)
            }
            _ => Admission::Go,
        }
    }

    /// Notes a fault; returns how long to wait before trying again.
    pub fn faulted(
        &mut self,
        object: &ObjectKey,
        generation: i64,
        fault: &Fault,
        now: Duration,
    ) -> Duration {
        *self.counts.entry(fault.reason()).or_default() += 1;
        self.last = Some(fault.to_string());
        let length = self
            .objects
            .get(object)
            .map_or(1, |streak| streak.length.saturating_add(1));
        let wait = wait_after(length);
        let streak = Streak {
            length,
            generation,
            until: now + wait,
        };
        self.objects.insert(object.clone(), streak);
        wait
    }

    /// Notes that a round of this object ended without a fault, or that the object is gone.
    pub fn cleared(&mut self, object: &ObjectKey) {
        self.objects.remove(object);
    }

    /// How often the plugin was at fault since the host started, by reason.
    pub fn counts(&self) -> &BTreeMap<&'static str, u64> {
        &self.counts
    }

    /// The text of the last fault, for the Plugin.
    pub fn last(&self) -> Option<&str> {
        self.last.as_deref()
    }

    /// Objects whose last round ended in a fault.
    pub fn objects(&self) -> impl Iterator<Item = &ObjectKey> {
        self.objects.keys()
    }
}

fn wait_after(length: u32) -> Duration {
    let doublings = length.saturating_sub(1).min(16);
    (FIRST_WAIT * (1 << doublings)).min(LONGEST_WAIT)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::object::Kind;

    #[test]
    fn waits_double_up_to_the_longest() {
        let waits: Vec<_> = [1, 2, 3, 10, 11, 12, u32::MAX]
            .map(|n| wait_after(n).as_secs())
            .into();
        assert_eq!(waits, [1, 2, 4, 512, 1024, 1800, 1800]);
    }

    #[test]
    fn an_object_is_stopped_after_faults_in_a_row_and_tried_again_when_the_wait_is_over() {
        let mut faults = Faults::default();
        for _ in 0..BREAKS_AFTER - 1 {
            faults.faulted(&object("a"), 1, &fault(), SOON);
        }
        assert_eq!(faults.admit(&object("a"), 1, SOON), Admission::Go);
        let wait = faults.faulted(&object("a"), 1, &fault(), SOON);
        assert_eq!(faults.admit(&object("a"), 1, SOON), Admission::Wait(wait));
        assert_eq!(faults.admit(&object("a"), 1, SOON + wait), Admission::Go);
    }

    #[test]
    fn another_object_is_not_stopped() {
        let faults = broken("a");
        assert_eq!(faults.admit(&object("b"), 1, SOON), Admission::Go);
    }

    #[test]
    fn an_object_whose_last_round_succeeded_is_never_stopped() {
        let mut faults = broken("a");
        faults.cleared(&object("a"));
        assert_eq!(faults.admit(&object("a"), 1, SOON), Admission::Go);
        let wait = faults.faulted(&object("a"), 1, &fault(), SOON);
        assert_eq!(wait, FIRST_WAIT);
        assert_eq!(faults.admit(&object("a"), 1, SOON), Admission::Go);
    }

    #[test]
    fn a_changed_spec_is_tried_at_once() {
        let faults = broken("a");
        assert_eq!(faults.admit(&object("a"), 2, SOON), Admission::Go);
    }

    #[test]
    fn faults_are_counted_by_reason() {
        let mut faults = broken("a");
        faults.faulted(&object("b"), 1, &Fault::NeverDecided { calls: 16 }, SOON);
        let counts: Vec<_> = faults
            .counts()
            .iter()
            .map(|(reason, count)| (*reason, *count))
            .collect();
        assert_eq!(counts, [("PluginCrashed", 5), ("PluginNeverDecided", 1)]);
        assert!(faults.last().unwrap().contains("16 times"));
    }

    const SOON: Duration = Duration::from_secs(100);

    fn broken(name: &str) -> Faults {
        let mut faults = Faults::default();
        for _ in 0..BREAKS_AFTER {
            faults.faulted(&object(name), 1, &fault(), SOON);
        }
        faults
    }

    fn fault() -> Fault {
        Fault::Trapped {
            trap: "unreachable".into(),
            printed: String::new(),
        }
    }

    fn object(name: &str) -> ObjectKey {
        ObjectKey {
            kind: Kind::new("v1", "ConfigMap"),
            namespace: Some("default".into()),
            name: name.into(),
        }
    }
}
