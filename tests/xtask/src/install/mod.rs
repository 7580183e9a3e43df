//! Putting Windlass itself into a cluster: what is built, the image, what is applied.

mod binaries;
mod image;
mod objects;
mod outside;
mod roles;

pub(crate) use binaries::{build_hostile, host_binary, outside_configuration, run_plugins};
pub(crate) use objects::{apply_sample, show_sample};
pub(crate) use outside::{run_outside, without_host};

use anyhow::Result;

use crate::cluster::Cluster;
use crate::prepare;
use crate::stage::{self, Progress, Stage};
use crate::workplace::Workplace;

pub(crate) const HOST: &str = "host";
pub(crate) const PLUGINS: &str = "plugins";
pub(crate) const IMAGE: &str = "host image";
pub(crate) const INSTALL: &str = "install";
pub(crate) const ROLES: &str = "tidy: roles";

/// Builds the host alone: where its tests are built too, that build makes it.
pub(crate) fn host(workplace: &Workplace) -> Stage<'_> {
    Stage::new(HOST, |log| binaries::build_host(workplace, log))
}

/// Builds the plugins as components.
pub(crate) fn plugins(workplace: &Workplace) -> Stage<'_> {
    Stage::new(PLUGINS, |log| binaries::build_plugins(workplace, log))
        .needs(&[prepare::WASM_TARGET])
}

/// Checks that the roles are what the plugins need; the host is built by the stage `built`.
pub(crate) fn check_roles<'a>(workplace: &'a Workplace, built: &'static str) -> Stage<'a> {
    Stage::new(ROLES, |log| roles::check(workplace, log))
        .needs(&[built, PLUGINS])
        .advice("run `cargo xtask roles` and review what changed")
}

/// `cargo xtask roles`: writes the roles anew.
pub(crate) fn run_roles(workplace: &Workplace) -> Result<()> {
    let write = Stage::new(ROLES, |log| roles::write(workplace, log)).needs(&[HOST, PLUGINS]);
    let stages = vec![
        prepare::wasm_target(),
        plugins(workplace).after(&[HOST]),
        host(workplace),
        write,
    ];
    let logs = workplace.fresh_logs("roles")?;
    stage::require_all(&stage::run(stages, &logs, &Progress::detect())?)
}

/// Makes the image and installs it; the host is built by the stage `built`, the cluster is up
/// after the stage `up`.
pub(crate) fn in_cluster<'a>(
    workplace: &'a Workplace,
    cluster: &'a dyn Cluster,
    built: &'static str,
    up: &'static str,
) -> [Stage<'a>; 2] {
    let image = Stage::new(IMAGE, |log| image::make(workplace, log)).needs(&[
        built,
        PLUGINS,
        prepare::IMAGE_MAKER,
    ]);
    let install = Stage::new(INSTALL, |log| objects::install(workplace, cluster, log))
        .needs(&[IMAGE, up])
        .advice("look at `cargo xtask kubectl -- -n windlass-system get pods,events` and at `… describe plugins`");
    [image, install]
}
