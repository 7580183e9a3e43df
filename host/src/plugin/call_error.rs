//! How a call of a plugin can end without a step.
//!
//! Two audiences read of it. The author and the cluster's owner get the whole text, on the Plugin and in the
//! log. The object's owner gets [`Fault::for_object`]: a panic's text may quote facts about other tenants.

use std::time::Duration;

use crate::plugin::limits::Bytes;

/// Why a call gave no step.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CallError {
    /// The author's answer: this spec can never work.
    #[error("{0}")]
    Invalid(String),
    /// The author's answer: try again.
    #[error("{0}")]
    Transient(String),
    /// The plugin broke a rule.
    #[error(transparent)]
    Fault(#[from] Fault),
}

/// What a plugin did wrong. The text is for its author and for the cluster's owner.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// It panicked, overflowed its stack, called exit or did something else that ends an instance.
    #[error("the plugin crashed: {}", told(trap, printed))]
    Trapped {
        /// The engine's word for it.
        trap: String,
        /// The last of what it printed; for a panic in Rust the message and place.
        printed: String,
    },
    /// It used up its CPU time.
    #[error(
        "the plugin was stopped after {budget:?} of CPU time in one call: raise limits.cpu, or mend it"
    )]
    TimedOut {
        /// What one call may take.
        budget: Duration,
    },
    /// It asked for more memory than it may have.
    #[error(
        "the plugin asked for {wanted} bytes of memory, its limit is {limit}: raise limits.memory, or mend it"
    )]
    OutOfMemory {
        /// What it would have had.
        wanted: usize,
        /// What it may have.
        limit: Bytes,
    },
    /// It returned too much.
    #[error("the plugin returned more than {limit}: raise limits.plan, or mend it")]
    OutputTooLarge {
        /// What it may return.
        limit: Bytes,
    },
    /// What it asked to know is too much for one call.
    #[error(
        "the request is {size} bytes, the limit is {limit}; the largest part is {largest}: ask for less, or raise limits.request"
    )]
    RequestTooLarge {
        /// Bytes of the request.
        size: usize,
        /// What a request may hold.
        limit: Bytes,
        /// The part to blame, such as `fact pods-1`.
        largest: String,
    },
    /// It asked again and again instead of deciding.
    #[error("the plugin asked for more facts {calls} times in one round without deciding")]
    NeverDecided {
        /// Calls that were made.
        calls: u32,
    },
    /// It asked for what cannot be.
    #[error("the plugin asked for what cannot be: {why}")]
    BadNeed {
        /// The requirement, and what is wrong with it.
        why: String,
    },
    /// The same request gave another answer in a fresh instance.
    #[error(
        "the plugin is not deterministic: the same request gave another answer in a fresh instance, {difference}"
    )]
    NotDeterministic {
        /// Where the answers first differ.
        difference: String,
    },
    /// No instance of it could be made.
    #[error("the plugin could not be started: {why}")]
    NotStarted {
        /// The engine's word for it.
        why: String,
    },
}

impl Fault {
    /// One word in CamelCase, for conditions and metrics.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::Trapped { .. } => "PluginCrashed",
            Self::TimedOut { .. } => "PluginTimedOut",
            Self::OutOfMemory { .. } => "PluginOutOfMemory",
            Self::OutputTooLarge { .. } => "PluginOutputTooLarge",
            Self::RequestTooLarge { .. } => "PluginRequestTooLarge",
            Self::NeverDecided { .. } => "PluginNeverDecided",
            Self::NotDeterministic { .. } => "PluginNotDeterministic",
            Self::BadNeed { .. } => "PluginBadNeed",
            Self::NotStarted { .. } => "PluginNotStarted",
        }
    }

    /// What the object's owner may read: what happened and where the rest stands, nothing that the plugin said.
    pub fn for_object(&self, plugin: &str, round: &str) -> String {
        let what = match self {
            Self::Trapped { .. } => "crashed",
            Self::TimedOut { .. } => "did not decide in time",
            Self::OutOfMemory { .. } => "needed more memory than it may have",
            Self::OutputTooLarge { .. } => "returned more than it may",
            Self::RequestTooLarge { .. } => "asked to know more than it may",
            Self::NeverDecided { .. } => "asked for more facts again and again",
            Self::NotDeterministic { .. } => "gave two answers to the same question",
            Self::BadNeed { .. } => "asked for what cannot be",
            Self::NotStarted { .. } => "could not be started",
        };
        format!(
            "plugin {plugin} {what}; the cluster's owner finds round {round} on the Plugin and in the host's log"
        )
    }
}

fn told(trap: &str, printed: &str) -> String {
    match printed {
        "" => trap.to_owned(),
        printed => format!("{printed} ({trap})"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_plugin_printed_is_told_to_its_author_but_not_on_the_object() {
        let fault = Fault::Trapped {
            trap: "unreachable".into(),
            printed: "panicked at s3cret".into(),
        };
        assert!(fault.to_string().contains("s3cret"));
        let shown = fault.for_object("redis", "r-17");
        assert!(!shown.contains("s3cret"));
        assert!(shown.contains("redis") && shown.contains("r-17"));
    }
}
