//! The Debian packages that a cluster on this machine is made of.

use std::path::Path;
use std::process::Command;

use anyhow::Result;

use crate::command;
use crate::stage::Log;

/// The container runtime and its network, the tools that steer them, the maker of root file
/// systems.
const PACKAGES: [&str; 8] = [
    "conntrack",
    "containerd",
    "containernetworking-plugins",
    "iproute2",
    "iptables",
    "mmdebstrap",
    "nftables",
    "runc",
];

/// Whether this machine has Debian's package manager.
pub(crate) fn is_debian() -> bool {
    Path::new("/etc/debian_version").exists()
}

/// Installs what is missing. The package lists are fetched only when the ones that are here do
/// not do.
pub(super) fn install(log: &Log) -> Result<()> {
    let listed = command::output(&mut dpkg_query())?;
    let missing = missing(&String::from_utf8_lossy(&listed.stdout));
    if missing.is_empty() {
        return log.note("all packages are installed");
    }
    log.note(&format!("missing: {}", missing.join(" ")))?;
    if log.run(&mut apt_get_install(&missing)).is_ok() {
        return Ok(());
    }
    log.note("that failed: fetching the package lists, then once more")?;
    log.run(Command::new("apt-get").arg("update"))?;
    log.run(&mut apt_get_install(&missing))
}

fn dpkg_query() -> Command {
    let mut command = Command::new("dpkg-query");
    command
        .args(["--show", "--showformat", "${Package} ${db:Status-Status}\n"])
        .args(PACKAGES);
    command
}

fn missing(listed: &str) -> Vec<&'static str> {
    let installed = |package: &&str| {
        listed
            .lines()
            .any(|line| line == format!("{package} installed"))
    };
    PACKAGES
        .into_iter()
        .filter(|package| !installed(package))
        .collect()
}

fn apt_get_install(packages: &[&str]) -> Command {
    let mut command = Command::new("apt-get");
    command
        .env("DEBIAN_FRONTEND", "noninteractive")
        .args(["install", "--yes", "--no-install-recommends"])
        .args(packages);
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_not_installed_is_missing() {
        let all: String = PACKAGES
            .map(|package| format!("{package} installed\n"))
            .concat();
        assert!(missing(&all).is_empty());
        let without = all.replace("runc installed", "runc config-files");
        assert_eq!(missing(&without), ["runc"]);
        assert_eq!(missing(""), PACKAGES);
    }

    #[test]
    fn exactly_the_missing_packages_are_installed() {
        let shown = command::shown(&apt_get_install(&["runc", "nftables"]));
        assert_eq!(
            shown,
            "apt-get install --yes --no-install-recommends runc nftables"
        );
    }
}
