//! What cargo builds, as it tells programs.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde::Deserialize;

use crate::command;
use crate::stage::Log;

/// A line of cargo's that says what was built.
#[derive(Debug, Deserialize)]
pub(crate) struct Artifact {
    pub(crate) package_id: String,
    pub(crate) manifest_path: PathBuf,
    pub(crate) target: Target,
    pub(crate) profile: Profile,
    pub(crate) executable: Option<PathBuf>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Target {
    pub(crate) kind: Vec<String>,
    pub(crate) name: String,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Profile {
    pub(crate) test: bool,
}

/// Has cargo build what the command names.
///
/// # Errors
/// When it does not build; why is in the log.
pub(crate) fn build(cargo: &mut Command, log: &Log) -> Result<Vec<Artifact>> {
    cargo.args(["--message-format", "json-render-diagnostics"]);
    let built = log.capture(cargo)?;
    if !built.succeeded {
        bail!("`{}` failed", command::shown(cargo));
    }
    artifacts(&built.text)
}

/// The artifacts among cargo's messages.
pub(crate) fn artifacts(messages: &str) -> Result<Vec<Artifact>> {
    let lines = messages
        .lines()
        .filter(|line| line.contains(r#""reason":"compiler-artifact""#));
    lines
        .map(|line| serde_json::from_str(line).context("failed to read what cargo says it built"))
        .collect()
}
