//! What ends a call without a plan.

use std::fmt;

use crate::wire;

/// Why a call of [`crate::Controller::reconcile`] ends early. Pass it on with `?`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Error {
    /// A fact is not there yet. The SDK turns this into a `need`; the next call runs from the top with the
    /// answers.
    NotYet,
    /// The host refused a question because this grant is missing. Ask [`crate::Context::available`] before
    /// asking for anything that the plugin can do without.
    Refused {
        /// The grant by name, such as `read:v1/Node`.
        grant: String,
    },
    /// This spec can never work. Only for an object that never ran; otherwise use [`crate::Plan::refuse`] and
    /// keep operating what runs.
    Invalid(String),
    /// Try again, with back-off.
    Transient(String),
}

impl Error {
    /// An object or reply that could not be read, with what it was.
    pub(crate) fn unreadable(what: &str, why: impl fmt::Display) -> Self {
        Self::Transient(format!("failed to read {what}: {why}"))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotYet => f.write_str("a fact is not there yet"),
            Self::Refused { grant } => write!(
                f,
                "the grant {grant} is missing: add it to the Plugin's spec.grants"
            ),
            Self::Invalid(text) | Self::Transient(text) => f.write_str(text),
        }
    }
}

impl std::error::Error for Error {}

impl From<Error> for wire::Failure {
    fn from(error: Error) -> Self {
        match error {
            Error::Invalid(text) => Self::Invalid(text),
            other => Self::Transient(other.to_string()),
        }
    }
}
