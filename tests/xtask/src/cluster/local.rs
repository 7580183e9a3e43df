//! A cluster of processes on this machine, made by the binary of tests/cluster.

use std::path::{Path, PathBuf};
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
    extent: Extent,
}

/// How much of a cluster there is.
enum Extent {
    /// With a node that runs Pods.
    Whole,
    /// etcd and the API server only. Its files lie in this folder, so that it needs no root.
    ControlPlane(PathBuf),
}

/// What `status --output json` prints, as far as it is used here.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Status {
    healthy: bool,
    #[serde(default)]
    problem: String,
    kubeconfig: PathBuf,
    #[serde(default)]
    audit_log: PathBuf,
}

impl Local {
    /// A cluster that runs Pods.
    pub(crate) fn new(workplace: &Workplace, name: &str) -> Self {
        Self::with_extent(workplace, name, Extent::Whole)
    }

    /// An API server without nodes.
    pub(crate) fn control_plane(workplace: &Workplace, name: &str) -> Self {
        let state = workplace.cache().join("control-planes");
        Self::with_extent(workplace, name, Extent::ControlPlane(state))
    }

    fn with_extent(workplace: &Workplace, name: &str, extent: Extent) -> Self {
        Self {
            program: workplace.program("windlass-cluster"),
            cache: workplace.cache().to_owned(),
            name: name.to_owned(),
            extent,
        }
    }

    /// Starts it afresh, does `work` on it by its kubeconfig, and ends it, however that went.
    pub(crate) fn during<T>(
        &self,
        log: &Log,
        work: impl FnOnce(PathBuf) -> Result<T>,
    ) -> Result<T> {
        self.stop(log)?;
        let done = self.start(log).and_then(|()| {
            let kubeconfig = self.kubeconfig()?;
            work(kubeconfig.context("failed to find the control plane just started")?)
        });
        self.stop(log)?;
        done
    }

    /// Where its API server notes who asked for what.
    pub(crate) fn audit_log(&self) -> Result<PathBuf> {
        let status: Status = serde_json::from_slice(&self.status()?)
            .context("failed to read what its status says")?;
        Ok(status.audit_log)
    }

    fn status(&self) -> Result<Vec<u8>> {
        let output = command::output(self.command_on_it("status").args(["--output", "json"]))?;
        Ok(output.stdout)
    }

    /// Whether the program that steers such clusters is there.
    pub(crate) fn is_built(workplace: &Workplace) -> bool {
        workplace.program("windlass-cluster").is_file()
    }

    /// Whether there is one of this name, be it half-made.
    fn exists(&self) -> Result<bool> {
        let names = command::capture(&mut self.command("list"))?;
        Ok(names.lines().any(|name| name == self.name))
    }

    fn command(&self, verb: &str) -> Command {
        let mut command = Command::new(&self.program);
        if let Extent::ControlPlane(state) = &self.extent {
            command.arg("--state").arg(state);
        }
        command.arg(verb);
        command
    }

    fn command_on_it(&self, verb: &str) -> Command {
        let mut command = self.command(verb);
        command.args(["--name", &self.name]);
        command
    }
}

impl Cluster for Local {
    fn start(&self, log: &Log) -> Result<()> {
        let mut up = self.command_on_it("up");
        if let Extent::ControlPlane(_) = self.extent {
            up.arg("--control-plane");
        }
        log.run(up.arg("--cache").arg(&self.cache))
    }

    fn stop(&self, log: &Log) -> Result<()> {
        if !self.exists()? {
            return log.note(&format!("there is no cluster `{}`", self.name));
        }
        log.run(&mut self.command_on_it("down"))
    }

    fn kubeconfig(&self) -> Result<Option<PathBuf>> {
        kubeconfig_in(&self.status()?)
            .with_context(|| format!("failed to use the cluster `{}`", self.name))
    }

    fn load_image(&self, archive: &Path, log: &Log) -> Result<()> {
        log.run(self.command_on_it("load-image").arg(archive))
    }

    fn kubectl(&self) -> Result<Command> {
        let kubeconfig = self.kubeconfig()?.context("the cluster does not run")?;
        let mut kubectl = Command::new(&self.program);
        kubectl.arg("kubectl").env("KUBECONFIG", kubeconfig);
        Ok(kubectl)
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
