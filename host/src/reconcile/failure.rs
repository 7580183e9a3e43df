//! Why a round did not come to its end, and who is told.

use std::time::Duration;

use super::facts::BadNeed;
use super::gather::GatherError;
use super::rate::OverRate;
use crate::cluster::ClusterError;
use crate::plan::Refused;
use crate::plugin::{CallError, Fault};
use crate::status::StatusError;

/// Why a round ended early. Nothing after the failed stage was done.
#[derive(Debug, thiserror::Error)]
pub(super) enum Failed {
    /// The plugin was at fault several times in a row and is not asked before this long.
    #[error("the plugin was at fault several times and is asked again later")]
    HeldBack(Duration),
    /// The plugin gave no plan.
    #[error(transparent)]
    Call(#[from] CallError),
    /// The plugin asked for what cannot be.
    #[error("the plugin broke the contract: {0}")]
    Need(#[from] BadNeed),
    /// Its plan may be carried out, but not now.
    #[error(transparent)]
    OverRate(OverRate),
    /// Its plan may not be carried out.
    #[error("the plan is refused: {0}")]
    Refused(#[from] Refused),
    /// The API server was asked and did not do it.
    #[error(transparent)]
    Cluster(#[from] ClusterError),
    /// The status could not be stored.
    #[error(transparent)]
    Status(StatusError),
    /// Somebody else changed or removed the object meanwhile: what was decided is void.
    #[error("the object was changed during the round")]
    Conflict,
}

impl From<Fault> for Failed {
    fn from(fault: Fault) -> Self {
        Self::Call(CallError::Fault(fault))
    }
}

impl From<GatherError> for Failed {
    fn from(error: GatherError) -> Self {
        match error {
            GatherError::Need(bad) => Self::Need(bad),
            GatherError::Cluster { source, .. } => Self::Cluster(source),
        }
    }
}

impl From<StatusError> for Failed {
    fn from(error: StatusError) -> Self {
        match error {
            StatusError::Conflict | StatusError::Gone => Self::Conflict,
            other => Self::Status(other),
        }
    }
}
