//! Licences, bans and sources of dependencies, as deny.toml has them.

use std::process::Command;

use anyhow::Result;

use crate::stage::Log;
use crate::workplace::Workplace;

/// One version, so that everybody's check says the same.
const CARGO_DENY: &str = "cargo-deny@0.20.2";

/// Installs cargo-deny when it is not there, and lets it look.
///
/// Its advisory database is a git repository on another host and is not asked for: this check
/// works wherever the crates themselves can be had.
pub(super) fn run(workplace: &Workplace, log: &Log) -> Result<()> {
    let program = workplace.program("cargo-deny");
    if !program.is_file() {
        log.run(&mut install(workplace))?;
    }
    let mut check = Command::new(program);
    check.current_dir(workplace.checkout());
    log.run(check.args([
        "--locked",
        "--all-features",
        "check",
        "bans",
        "licenses",
        "sources",
    ]))
}

/// Into a target folder of its own: in the shared one it would wait for the workspace's build.
fn install(workplace: &Workplace) -> Command {
    let mut command = Command::new("cargo");
    command
        .args(["install", "--locked", "--quiet", "--root"])
        .arg(workplace.cache())
        .arg(CARGO_DENY)
        .env_remove("CARGO_TARGET_DIR");
    command
}
