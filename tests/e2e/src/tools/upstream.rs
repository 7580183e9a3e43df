//! What prometheus-operator ships, out of its own Go module.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

const MODULE: &str = "github.com/prometheus-operator/prometheus-operator";

/// The folder with upstream's CRDs, of the version that `tests/oracle` is pinned to.
///
/// # Errors
/// When Go does not have the module.
pub fn upstream_crds() -> Result<PathBuf> {
    let oracle = Path::new(env!("CARGO_MANIFEST_DIR")).join("../oracle");
    let listed = Command::new("go")
        .args(["list", "-m", "-f", "{{.Dir}}", MODULE])
        .current_dir(&oracle)
        .output()
        .context("failed to start go")?;
    let complaint = String::from_utf8_lossy(&listed.stderr);
    ensure!(listed.status.success(), "go list: {}", complaint.trim());
    let module = String::from_utf8(listed.stdout).context("go printed no UTF-8")?;
    let folder = Path::new(module.trim()).join("example/prometheus-operator-crd");
    ensure!(folder.is_dir(), "{} does not exist", folder.display());
    Ok(folder)
}
