//! The control group that a container runs in.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use nix::unistd::Pid;

/// The period over which the kernel counts a CPU quota, in microseconds; its own default.
pub(super) const PERIOD: u32 = 100_000;

/// A process's control group, where its CPU is governed: the kernel has two versions, which name and
/// write a quota differently.
pub(super) enum Cgroup {
    V1(PathBuf),
    V2(PathBuf),
}

impl Cgroup {
    pub(super) fn of(pid: Pid) -> Result<Self> {
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

    /// All processes in it at this moment.
    pub(super) fn processes(&self) -> Result<Vec<Pid>> {
        let list = self.read("cgroup.procs")?;
        let pids = list.lines().map(|line| line.parse().map(Pid::from_raw));
        pids.collect::<Result<_, _>>()
            .with_context(|| format!("{list:?} is no list of processes"))
    }

    pub(super) fn folder(&self) -> &Path {
        match self {
            Self::V1(folder) | Self::V2(folder) => folder,
        }
    }

    pub(super) fn quota_file(&self) -> &'static str {
        match self {
            Self::V1(_) => "cpu.cfs_quota_us",
            Self::V2(_) => "cpu.max",
        }
    }

    pub(super) fn quota(&self, microseconds: u32) -> String {
        match self {
            Self::V1(_) => microseconds.to_string(),
            Self::V2(_) => format!("{microseconds} {PERIOD}"),
        }
    }

    pub(super) fn read(&self, file: &str) -> Result<String> {
        let path = self.folder().join(file);
        fs::read_to_string(&path).with_context(|| format!("failed to read {}", path.display()))
    }

    pub(super) fn write(&self, quota: &str) -> Result<()> {
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
