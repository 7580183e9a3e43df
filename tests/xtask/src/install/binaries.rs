//! The host and the plugins, as cargo builds them.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, bail};
use sha2::{Digest, Sha256};

use crate::command;
use crate::prepare;
use crate::stage::{self, Log, Progress};
use crate::workplace::Workplace;

/// A plugin that ships with the host: one for each configuration in `deploy/plugins`.
pub(crate) struct Plugin {
    /// As its configuration's file is called.
    pub(crate) name: String,
    /// What cargo made of it.
    pub(crate) component: PathBuf,
    /// The configuration that an installation has.
    configuration: PathBuf,
}

impl Plugin {
    fn new(workplace: &Workplace, configuration: PathBuf) -> Option<Self> {
        let name = configuration.file_stem()?.to_str()?.to_owned();
        Some(Self {
            component: component(workplace, &format!("windlass_{name}")),
            name,
            configuration,
        })
    }

    fn package(&self) -> String {
        format!("windlass-{}", self.name)
    }

    /// The tag of its artifact in the image's layout.
    pub(super) fn tag(&self) -> &str {
        &self.name
    }

    /// What its configuration says about its source.
    fn source(&self) -> String {
        format!("layout: /plugins:{}", self.name)
    }
}

/// All plugins that ship with the host, by name.
pub(crate) fn shipped(workplace: &Workplace) -> Result<Vec<Plugin>> {
    let folder = workplace.checkout().join("deploy/plugins");
    let failure = || format!("failed to read {}", folder.display());
    let mut files = Vec::new();
    for entry in fs::read_dir(&folder).with_context(failure)? {
        files.push(entry.with_context(failure)?.path());
    }
    files.retain(|file| !file.ends_with("kustomization.yaml"));
    files.sort();
    let plugins: Vec<Plugin> = files
        .into_iter()
        .filter_map(|file| Plugin::new(workplace, file))
        .collect();
    if plugins.is_empty() {
        bail!("no plugin is configured in {}", folder.display());
    }
    Ok(plugins)
}

/// Builds with the features that all packages together want, as the build of the tests does: another
/// choice of packages would build the dependencies once more.
pub(super) fn build_host(workplace: &Workplace, log: &Log) -> Result<()> {
    let mut cargo = cargo_build(workplace);
    log.run(cargo.args(["--release", "--workspace", "--bins"]))
}

/// Builds the components.
pub(crate) fn build_plugins(workplace: &Workplace, log: &Log) -> Result<()> {
    let mut cargo = component_build(workplace)?;
    for plugin in shipped(workplace)? {
        cargo.args(["--package", &plugin.package()]);
    }
    log.run(&mut cargo)
}

/// Builds the plugin that misbehaves on request; returns its component.
pub(crate) fn build_hostile(workplace: &Workplace, log: &Log) -> Result<PathBuf> {
    let mut cargo = component_build(workplace)?;
    log.run(cargo.args(["--package", "windlass-hostile-guest"]))?;
    Ok(component(workplace, "windlass_hostile_guest"))
}

/// Where cargo puts a component.
fn component(workplace: &Workplace, crate_name: &str) -> PathBuf {
    let built = workplace.target().join("wasm32-wasip2/guest");
    built.join(format!("{crate_name}.wasm"))
}

/// Where the checkout and cargo's home lie does not show in a component, so that whoever builds the same sources gets
/// the same digest.
fn component_build(workplace: &Workplace) -> Result<Command> {
    let mut cargo = cargo_build(workplace);
    cargo.args(["--profile", "guest", "--target", "wasm32-wasip2", "--lib"]);
    let places = [
        (cargo_home()?, "/cargo"),
        (workplace.checkout().to_owned(), "/windlass"),
    ];
    let remapped =
        places.map(|(place, name)| format!("--remap-path-prefix={}={name}", place.display()));
    // With a target named, this is for components alone.
    cargo.env("CARGO_ENCODED_RUSTFLAGS", remapped.join("\x1f"));
    Ok(cargo)
}

/// Where cargo keeps the sources of dependencies.
fn cargo_home() -> Result<PathBuf> {
    match std::env::var_os("CARGO_HOME").filter(|home| !home.is_empty()) {
        Some(home) => Ok(home.into()),
        None => Ok(std::env::home_dir()
            .context("failed to find cargo's home: neither CARGO_HOME nor HOME is set")?
            .join(".cargo")),
    }
}

fn cargo_build(workplace: &Workplace) -> Command {
    let mut cargo = command::cargo(workplace.checkout());
    cargo.args(["build", "--locked"]);
    cargo
}

/// `cargo xtask plugins`: builds the components and prints their digests.
pub(crate) fn run_plugins(workplace: &Workplace) -> Result<()> {
    let stages = vec![prepare::wasm_target(), super::plugins(workplace)];
    let logs = workplace.fresh_logs("plugins")?;
    stage::require_all(&stage::run(stages, &logs, &Progress::detect())?)?;
    for plugin in shipped(workplace)? {
        let path = &plugin.component;
        let bytes = fs::read(path).with_context(|| format!("failed to read {}", path.display()))?;
        let digest = hex::encode(Sha256::digest(bytes));
        println!("sha256:{digest}  {}", plugin.name);
    }
    Ok(())
}

pub(crate) fn host_binary(workplace: &Workplace) -> PathBuf {
    workplace.target().join("release/windlass")
}

/// A folder with the configuration that an installation has, for a host that runs beside the
/// cluster and finds the components where cargo puts them.
pub(crate) fn outside_configuration(workplace: &Workplace) -> Result<PathBuf> {
    let folder = workplace.cache().join("plugins");
    fs::create_dir_all(&folder).with_context(|| format!("failed to make {}", folder.display()))?;
    for plugin in shipped(workplace)? {
        let text = fs::read_to_string(&plugin.configuration)
            .with_context(|| format!("failed to read {}", plugin.configuration.display()))?;
        let file = format!("file: {}", plugin.component.display());
        let here = text.replace(&plugin.source(), &file);
        let path = folder.join(format!("{}.yaml", plugin.name));
        fs::write(&path, here).with_context(|| format!("failed to write {}", path.display()))?;
    }
    Ok(folder)
}
