//! The cluster that a person already has.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use super::{Cluster, installed_kubectl};
use crate::stage::Log;

/// The cluster of `KUBECONFIG`. It is never started nor stopped from here.
pub(crate) struct Current;

impl Cluster for Current {
    fn start(&self, log: &Log) -> Result<()> {
        let path = self.kubeconfig()?.context(
            "failed to find the current cluster: set KUBECONFIG to the path of its kubeconfig",
        )?;
        if !path.is_file() {
            bail!(
                "failed to find the kubeconfig {}: KUBECONFIG names it",
                path.display()
            );
        }
        log.note(&format!("using the cluster of {}", path.display()))
    }

    fn stop(&self, log: &Log) -> Result<()> {
        log.note("a cluster that was not started here is not stopped here")
    }

    fn kubeconfig(&self) -> Result<Option<PathBuf>> {
        Ok(env::var_os("KUBECONFIG")
            .filter(|path| !path.is_empty())
            .map(PathBuf::from))
    }

    fn load_image(&self, archive: &Path, _: &Log) -> Result<()> {
        bail!(
            "failed to load {} into the current cluster: one that was not made here takes images \
             from its registry only; run the host beside it with --outside",
            archive.display()
        )
    }

    fn kubectl(&self) -> Result<Command> {
        installed_kubectl(self)
    }
}
