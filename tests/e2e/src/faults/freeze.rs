//! A process that stands still: it holds its sockets and its memory and answers nothing.

use anyhow::{Context, Result};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// A stopped process. Thaws when dropped.
#[must_use = "the process thaws when this is dropped"]
pub struct Freeze {
    pid: Pid,
}

impl Freeze {
    pub(crate) fn begin(pid: Pid) -> Result<Self> {
        kill(pid, Signal::SIGSTOP).with_context(|| format!("failed to stop process {pid}"))?;
        Ok(Self { pid })
    }

    /// Lets the process go on.
    pub fn thaw(self) {}
}

impl Drop for Freeze {
    fn drop(&mut self) {
        // The process may have been killed meanwhile, by the scenario or by a liveness probe.
        let _ = kill(self.pid, Signal::SIGCONT);
    }
}
