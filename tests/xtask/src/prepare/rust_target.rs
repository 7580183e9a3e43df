//! The Rust target that plugins are compiled for.

use std::path::Path;
use std::process::Command;

use anyhow::Result;

use crate::command;
use crate::stage::Log;

const TARGET: &str = "wasm32-wasip2";

/// Adds the target where the toolchain lacks it.
pub(super) fn install(log: &Log) -> Result<()> {
    let sysroot = command::capture(Command::new("rustc").args(["--print", "sysroot"]))?;
    if Path::new(sysroot.trim())
        .join("lib/rustlib")
        .join(TARGET)
        .exists()
    {
        return log.note("the target is there");
    }
    log.run(Command::new("rustup").args(["target", "add", TARGET]))
}
