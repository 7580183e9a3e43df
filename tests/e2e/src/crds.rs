//! The CRDs of the cluster, exchanged for others of the same names while a scenario has the host alone.

use std::path::{Path, PathBuf};

use anyhow::Result;

use crate::cluster::Cluster;

/// CRDs that stand in for Windlass's own until this is dropped.
#[must_use = "Windlass's own CRDs come back when this is dropped"]
pub struct Exchanged {
    cluster: Cluster,
    own: Vec<PathBuf>,
}

/// Applies other CRDs over Windlass's own, file by file: `others` and `own` hold files of the same names.
///
/// # Errors
/// When kubectl refuses one of them.
pub fn exchange(cluster: &Cluster, others: &Path, own: &Path, files: &[&str]) -> Result<Exchanged> {
    let exchanged = Exchanged {
        cluster: cluster.clone(),
        own: files.iter().map(|file| own.join(file)).collect(),
    };
    for file in files {
        apply(cluster, &others.join(file))?;
    }
    Ok(exchanged)
}

fn apply(cluster: &Cluster, file: &Path) -> Result<()> {
    let file = file.to_string_lossy();
    cluster.kubectl_now(&["apply", "--server-side", "--force-conflicts", "-f", &file])
}

impl Drop for Exchanged {
    fn drop(&mut self) {
        for file in &self.own {
            if let Err(error) = apply(&self.cluster, file) {
                eprintln!("{} is not back: {error:#}", file.display());
            }
        }
    }
}
