//! A container that stands still: it holds its sockets and its memory and answers nothing.

use std::collections::HashSet;

use anyhow::{Context, Result};
use nix::errno::Errno;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::cgroup::Cgroup;

/// A container whose processes are stopped. Thaws when dropped.
///
/// They are stopped by signal rather than by the kernel's freezer, because a process in the first
/// version's freezer cannot be killed, and a kubelet or an operator may want to.
#[must_use = "the container thaws when this is dropped"]
pub struct Freeze {
    stopped: HashSet<Pid>,
}

impl Freeze {
    /// Stops the main process and all others, until none is left that could have started one more.
    pub(crate) fn begin(main: Pid) -> Result<Self> {
        let cgroup = Cgroup::of(main)?;
        let mut freeze = Self {
            stopped: HashSet::new(),
        };
        loop {
            let processes = cgroup.processes()?;
            let new: Vec<Pid> = processes
                .into_iter()
                .filter(|pid| freeze.stopped.insert(*pid))
                .collect();
            if new.is_empty() {
                return Ok(freeze);
            }
            new.into_iter().try_for_each(stop)?;
        }
    }

    /// Lets the processes go on.
    pub fn thaw(self) {}
}

impl Drop for Freeze {
    fn drop(&mut self) {
        for pid in &self.stopped {
            // It may have been killed meanwhile, by the scenario or by a liveness probe.
            let _ = kill(*pid, Signal::SIGCONT);
        }
    }
}

fn stop(pid: Pid) -> Result<()> {
    match kill(pid, Signal::SIGSTOP) {
        // A short-lived process, such as a probe's, has ended since it was listed.
        Ok(()) | Err(Errno::ESRCH) => Ok(()),
        Err(error) => Err(error).with_context(|| format!("failed to stop process {pid}")),
    }
}
