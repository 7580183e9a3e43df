//! `cargo xtask kubeconfig` and `cargo xtask kubectl`: the way to the running cluster.

use std::os::unix::process::CommandExt;

use anyhow::{Context, Result, bail};

use crate::args::{ClusterName, KubectlOptions};
use crate::cluster::{self, Cluster};
use crate::command;
use crate::workplace::Workplace;

/// Prints the path and nothing else.
pub(crate) fn run(workplace: &Workplace, options: &ClusterName) -> Result<()> {
    let kubeconfig = running(workplace, &options.name)?.kubeconfig()?;
    println!(
        "{}",
        kubeconfig.context("the cluster has just ended")?.display()
    );
    Ok(())
}

/// Becomes kubectl.
pub(crate) fn kubectl(workplace: &Workplace, options: &KubectlOptions) -> Result<()> {
    let cluster = running(workplace, &options.cluster_name.name)?;
    let mut kubectl = cluster.kubectl()?;
    let error = kubectl.args(&options.arguments).exec();
    Err(command::start_error(&kubectl, &error))
}

fn running(workplace: &Workplace, name: &str) -> Result<Box<dyn Cluster>> {
    match find(workplace, name)? {
        Some(cluster) => Ok(cluster),
        None => {
            bail!("no cluster `{name}` is running: start it with `cargo xtask up --name {name}`")
        }
    }
}

/// The cluster of this name, if it runs.
pub(crate) fn find(workplace: &Workplace, name: &str) -> Result<Option<Box<dyn Cluster>>> {
    for cluster in cluster::candidates(workplace, name) {
        if cluster.kubeconfig()?.is_some() {
            return Ok(Some(cluster));
        }
    }
    Ok(None)
}
