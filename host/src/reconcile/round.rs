//! One round under way.

use std::sync::Arc;
use std::time::Duration;

use super::memory::Borrowed;
use crate::explain;
use crate::object::{DOMAIN, Object};
use crate::queue::ReconcileRequest;
use crate::watch::Interest;

/// Stops the rounds of an object when it is `"true"`.
const PAUSED: &str = "windlass.dev/paused";

/// What one round has in its hands.
pub(super) struct Round<'a> {
    pub(super) request: &'a ReconcileRequest,
    /// The object as this round sees it; replaced only by what the round itself wrote.
    pub(super) object: Arc<Object>,
    pub(super) memory: Borrowed<'a>,
    /// What it asked about.
    pub(super) interests: Vec<Interest>,
    /// The round's time.
    pub(super) now: u64,
    pub(super) record: explain::Round,
}

/// How a round came to its end.
#[derive(Debug, Default)]
pub(super) struct Done {
    /// Something was written: one more round sees the effect.
    pub(super) changed: bool,
    /// Actions ended: the next round is told how.
    pub(super) acted: bool,
    /// Something has to be decided twice before it is done.
    pub(super) undecided: bool,
    /// What is not in step, and will be tried again.
    pub(super) trouble: Option<String>,
    /// Look again after this long.
    pub(super) requeue_after: Option<Duration>,
}

/// Whether a person stopped the rounds of this object.
pub(super) fn is_paused(object: &Object) -> bool {
    debug_assert!(
        PAUSED.starts_with(DOMAIN),
        "only the host's own annotations are kept"
    );
    object
        .annotations
        .get(PAUSED)
        .is_some_and(|value| value == "true")
}
