//! Why a plan is refused as a whole.

use crate::plugin::grants::Grant;

/// A plan that may not be carried out; nothing of it was.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// The plugin may not do this.
    #[error(
        "{what} needs the grant {grant}: add it to the Plugin's spec.grants, or leave this out of the plan"
    )]
    Grant {
        /// What the plan wanted, such as `child Service default/a`.
        what: String,
        /// What is missing.
        grant: Grant,
    },
    /// The plan breaks a rule of the contract.
    #[error("{what}: {why}")]
    Form {
        /// Which part of the plan.
        what: String,
        /// The rule, and what to do.
        why: String,
    },
}

impl Refused {
    /// The grant that is missing, if that is why.
    pub fn missing(&self) -> Option<&Grant> {
        match self {
            Self::Grant { grant, .. } => Some(grant),
            Self::Form { .. } => None,
        }
    }

    pub(super) fn form(what: impl Into<String>, why: impl Into<String>) -> Self {
        Self::Form {
            what: what.into(),
            why: why.into(),
        }
    }
}
