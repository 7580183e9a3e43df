//! Where a cluster comes from, and how it is started, found and taken down.

mod choose;
mod containers;
mod current;
mod local;

pub(crate) use choose::{Choice, choose};
pub(crate) use containers::{Containers, Tool, installed_tool};
pub(crate) use current::Current;
pub(crate) use local::Local;

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::stage::Log;
use crate::workplace::Workplace;

/// A cluster from one source.
pub(crate) trait Cluster: Sync {
    /// Starts it, finishes a half-made one, or leaves a running one as it is.
    fn start(&self, log: &Log) -> Result<()>;

    /// Takes it down; one that is not there is no error.
    fn stop(&self, log: &Log) -> Result<()>;

    /// Its kubeconfig, when it runs.
    fn kubeconfig(&self) -> Result<Option<PathBuf>>;

    /// Gives its nodes the images of an archive.
    fn load_image(&self, archive: &Path, log: &Log) -> Result<()>;

    /// A kubectl that talks to it.
    fn kubectl(&self) -> Result<Command>;
}

/// The cluster that a choice stands for.
pub(crate) fn open(choice: Choice, workplace: &Workplace, name: &str) -> Box<dyn Cluster> {
    match choice {
        Choice::Current => Box::new(Current),
        Choice::Containers(tool) => Box::new(Containers::new(tool, workplace, name)),
        Choice::Local => Box::new(Local::new(workplace, name)),
    }
}

/// The clusters of this name that this command may have started, whatever their source.
pub(crate) fn candidates(workplace: &Workplace, name: &str) -> Vec<Box<dyn Cluster>> {
    let containers = installed_tool().map(Choice::Containers);
    let local = Local::is_built(workplace).then_some(Choice::Local);
    local
        .into_iter()
        .chain(containers)
        .map(|choice| open(choice, workplace, name))
        .collect()
}

/// The kubectl that a person has installed, for a cluster that brings none.
fn installed_kubectl(cluster: &dyn Cluster) -> Result<Command> {
    let kubeconfig = cluster.kubeconfig()?.context("the cluster does not run")?;
    let mut kubectl = Command::new("kubectl");
    kubectl.env("KUBECONFIG", kubeconfig);
    Ok(kubectl)
}
