//! The image with the host and the plugins.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;

use super::binaries;
use crate::stage::Log;
use crate::workplace::Workplace;

/// The name that everything in `deploy/` runs.
const NAME: &str = concat!("windlass.dev/windlass:", env!("CARGO_PKG_VERSION"));

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
    let plugins = make_plugins(workplace, log)?;
    for file in files_of(&plugins)? {
        let inside = file.strip_prefix(&plugins)?.display().to_string();
        let file = file.display();
        image
            .arg("--file")
            .arg(format!("{file}:{PLUGINS}/{inside}"));
    }
    log.run(&mut image)
}

/// An OCI layout with a tag for each plugin, made by the host's own command, and `compiled` in it.
fn make_plugins(workplace: &Workplace, log: &Log) -> Result<PathBuf> {
    let folder = workplace.cache().join("images/plugins");
    let blobs = folder.join("blobs");
    if blobs.exists() {
        fs::remove_dir_all(&blobs)?;
        fs::remove_file(folder.join("index.json"))?;
    }
    let shipped = binaries::shipped(workplace)?;
    for plugin in &shipped {
        let mut push = Command::new(binaries::host_binary(workplace));
        push.args(["plugin", "push"]).arg(&plugin.component);
        log.run(push.arg(format!("{}:{}", folder.display(), plugin.tag())))?;
    }
    // Compiled once and for all hosts, not by each when it starts.
    let mut compile = Command::new(binaries::host_binary(workplace));
    compile.args(["plugin", "compile", "--into"]);
    compile.arg(folder.join("compiled"));
    log.run(compile.args(shipped.iter().map(|plugin| &plugin.component)))?;
    Ok(folder)
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

#[cfg(test)]
mod tests {
    use super::NAME;

    /// What `key` says in a file.
    fn value<'a>(text: &'a str, key: &str) -> &'a str {
        let lines = text.lines().map(|line| line.trim_start_matches([' ', '-']));
        let mut values = lines.filter_map(|line| line.strip_prefix(key)?.strip_prefix(": "));
        let value = values.next().unwrap_or_default();
        value.split(' ').next().unwrap_or_default()
    }

    #[test]
    fn the_host_and_the_plugins_are_installed_with_the_image_that_is_loaded() {
        let host = include_str!("../../../../deploy/kustomize/base/deployment.yaml");
        let mysql = include_str!("../../../../deploy/plugins/mysql.yaml");
        let prometheus = include_str!("../../../../deploy/plugins/prometheus.yaml");
        let named = [
            value(host, "image"),
            value(mysql, "hostImage"),
            value(prometheus, "reloaderImage"),
        ];
        assert_eq!(named, [NAME; 3]);
    }

    #[test]
    fn the_one_place_to_name_another_image_changes_nothing_by_itself() {
        let place = include_str!("../../../../deploy/kustomize/image/kustomization.yaml");
        let kept = value(place, "name");
        assert_eq!(value(place, "newName"), kept);
        assert_eq!(format!("{kept}:{}", value(place, "newTag")), NAME);
    }
}
