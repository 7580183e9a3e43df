//! Formatting: rustfmt and gofmt have the last word.

use std::path::Path;
use std::process::Command;

use anyhow::{Result, bail};

use super::Mode;
use crate::command;
use crate::stage::Log;

const GO_MODULES: [&str; 2] = ["tests/cluster", "tests/tools"];

pub(super) fn run(checkout: &Path, mode: Mode, log: &Log) -> Result<()> {
    let rust = log.run(&mut rustfmt(checkout, mode));
    let go = run_gofmt(checkout, mode, log);
    rust.and(go)
}

fn rustfmt(checkout: &Path, mode: Mode) -> Command {
    let mut command = command::cargo(checkout);
    command.args(["fmt", "--all"]);
    if mode == Mode::Check {
        command.arg("--check");
    }
    command
}

/// gofmt succeeds whatever it finds: in check mode, a file that it lists is the failure.
fn run_gofmt(checkout: &Path, mode: Mode, log: &Log) -> Result<()> {
    let mut command = Command::new("gofmt");
    command
        .current_dir(checkout)
        .args([flag(mode), "-s"])
        .args(GO_MODULES);
    let output = log.capture(&mut command)?;
    log.note(&output.text)?;
    if !output.succeeded {
        bail!("gofmt could not read every file");
    }
    match output.text.lines().count() {
        0 => Ok(()),
        count => bail!("{count} Go files are not formatted"),
    }
}

fn flag(mode: Mode) -> &'static str {
    match mode {
        Mode::Check => "-l",
        Mode::Fix => "-w",
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn an_unformatted_go_file_is_found_and_mended() {
        let checkout = tempfile::tempdir().unwrap();
        for module in GO_MODULES {
            fs::create_dir_all(checkout.path().join(module)).unwrap();
        }
        let file = checkout.path().join("tests/tools/tools.go");
        fs::write(&file, "package tools\nvar  a=1\n").unwrap();
        let log = Log::create(checkout.path(), "log").unwrap();
        assert!(run_gofmt(checkout.path(), Mode::Check, &log).is_err());
        run_gofmt(checkout.path(), Mode::Fix, &log).unwrap();
        run_gofmt(checkout.path(), Mode::Check, &log).unwrap();
    }
}
