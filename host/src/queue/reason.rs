//! Why an object waits for a round.

use std::fmt;
use std::time::Duration;

/// What is observed within this time becomes one round.
pub const COALESCE: Duration = Duration::from_millis(100);

/// Why a round is wanted. Two entries of one object become one, which keeps the more urgent reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reason {
    /// Its deletion was asked for.
    Deletion,
    /// It is new, or its spec or annotations changed.
    Changed,
    /// Something that it owns or asked about changed: which.
    Observed(String),
    /// Its last round changed something; this one sees the effect.
    FollowUp,
    /// Its last round ran actions; this one is told how they ended.
    ActionsEnded,
    /// A long action of this key ended; this round is told how.
    LongActionEnded(String),
    /// Its plan asked to look again.
    RequeueAfter,
    /// Somebody else changed it while its last round ran.
    Conflict,
    /// Its last round failed: why.
    Retry(String),
    /// The kinds that this cluster serves or grants changed: which.
    Availability(String),
    /// The host began to act.
    Started,
    /// Its plugin was replaced, or what its administrator says about it changed.
    Switched,
    /// Nothing happened for long.
    Resync,
}

/// How urgent an entry that is due is. What is more urgent overtakes what became due not long before it, never what
/// has waited for long: else thousands of objects that are looked at every few seconds would keep a host that starts
/// from ever looking at the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Priority {
    /// A person is waiting, or a server that was taken out of service: deletion, a changed spec, a long action
    /// that ended.
    Asked,
    /// The world moved.
    Observed,
    /// To be safe.
    Routine,
}

impl Priority {
    /// For how long after it became due an entry is overtaken by [`Self::Asked`].
    pub fn overtaken_for(self) -> Duration {
        match self {
            Self::Asked => Duration::ZERO,
            Self::Observed => Duration::from_secs(2),
            Self::Routine => Duration::from_secs(10),
        }
    }
}

impl Reason {
    /// How urgent it is.
    pub fn priority(&self) -> Priority {
        match self {
            Self::Deletion | Self::Changed | Self::LongActionEnded(_) => Priority::Asked,
            Self::Observed(_)
            | Self::FollowUp
            | Self::ActionsEnded
            | Self::RequeueAfter
            | Self::Conflict
            | Self::Retry(_) => Priority::Observed,
            Self::Availability(_) | Self::Started | Self::Switched | Self::Resync => {
                Priority::Routine
            }
        }
    }

    /// How long to wait for more of the same before a round is worth it.
    pub fn patience(&self) -> Duration {
        match self {
            Self::Observed(_) => COALESCE,
            _ => Duration::ZERO,
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Deletion => f.write_str("deletion was asked for"),
            Self::Changed => f.write_str("it is new or was changed"),
            Self::Observed(what) => write!(f, "{what} changed"),
            Self::FollowUp => f.write_str("the last round changed something"),
            Self::ActionsEnded => f.write_str("actions ended"),
            Self::LongActionEnded(key) => write!(f, "the long action {key} ended"),
            Self::RequeueAfter => f.write_str("the plan asked to look again"),
            Self::Conflict => f.write_str("somebody else wrote it during the last round"),
            Self::Retry(why) => write!(f, "again after a failure: {why}"),
            Self::Availability(kind) => write!(f, "{kind} became available or went"),
            Self::Started => f.write_str("the host began to act"),
            Self::Switched => f.write_str("its plugin was replaced or configured anew"),
            Self::Resync => f.write_str("nothing happened for long"),
        }
    }
}
