//! `deploy/kustomize/base/rbac.yaml`: what the host may do, generated from what the plugins are granted.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, bail};

use super::binaries;
use crate::stage::Log;
use crate::workplace::Workplace;

/// Fails when the file is not what `windlass rbac` prints.
pub(super) fn check(workplace: &Workplace, log: &Log) -> Result<()> {
    let there = fs::read_to_string(file(workplace)).unwrap_or_default();
    if there != generated(workplace, log)? {
        bail!("{} is out of date", file(workplace).display());
    }
    Ok(())
}

/// Writes the file.
pub(super) fn write(workplace: &Workplace, log: &Log) -> Result<()> {
    let file = file(workplace);
    fs::write(&file, generated(workplace, log)?)
        .with_context(|| format!("failed to write {}", file.display()))
}

fn file(workplace: &Workplace) -> PathBuf {
    workplace.checkout().join("deploy/kustomize/base/rbac.yaml")
}

fn generated(workplace: &Workplace, log: &Log) -> Result<String> {
    let mut rbac = Command::new(binaries::host_binary(workplace));
    rbac.arg("rbac")
        .arg("--plugins")
        .arg(binaries::outside_configuration(workplace)?)
        .arg("--cache")
        .arg(workplace.cache().join("compiled"));
    let printed = log.capture(&mut rbac)?;
    if !printed.succeeded {
        bail!("`windlass rbac` failed");
    }
    Ok(format!(
        "# Generated from deploy/plugins by `cargo xtask roles`.\n{}",
        printed.text
    ))
}
