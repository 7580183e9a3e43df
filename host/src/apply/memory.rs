//! What is remembered of one object between rounds, in memory only.

use std::collections::BTreeSet;

use crate::object::ObjectKey;

/// Kept by the round's loop for each object. Losing it costs a round or an Event, never a decision.
#[derive(Debug, Default)]
pub struct Memory {
    /// Children that stood at the end of the last round: one that is gone was deleted by somebody.
    pub(crate) stood: BTreeSet<ObjectKey>,
    /// Uids that the last round would have pruned.
    pub(crate) unwanted: BTreeSet<String>,
    /// When measurements were last written to status, in milliseconds since the epoch.
    pub(crate) measured: Option<u64>,
}
