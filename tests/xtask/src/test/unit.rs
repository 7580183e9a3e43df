//! The layer of Rust tests that need nothing but the checkout.

use anyhow::Result;

use super::binaries::{Ground, TestBinary, on};
use super::tally::Tally;
use crate::command;
use crate::stage::Log;
use crate::workplace::Workplace;

/// Runs the tests, or those whose name contains `part`, and the examples in documentation.
pub(super) fn run(
    workplace: &Workplace,
    built: &[TestBinary],
    part: Option<&str>,
    log: &Log,
) -> Result<Tally> {
    let tests: Result<Tally> = on(built, Ground::Checkout)
        .map(|binary| binary.run(part.as_slice(), &[], log))
        .sum();
    let tally = tests?;
    match part {
        Some(_) => Ok(tally),
        None => Ok(tally + documentation(workplace, log)?),
    }
}

fn documentation(workplace: &Workplace, log: &Log) -> Result<Tally> {
    let mut cargo = command::cargo(workplace.checkout());
    cargo.args(["test", "--release", "--locked", "--workspace", "--doc"]);
    cargo.arg("--no-fail-fast");
    let output = log.capture(&mut cargo)?;
    log.note(&output.text)?;
    Ok(Tally::from_rust(&output.text).or_failed(output.succeeded))
}
