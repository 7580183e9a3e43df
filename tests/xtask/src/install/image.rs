//! The image with the host and the plugins.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;

use super::binaries;
use crate::stage::Log;
use crate::workplace::Workplace;

/// The name that `deploy/kustomize` runs.
const NAME: &str = "windlass.dev/windlass:dev";

/// Where the image has the layout with the plugins.
const PLUGINS: &str = "/plugins";

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
    let layout = make_layout(workplace, log)?;
    for file in files_of(&layout)? {
        let inside = file.strip_prefix(&layout)?.display().to_string();
        let file = file.display();
        image
            .arg("--file")
            .arg(format!("{file}:{PLUGINS}/{inside}"));
    }
    log.run(&mut image)
}

/// An OCI layout with a tag for each plugin, made by the host's own command.
fn make_layout(workplace: &Workplace, log: &Log) -> Result<PathBuf> {
    let layout = workplace.cache().join("images/plugins");
    if layout.exists() {
        fs::remove_dir_all(&layout)?;
    }
    for plugin in binaries::shipped(workplace)? {
        let mut push = Command::new(binaries::host_binary(workplace));
        push.args(["plugin", "push"]).arg(&plugin.component);
        log.run(push.arg(format!("{}:{}", layout.display(), plugin.tag())))?;
    }
    Ok(layout)
}

fn files_of(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        match path.is_dir() {
            true => files.extend(files_of(&path)?),
            false => files.push(path),
        }
    }
    files.sort();
    Ok(files)
}

/// Some bytes of the archive's digest: two archives that differ have different ones.
pub(super) fn digest(workplace: &Workplace) -> Result<String> {
    let mut sum = Command::new("sha256sum");
    let line = crate::command::capture(sum.arg(fs::canonicalize(archive(workplace))?))?;
    Ok(line.chars().take(16).collect())
}
