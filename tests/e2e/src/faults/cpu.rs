//! A slow CPU: a quota in the container's cgroup.

use anyhow::{Context, Result, ensure};
use nix::unistd::Pid;

use super::cgroup::{Cgroup, PERIOD};

/// The least quota that the kernel takes is 1 ms a period.
const LEAST_MILLICORES: u32 = 10;

/// A container with a CPU quota. Runs at full speed again when dropped.
#[must_use = "the throttle is lifted when this is dropped"]
pub struct CpuThrottle {
    cgroup: Cgroup,
    before: String,
    lifted: bool,
}

impl CpuThrottle {
    pub(crate) fn begin(pid: Pid, millicores: u32) -> Result<Self> {
        ensure!(
            millicores >= LEAST_MILLICORES,
            "{millicores} millicores are less than possible"
        );
        let cgroup = Cgroup::of(pid)?;
        let before = cgroup.read(cgroup.quota_file())?;
        cgroup.write(&cgroup.quota(millicores * PERIOD / 1000))?;
        Ok(Self {
            cgroup,
            before,
            lifted: false,
        })
    }

    /// In how many periods so far the kernel made the container wait.
    ///
    /// # Errors
    /// When the container is gone.
    pub fn throttled_periods(&self) -> Result<u64> {
        let statistics = self.cgroup.read("cpu.stat")?;
        let line = statistics
            .lines()
            .find_map(|line| line.strip_prefix("nr_throttled "));
        let count = line.with_context(|| format!("no nr_throttled in {statistics:?}"))?;
        count
            .trim()
            .parse()
            .with_context(|| format!("{count:?} is no number"))
    }

    /// Gives the container the quota that it had before.
    ///
    /// # Errors
    /// When the container is gone.
    pub fn lift(mut self) -> Result<()> {
        self.lifted = true;
        self.cgroup.write(self.before.trim())
    }
}

impl Drop for CpuThrottle {
    fn drop(&mut self) {
        // A container that ended took its cgroup and the quota with it.
        if !self.lifted
            && self.cgroup.folder().exists()
            && let Err(error) = self.cgroup.write(self.before.trim())
        {
            eprintln!("a CPU throttle was not lifted: {error:#}");
        }
    }
}
