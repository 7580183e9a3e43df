//! The host and the plugins, as cargo builds them.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::command;
use crate::stage::Log;
use crate::workplace::Workplace;

/// A plugin that ships with the host: one for each configuration in `deploy/plugins`.
pub(super) struct Plugin {
    /// As its configuration's file is called.
    name: String,
    /// What cargo made of it.
    pub(super) component: PathBuf,
    /// The configuration that an installation has.
    configuration: PathBuf,
}

impl Plugin {
    fn new(workplace: &Workplace, configuration: PathBuf) -> Option<Self> {
        let name = configuration.file_stem()?.to_str()?.to_owned();
        let built = workplace.target().join("wasm32-wasip2/guest");
        Some(Self {
            component: built.join(format!("windlass_{name}.wasm")),
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
pub(super) fn shipped(workplace: &Workplace) -> Result<Vec<Plugin>> {
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

pub(super) fn build_plugins(workplace: &Workplace, log: &Log) -> Result<()> {
    let mut cargo = cargo_build(workplace);
    cargo.args(["--profile", "guest", "--target", "wasm32-wasip2", "--lib"]);
    for plugin in shipped(workplace)? {
        cargo.args(["--package", &plugin.package()]);
    }
    log.run(&mut cargo)
}

fn cargo_build(workplace: &Workplace) -> Command {
    let mut cargo = command::cargo(workplace.checkout());
    cargo.args(["build", "--locked"]);
    cargo
}

pub(super) fn host_binary(workplace: &Workplace) -> PathBuf {
    workplace.target().join("release/windlass")
}

/// A folder with the configuration that an installation has, for a host that runs beside the
/// cluster and finds the components where cargo puts them.
pub(super) fn outside_configuration(workplace: &Workplace) -> Result<PathBuf> {
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
