//! How each measure is taken.

use std::process::Command;

use anyhow::{Context, Result};

use super::Ground;
use crate::args::Measure;
use crate::install;
use crate::prepare;

/// The program that takes it, and what it is told.
pub(super) fn command(measure: Measure, ground: &Ground<'_>) -> Result<Command> {
    let name = match measure {
        Measure::Plugins => "plugins",
        Measure::Prometheus => "prometheus",
        Measure::Round | Measure::Idle | Measure::Crowd => "redis",
    };
    let program = ground.programs.get(name);
    let mut command = Command::new(program.with_context(|| format!("{name} is not built"))?);
    let host = install::host_binary(ground.workplace);
    match measure {
        Measure::Round => command.arg("round"),
        Measure::Idle => command.args(["idle", "--host"]).arg(host),
        Measure::Crowd => command.args(["crowd", "--objects", &ground.objects.to_string()]),
        Measure::Plugins => command
            .arg("--host")
            .arg(host)
            .arg("--hostile")
            .arg(ground.hostile),
        Measure::Prometheus => command
            .arg("--host")
            .arg(host)
            .arg("--upstream")
            .arg(ground.workplace.program(prepare::UPSTREAM_PROGRAM))
            .arg("--crds")
            .arg(prepare::upstream_crds(ground.workplace)?)
            .arg("--audit-log")
            .arg(&ground.audit_log),
    };
    Ok(command)
}
