//! What is remembered of one object between rounds, in memory only.

use std::collections::{BTreeMap, BTreeSet};

use crate::object::{Object, ObjectKey};
use crate::plan::{Content, WantedChild};

/// Kept by the round's loop for each object. Losing it costs a round or an Event, never a decision.
#[derive(Debug, Default)]
pub struct Memory {
    /// Children that stood at the end of the last round: one that is gone was deleted by somebody. With what made them
    /// in step, where that can be known again.
    pub(crate) stood: BTreeMap<ObjectKey, Option<Standing>>,
    /// Uids that the last round would have pruned.
    pub(crate) unwanted: BTreeSet<String>,
    /// When measurements were last written to status, in milliseconds since the epoch.
    pub(crate) measured: Option<u64>,
}

/// A child that was in step. As long as neither what is wanted nor what stands has changed, it still is, and nothing
/// needs to be compared: in steady state that is most of what a round would compute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Standing {
    wanted: Content,
    resource_version: String,
}

impl Standing {
    /// What would have to be the same for `child`; None where more than that matters, such as values of Secrets.
    pub(super) fn of(child: &WantedChild, live: Option<&Object>) -> Option<Self> {
        let live = live.filter(|_| child.slots.is_empty())?;
        Some(Self {
            wanted: child.content,
            resource_version: live.resource_version.clone(),
        })
    }
}

impl Memory {
    /// Whether a child is known to be in step without a look at it.
    pub(super) fn stands(&self, child: &ObjectKey, now: Option<&Standing>) -> bool {
        let before = self.stood.get(child).and_then(Option::as_ref);
        now.is_some() && before == now
    }
}
