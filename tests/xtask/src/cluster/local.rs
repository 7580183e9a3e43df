//! A cluster of processes on this machine, made by the binary of tests/cluster.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde::Deserialize;

use super::Cluster;
use crate::command;
use crate::stage::Log;
use crate::workplace::Workplace;

/// One such cluster.
pub(crate) struct Local {
    program: PathBuf,
    cache: PathBuf,
    name: String,
}

/// What `status --output json` prints, as far as it is used here.
#[derive(Debug, Deserialize)]
struct Status {
    healthy: bool,
    #[serde(default)]
    problem: String,
    kubeconfig: PathBuf,
}

impl Local {
    pub(crate) fn new(workplace: &Workplace, name: &str) -> Self {
        Self {
            program: workplace.program("windlass-cluster"),
            cache: workplace.cache().to_owned(),
            name: name.to_owned(),
        }
    }

    /// Whether the program that steers such clusters is there.
    pub(crate) fn is_built(workplace: &Workplace) -> bool {
        workplace.program("windlass-cluster").is_file()
    }

    /// Whether there is one of this name, be it half-made.
    fn exists(&self) -> Result<bool> {
        let names = command::capture(Command::new(&self.program).arg("list"))?;
        Ok(names.lines().any(|name| name == self.name))
    }

    fn command(&self, verb: &str) -> Command {
        let mut command = Command::new(&self.program);
        command.args([verb, "--name", &self.name]);
        command
    }
}

impl Cluster for Local {
    fn start(&self, log: &Log) -> Result<()> {
        log.run(self.command("up").arg("--cache").arg(&self.cache))
    }

    fn stop(&self, log: &Log) -> Result<()> {
        if !self.exists()? {
            return log.note(&format!("there is no cluster `{}`", self.name));
        }
        log.run(&mut self.command("down"))
    }

    fn kubeconfig(&self) -> Result<Option<PathBuf>> {
        let output = command::output(self.command("status").args(["--output", "json"]))?;
        kubeconfig_in(&output.stdout)
            .with_context(|| format!("failed to use the cluster `{}`", self.name))
    }
}

/// Nothing printed means that there is no such cluster.
fn kubeconfig_in(status: &[u8]) -> Result<Option<PathBuf>> {
    if status.is_empty() {
        return Ok(None);
    }
    let status: Status =
        serde_json::from_slice(status).context("failed to read what its status says")?;
    if !status.healthy {
        bail!(
            "{}; `cargo xtask up` mends it",
            status.problem.trim().replace('\n', "; ")
        );
    }
    Ok(Some(status.kubeconfig))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_healthy_cluster_has_a_kubeconfig() {
        let healthy = br#"{"name":"dev","healthy":true,"kubeconfig":"/state/kubeconfig"}"#;
        assert_eq!(
            kubeconfig_in(healthy).unwrap(),
            Some("/state/kubeconfig".into())
        );
    }

    #[test]
    fn an_absent_cluster_has_none() {
        assert_eq!(kubeconfig_in(b"").unwrap(), None);
    }

    #[test]
    fn what_is_wrong_with_a_cluster_is_told_in_one_line() {
        let ill =
            br#"{"healthy":false,"problem":"etcd is gone\nso is the rest","kubeconfig":"/k"}"#;
        let error = kubeconfig_in(ill).unwrap_err().to_string();
        assert!(error.starts_with("etcd is gone; so is the rest"), "{error}");
        assert!(kubeconfig_in(b"no JSON").is_err());
    }
}
