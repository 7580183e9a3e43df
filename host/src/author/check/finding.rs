//! What was found, and what to do about it.

use std::fmt;

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// It will fail in a host.
    Error,
    /// It will run, and somebody will wonder.
    Warning,
}

/// One thing that somebody should mend.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// How bad it is.
    pub severity: Severity,
    /// What is wrong, and where.
    pub what: String,
    /// What to do; empty where `what` says so already.
    pub remedy: String,
}

impl Finding {
    /// Something that will fail in a host.
    pub fn error(what: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self::new(Severity::Error, what.into(), remedy.into())
    }

    /// Something that will run, and should be mended all the same.
    pub fn warning(what: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self::new(Severity::Warning, what.into(), remedy.into())
    }

    fn new(severity: Severity, what: String, remedy: String) -> Self {
        Self {
            severity,
            what,
            remedy,
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let severity = match self.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        };
        write!(f, "{severity}: {}", self.what)?;
        match self.remedy.as_str() {
            "" => Ok(()),
            remedy => write!(f, "\n       {remedy}"),
        }
    }
}
