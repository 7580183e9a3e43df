//! A slow CPU: a quota in the container's cgroup.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use nix::unistd::Pid;

/// The period over which the kernel counts the quota, in microseconds; its own default.
const PERIOD: u32 = 100_000;

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

/// Where the kernel keeps a process's CPU quota: the two versions name and write it differently.
enum Cgroup {
    V1(PathBuf),
    V2(PathBuf),
}

impl Cgroup {
    fn of(pid: Pid) -> Result<Self> {
        let path = format!("/proc/{pid}/cgroup");
        let groups = fs::read_to_string(&path).with_context(|| format!("failed to read {path}"))?;
        Self::find(&groups).with_context(|| format!("{path} names no CPU cgroup: {groups}"))
    }

    /// A line is `7:cpu,cpuacct:/path` in version 1, `0::/path` in version 2; on a machine with
    /// both, version 1 has the CPU.
    fn find(groups: &str) -> Option<Self> {
        let mut unified = None;
        for line in groups.lines() {
            let (_, rest) = line.split_once(':')?;
            let (controllers, path) = rest.split_once(':')?;
            let path = path.trim_start_matches('/');
            if controllers.split(',').any(|controller| controller == "cpu") {
                return Some(Self::V1(Path::new("/sys/fs/cgroup/cpu").join(path)));
            }
            if controllers.is_empty() {
                unified = Some(Self::V2(Path::new("/sys/fs/cgroup").join(path)));
            }
        }
        unified
    }

    fn folder(&self) -> &Path {
        match self {
            Self::V1(folder) | Self::V2(folder) => folder,
        }
    }

    fn quota_file(&self) -> &'static str {
        match self {
            Self::V1(_) => "cpu.cfs_quota_us",
            Self::V2(_) => "cpu.max",
        }
    }

    fn quota(&self, microseconds: u32) -> String {
        match self {
            Self::V1(_) => microseconds.to_string(),
            Self::V2(_) => format!("{microseconds} {PERIOD}"),
        }
    }

    fn read(&self, file: &str) -> Result<String> {
        let path = self.folder().join(file);
        fs::read_to_string(&path).with_context(|| format!("failed to read {}", path.display()))
    }

    fn write(&self, quota: &str) -> Result<()> {
        let path = self.folder().join(self.quota_file());
        match fs::write(&path, quota) {
            Ok(()) => Ok(()),
            Err(error) => bail!("failed to write {quota:?} to {}: {error}", path.display()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::Cgroup;

    #[test]
    fn on_a_machine_with_both_versions_the_cpu_is_in_the_first() {
        let groups = "12:memory:/pod\n7:cpu,cpuacct:/pod/redis\n0::/pod/redis\n";
        let found = Cgroup::find(groups).expect("there is one");
        assert_eq!(found.folder(), Path::new("/sys/fs/cgroup/cpu/pod/redis"));
        assert_eq!(found.quota(5000), "5000");
    }

    #[test]
    fn on_a_machine_with_the_second_version_only_the_quota_carries_its_period() {
        let found = Cgroup::find("0::/pod/redis\n").expect("there is one");
        assert_eq!(found.folder(), Path::new("/sys/fs/cgroup/pod/redis"));
        assert_eq!(found.quota(5000), "5000 100000");
    }
}
