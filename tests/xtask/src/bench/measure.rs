//! How each measure is taken.

use std::process::Command;

use anyhow::{Context, Result, bail};

use super::Ground;
use crate::args::Measure;
use crate::install;
use crate::prepare;

/// The program that takes it, and what it is told.
pub(super) fn command(measure: Measure, ground: &Ground<'_>) -> Result<Command> {
    let program = |name: &str| {
        let built = ground.programs.get(name);
        let built = built.with_context(|| format!("{name} is not built"));
        built.map(Command::new)
    };
    let host = install::host_binary(ground.workplace);
    let mut command;
    match measure {
        Measure::Round => {
            command = program("redis")?;
            command.arg("round");
        }
        Measure::Idle => {
            command = program("redis")?;
            command.args(["idle", "--host"]).arg(host);
        }
        Measure::Crowd => {
            command = program("redis")?;
            command.args(["crowd", "--objects", &ground.objects.to_string()]);
        }
        Measure::Plugins => {
            command = program("plugins")?;
            command.arg("--host").arg(host);
            command.arg("--hostile").arg(ground.hostile);
        }
        Measure::Prometheus => {
            let upstream = ground.workplace.program(prepare::UPSTREAM_PROGRAM);
            let crds = prepare::upstream_crds(ground.workplace)?;
            command = program("prometheus")?;
            command.arg("--host").arg(host);
            command.arg("--upstream").arg(upstream);
            command.arg("--crds").arg(crds);
            command.arg("--audit-log").arg(&ground.audit_log);
        }
        Measure::Failover => bail!("failover is measured by scenarios, on a cluster"),
    }
    Ok(command)
}
