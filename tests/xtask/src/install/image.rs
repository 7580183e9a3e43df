//! The image with the host and the plugins.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::Result;

use super::binaries;
use crate::stage::Log;
use crate::workplace::Workplace;

/// The name that `deploy/kustomize` runs.
const NAME: &str = "windlass.dev/windlass:dev";

/// Where the archive lies.
pub(super) fn archive(workplace: &Workplace) -> PathBuf {
    workplace.cache().join("images/host.tar")
}

pub(super) fn make(workplace: &Workplace, log: &Log) -> Result<()> {
    let mut image = Command::new(workplace.program("windlass-image"));
    image
        .args(["host", "--name", NAME, "--binary"])
        .arg(binaries::host_binary(workplace))
        .arg("--out")
        .arg(archive(workplace));
    for plugin in binaries::shipped(workplace)? {
        let here = plugin.component.display();
        image
            .arg("--file")
            .arg(format!("{here}:{}", plugin.image_path()));
    }
    log.run(&mut image)
}

/// Some bytes of the archive's digest: two archives that differ have different ones.
pub(super) fn digest(workplace: &Workplace) -> Result<String> {
    let mut sum = Command::new("sha256sum");
    let line = crate::command::capture(sum.arg(fs::canonicalize(archive(workplace))?))?;
    Ok(line.chars().take(16).collect())
}
