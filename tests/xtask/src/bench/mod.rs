//! `cargo xtask bench`: what the host costs, on a control plane of its own, and what faults cost on a cluster.

mod measure;
mod program;

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};

use crate::args::{BenchOptions, Measure, TestOptions};
use crate::cluster::Local;
use crate::command;
use crate::install;
use crate::prepare;
use crate::stage::{self, Log, Progress, Stage};
use crate::test;
use crate::workplace::Workplace;
use program::Programs;

/// The control plane that is measured on: one that a broken run left goes with `cargo xtask down`.
pub(crate) const BENCH_CONTROL_PLANE: &str = "bench-plane";

const BUILD: &str = "build";

/// Where a measure is taken.
struct Ground<'a> {
    workplace: &'a Workplace,
    programs: &'a Programs,
    /// The component of the plugin that misbehaves on request.
    hostile: &'a Path,
    kubeconfig: PathBuf,
    audit_log: PathBuf,
    objects: u32,
}

/// Builds what is measured, and measures one after the other, each on a fresh control plane.
pub(crate) fn run(workplace: &Workplace, options: &BenchOptions) -> Result<()> {
    let (on_cluster, measures): (Vec<_>, Vec<_>) = options
        .measures()
        .iter()
        .partition(|measure| **measure == Measure::Failover);
    if !measures.is_empty() {
        on_control_planes(workplace, options, &measures)?;
    }
    if !on_cluster.is_empty() {
        test::run(workplace, &faults(options.times))?;
    }
    Ok(())
}

/// The scenarios in which MySQL's clients write while something happens; repeated, they close with the figures.
fn faults(times: u32) -> TestOptions {
    TestOptions {
        quick: false,
        only: Some("mysql::".to_owned()),
        times,
    }
}

fn on_control_planes(
    workplace: &Workplace,
    options: &BenchOptions,
    measures: &[Measure],
) -> Result<()> {
    let logs = workplace.fresh_logs("bench")?;
    let (programs, hostile) = build(workplace, measures, &logs)?;
    let log = Log::create(&logs, "measures")?;
    for measure in measures {
        let plane = Local::control_plane(workplace, BENCH_CONTROL_PLANE);
        plane.during(&log, |kubeconfig| {
            let ground = Ground {
                workplace,
                programs: &programs,
                hostile: &hostile,
                kubeconfig,
                audit_log: plane.audit_log()?,
                objects: options.objects,
            };
            take(*measure, &ground)
        })?;
    }
    Ok(())
}

fn build(workplace: &Workplace, measures: &[Measure], logs: &Path) -> Result<(Programs, PathBuf)> {
    let mut built = (Programs::new(), PathBuf::new());
    let build = Stage::new(BUILD, |log| {
        built = (
            program::build(workplace, log)?,
            install::build_hostile(workplace, log)?,
        );
        Ok(())
    });
    let mut stages = vec![
        prepare::wasm_target(),
        prepare::cluster_binary(workplace),
        install::plugins(workplace).after(&[BUILD]),
        build.needs(&[install::HOST, prepare::WASM_TARGET]),
        install::host(workplace),
    ];
    if measures.contains(&Measure::Prometheus) {
        stages.push(prepare::upstream(workplace));
    }
    stage::require_all(&stage::run(stages, logs, &Progress::detect())?)?;
    Ok(built)
}

fn take(measure: Measure, ground: &Ground<'_>) -> Result<()> {
    let mut program = measure::command(measure, ground)?;
    program
        .env("WINDLASS_BENCH_KUBECONFIG", &ground.kubeconfig)
        .env(
            "WINDLASS_BENCH_PLUGINS",
            install::outside_configuration(ground.workplace)?,
        );
    println!();
    let status = program
        .status()
        .map_err(|error| command::start_error(&program, &error))?;
    match status.success() {
        true => Ok(()),
        false => bail!("`{}` ended with {status}", command::shown(&program)),
    }
}
