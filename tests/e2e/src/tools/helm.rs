//! The command `helm`.

use std::ffi::OsStr;

use anyhow::{Context, Result, ensure};
use tempfile::TempDir;
use tokio::process::Command;

use crate::binaries;

/// Runs Helm, with no configuration and no cache of the person who runs the test, and returns what it
/// printed.
///
/// # Errors
/// When it ends with another code than 0: with what it wrote to stderr.
pub async fn helm<A: AsRef<OsStr>>(arguments: &[A]) -> Result<String> {
    let home = TempDir::new().context("failed to make a home for helm")?;
    let output = Command::new(binaries::path("helm")?)
        .args(arguments)
        .env("HELM_CONFIG_HOME", home.path())
        .env("HELM_CACHE_HOME", home.path())
        .env("HELM_DATA_HOME", home.path())
        .output()
        .await
        .context("failed to start helm")?;
    let complaint = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "helm failed: {}", complaint.trim());
    String::from_utf8(output.stdout).context("helm printed no UTF-8")
}
