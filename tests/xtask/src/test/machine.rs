//! The machine before and after a cluster: what it must not leave behind.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};

use crate::command;
use crate::stage::Log;

/// The kernel ends namespaces and what is in them a moment after their last process.
const SETTLING: Duration = Duration::from_secs(20);
const LOOK_AGAIN: Duration = Duration::from_millis(250);

/// Kernel settings that a node changes, below /proc/sys.
const SETTINGS: [&str; 11] = [
    "fs/inotify/max_user_instances",
    "fs/inotify/max_user_watches",
    "kernel/keys/root_maxbytes",
    "kernel/keys/root_maxkeys",
    "kernel/panic",
    "kernel/panic_on_oops",
    "net/ipv4/conf/all/forwarding",
    "net/ipv4/ip_forward",
    "net/ipv4/conf/all/route_localnet",
    "vm/overcommit_memory",
    "vm/panic_on_oom",
];

/// Folders where a node leaves files, and how deep to look.
const FOLDERS: [(&str, usize); 6] = [
    ("/run", 3),
    ("/var/lib", 1),
    ("/var/log", 1),
    ("/etc/cni", 2),
    ("/opt", 1),
    ("/var/run/netns", 1),
];

/// Programs of a node, by how their names begin.
const PROGRAMS: [&str; 4] = ["windlass", "containerd", "runc", "coredns"];

/// What a cluster could leave on a machine, one line each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Snapshot {
    lines: BTreeSet<String>,
}

impl Snapshot {
    /// Looks at the machine. What cannot be read is not there for a cluster either.
    pub(super) fn take() -> Self {
        let mut lines = BTreeSet::new();
        lines.extend(mounts());
        lines.extend(entries("/sys/class/net", 1).map(|path| format!("interface {path}")));
        lines.extend(routes());
        lines.extend(rules("iptables-save", &[]));
        lines.extend(rules("nft", &["--stateless", "list", "ruleset"]));
        lines.extend(SETTINGS.into_iter().filter_map(setting));
        lines.extend(entries("/sys/fs/cgroup", 2).map(|path| format!("cgroup {path}")));
        for (folder, depth) in FOLDERS {
            lines.extend(entries(folder, depth).map(|path| format!("file {path}")));
        }
        lines.extend(processes());
        Self { lines }
    }

    /// What is there now and was not before, and what is gone.
    fn differences(&self, now: &Self) -> Vec<String> {
        let added = now
            .lines
            .difference(&self.lines)
            .map(|line| format!("left: {line}"));
        let lost = self
            .lines
            .difference(&now.lines)
            .map(|line| format!("lost: {line}"));
        added.chain(lost).collect()
    }
}

/// Succeeds when the machine is as it was, or becomes so within [`SETTLING`].
///
/// # Errors
/// When something is left or lost; each is a line of the log.
pub(super) fn require_same(before: &Snapshot, log: &Log) -> Result<()> {
    let deadline = Instant::now() + SETTLING;
    let differences = loop {
        let differences = before.differences(&Snapshot::take());
        if differences.is_empty() || Instant::now() > deadline {
            break differences;
        }
        thread::sleep(LOOK_AGAIN);
    };
    for difference in &differences {
        log.note(difference)?;
    }
    match differences.len() {
        0 => log.note("the machine is as it was"),
        count => bail!("the machine is not as it was: {count} differences"),
    }
}

fn mounts() -> Vec<String> {
    let text = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    let points = text.lines().filter_map(|line| line.split(' ').nth(4));
    points.map(|point| format!("mount {point}")).collect()
}

/// Interface, destination, gateway and mask; the counters between them are no difference.
fn routes() -> Vec<String> {
    let text = fs::read_to_string("/proc/net/route").unwrap_or_default();
    let fields = text
        .lines()
        .skip(1)
        .map(|line| line.split_whitespace().collect::<Vec<_>>());
    let whole = fields.filter(|fields| fields.len() > 7);
    whole
        .map(|f| format!("route {} {} {} {}", f[0], f[1], f[2], f[7]))
        .collect()
}

/// The rules that a firewall's tool lists. Where the tool is not installed there are none.
fn rules(program: &str, arguments: &[&str]) -> Vec<String> {
    let output = command::capture(Command::new(program).args(arguments)).unwrap_or_default();
    let lines = output.lines().map(str::trim).filter(|line| is_rule(line));
    lines.map(|line| format!("{program} {line}")).collect()
}

/// Not a comment, which holds the time, and not a built-in chain, which holds counters.
fn is_rule(line: &str) -> bool {
    !line.is_empty() && !line.starts_with('#') && !line.starts_with(':')
}

fn setting(name: &str) -> Option<String> {
    let value = fs::read_to_string(Path::new("/proc/sys").join(name)).ok()?;
    Some(format!("setting {name} = {}", value.trim()))
}

/// The paths below a folder, down to `depth`.
fn entries(folder: &str, depth: usize) -> impl Iterator<Item = String> {
    let mut found = Vec::new();
    collect(Path::new(folder), depth, &mut found);
    found.into_iter()
}

fn collect(folder: &Path, depth: usize, found: &mut Vec<String>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        found.push(entry.path().to_string_lossy().into_owned());
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        if depth > 1 && is_folder {
            collect(&entry.path(), depth - 1, found);
        }
    }
}

/// Processes of a node: those of its programs, and those in a network namespace of their own.
fn processes() -> Vec<String> {
    let own_network = network(Path::new("/proc/self"));
    let folders = entries("/proc", 1).filter(|path| path["/proc/".len()..].parse::<u32>().is_ok());
    folders
        .filter_map(|folder| process(Path::new(&folder), &own_network))
        .collect()
}

fn process(folder: &Path, own_network: &io::Result<std::path::PathBuf>) -> Option<String> {
    let name = fs::read_to_string(folder.join("comm")).ok()?;
    let elsewhere = match (network(folder), own_network) {
        (Ok(theirs), Ok(own)) => theirs != *own,
        _ => false,
    };
    let is_ours = PROGRAMS.iter().any(|program| name.starts_with(program));
    (is_ours || elsewhere).then(|| format!("process {} {}", folder.display(), name.trim()))
}

fn network(process: &Path) -> io::Result<std::path::PathBuf> {
    fs::read_link(process.join("ns/net"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn snapshot(lines: &[&str]) -> Snapshot {
        Snapshot {
            lines: lines.iter().map(|line| (*line).to_owned()).collect(),
        }
    }

    #[test]
    fn what_is_left_and_what_is_lost_are_differences() {
        let before = snapshot(&["mount /", "setting a = 0"]);
        let after = snapshot(&["mount /", "setting a = 1"]);
        assert_eq!(
            before.differences(&after),
            ["left: setting a = 1", "lost: setting a = 0"]
        );
        assert!(before.differences(&before).is_empty());
    }

    #[test]
    fn a_look_at_this_machine_sees_its_mounts_and_settings() {
        let now = Snapshot::take();
        assert!(now.lines.contains("mount /proc"));
        assert!(
            now.lines
                .iter()
                .any(|line| line.starts_with("setting vm/overcommit_memory"))
        );
    }

    #[test]
    fn times_and_counters_are_no_rules() {
        assert!(!is_rule("# Completed on Mon Nov 30 12:00:00 2026"));
        assert!(!is_rule(":INPUT ACCEPT [12:3456]"));
        assert!(is_rule("-A FORWARD -i wl0 -j ACCEPT"));
    }
}
