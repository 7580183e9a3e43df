//! The host and the plugins, as cargo builds them.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result};

use crate::stage::Log;
use crate::workplace::Workplace;

/// The plugins that ship with the host: package, and name in `deploy/plugins`.
pub(super) const PLUGINS: [(&str, &str); 1] = [("windlass-redis", "redis")];

pub(super) fn build_host(workplace: &Workplace, log: &Log) -> Result<()> {
    let mut cargo = cargo_build(workplace);
    log.run(cargo.args(["--release", "--package", "windlass", "--bins"]))
}

pub(super) fn build_plugins(workplace: &Workplace, log: &Log) -> Result<()> {
    let mut cargo = cargo_build(workplace);
    cargo.args(["--profile", "guest", "--target", "wasm32-wasip2"]);
    for (package, _) in PLUGINS {
        cargo.args(["--package", package]);
    }
    log.run(&mut cargo)
}

fn cargo_build(workplace: &Workplace) -> Command {
    let mut cargo = Command::new("cargo");
    cargo
        .current_dir(workplace.checkout())
        .args(["build", "--locked"]);
    cargo
}

pub(super) fn host_binary(workplace: &Workplace) -> PathBuf {
    workplace.target().join("release/windlass")
}

/// The component of a package.
pub(super) fn component(workplace: &Workplace, package: &str) -> PathBuf {
    let file = format!("{}.wasm", package.replace('-', "_"));
    workplace.target().join("wasm32-wasip2/guest").join(file)
}

/// A folder with the components, and the configuration that an installation has, for a host that
/// runs beside the cluster.
pub(super) fn outside_configuration(workplace: &Workplace) -> Result<PathBuf> {
    let folder = workplace.cache().join("plugins");
    fs::create_dir_all(&folder).with_context(|| format!("failed to make {}", folder.display()))?;
    for (package, name) in PLUGINS {
        let installed = workplace
            .checkout()
            .join(format!("deploy/plugins/{name}.yaml"));
        let text = fs::read_to_string(&installed)
            .with_context(|| format!("failed to read {}", installed.display()))?;
        let component = component(workplace, package);
        let here = text.replace(&image_path(name), &component.to_string_lossy());
        let path = folder.join(format!("{name}.yaml"));
        fs::write(&path, here).with_context(|| format!("failed to write {}", path.display()))?;
    }
    Ok(folder)
}

/// Where an image has the component of the plugin of this name.
pub(super) fn image_path(name: &str) -> String {
    format!("/plugins/{name}.wasm")
}
