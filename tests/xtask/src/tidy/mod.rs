//! `cargo xtask tidy`: what a reviewer should not have to look at.

mod dependencies;
mod format;
mod layout;
mod rules;

use anyhow::Result;

use crate::args::TidyOptions;
use crate::command;
use crate::stage::{self, Log, Progress, Stage};
use crate::workplace::Workplace;

const FORMAT: &str = "tidy: format";
pub(crate) const LINTS: &str = "tidy: lints";
pub(crate) const DEPENDENCIES: &str = "tidy: dependencies";
const LAYOUT: &str = "tidy: layout";

/// The names of all checks.
pub(crate) const CHECKS: [&str; 4] = [FORMAT, LINTS, DEPENDENCIES, LAYOUT];

/// What to do about what a program can mend by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    Check,
    Fix,
}

/// Runs all checks side by side.
pub(crate) fn run(workplace: &Workplace, options: &TidyOptions) -> Result<()> {
    let mode = if options.fix { Mode::Fix } else { Mode::Check };
    let logs = workplace.fresh_logs("tidy")?;
    let finished = stage::run(checks(workplace, mode), &logs, &Progress::detect())?;
    stage::require_all(&finished)
}

/// The checks, one stage each.
pub(crate) fn checks(workplace: &Workplace, mode: Mode) -> Vec<Stage<'_>> {
    let checkout = workplace.checkout();
    vec![
        Stage::new(FORMAT, move |log| format::run(checkout, mode, log))
            .advice("run `cargo xtask tidy --fix`"),
        Stage::new(LINTS, |log| lints(workplace, log)),
        Stage::new(DEPENDENCIES, |log| dependencies::run(workplace, log))
            .advice("deny.toml says what is allowed and why"),
        Stage::new(LAYOUT, |log| layout::run(checkout, log))
            .advice("CONTRIBUTING.md says what lives where"),
    ]
}

fn lints(workplace: &Workplace, log: &Log) -> Result<()> {
    let mut clippy = command::cargo(workplace.checkout());
    clippy.args(["clippy", "--release", "--locked", "--workspace"]);
    clippy.arg("--all-targets");
    log.run(clippy.args(["--", "--deny", "warnings"]))
}
