//! `cargo xtask kubeconfig` and `cargo xtask kubectl`: the way to the running cluster.

use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Result, bail};

use crate::args::{ClusterName, KubectlOptions};
use crate::cluster;
use crate::command;
use crate::workplace::Workplace;

/// Prints the path and nothing else.
pub(crate) fn run(workplace: &Workplace, options: &ClusterName) -> Result<()> {
    println!(
        "{}",
        of_running_cluster(workplace, &options.name)?.display()
    );
    Ok(())
}

/// Becomes kubectl.
pub(crate) fn kubectl(workplace: &Workplace, options: &KubectlOptions) -> Result<()> {
    let kubeconfig = of_running_cluster(workplace, &options.cluster_name.name)?;
    let mut kubectl = Command::new(workplace.program("windlass-cluster"));
    kubectl
        .arg("kubectl")
        .args(&options.arguments)
        .env("KUBECONFIG", kubeconfig);
    let error = kubectl.exec();
    Err(command::start_error(&kubectl, &error))
}

fn of_running_cluster(workplace: &Workplace, name: &str) -> Result<PathBuf> {
    for cluster in cluster::candidates(workplace, name) {
        if let Some(path) = cluster.kubeconfig()? {
            return Ok(path);
        }
    }
    bail!("no cluster `{name}` is running: start one with `cargo xtask up`")
}
