//! The host as a process beside the cluster, for people who work on it.

use std::os::unix::process::CommandExt;
use std::process::Command;

use anyhow::{Context, Result};

use super::binaries;
use super::objects::{NAMESPACE, sample};
use crate::cluster::Cluster;
use crate::command;
use crate::stage::Log;
use crate::workplace::Workplace;

/// Applies what the host needs but not the host, which would be a second one.
pub(crate) fn without_host(workplace: &Workplace, cluster: &dyn Cluster, log: &Log) -> Result<()> {
    let deploy = workplace.checkout().join("deploy/kustomize/base");
    let mut kubectl = cluster.kubectl()?;
    kubectl.args(["apply", "--server-side", "--force-conflicts", "-f"]);
    kubectl.arg(deploy.join("namespace.yaml"));
    log.run(&mut kubectl)?;
    let mut kubectl = cluster.kubectl()?;
    kubectl.args(["apply", "--server-side", "--force-conflicts", "-k"]);
    log.run(kubectl.arg(workplace.checkout().join("crds")))?;
    let mut kubectl = cluster.kubectl()?;
    kubectl.args(["delete", "deployment", "windlass", "--namespace", NAMESPACE]);
    log.run(kubectl.arg("--ignore-not-found"))?;
    log.run(
        cluster
            .kubectl()?
            .args(["apply", "-f"])
            .arg(sample(workplace)),
    )
}

/// Becomes the host, with the configuration of an installation and a person's own rights.
pub(crate) fn run_outside(workplace: &Workplace, cluster: &dyn Cluster) -> Result<()> {
    let kubeconfig = cluster.kubeconfig()?.context("the cluster does not run")?;
    let mut host = Command::new(binaries::host_binary(workplace));
    host.arg("run")
        .args(["--namespace", NAMESPACE, "--listen", "127.0.0.1:8080"])
        .arg("--plugins")
        .arg(binaries::outside_configuration(workplace)?)
        .arg("--cache")
        .arg(workplace.cache().join("compiled"))
        .env("KUBECONFIG", kubeconfig);
    println!("the host runs here; Ctrl-C ends it, the cluster stays\n");
    let error = host.exec();
    Err(command::start_error(&host, &error))
}
