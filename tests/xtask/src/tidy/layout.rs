//! The layout of the checkout, held against the rules.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};

use super::rules;
use crate::stage::Log;
use crate::workplace::project_paths;

/// A file of the project: its path in the checkout, and its text unless it is binary or gone.
pub(super) struct ProjectFile {
    pub(super) path: String,
    pub(super) text: String,
}

/// Looks at every file that git tracks or would track.
pub(super) fn run(checkout: &Path, log: &Log) -> Result<()> {
    let files = project_files(checkout)?;
    let violations = rules::violations(&files);
    for violation in &violations {
        log.note(violation)?;
    }
    match violations.len() {
        0 => Ok(()),
        count => bail!("{count} breaches of the layout's rules"),
    }
}

fn project_files(checkout: &Path) -> Result<Vec<ProjectFile>> {
    let paths = project_paths(checkout)?;
    paths.iter().map(|path| read(checkout, path)).collect()
}

fn read(checkout: &Path, path: &str) -> Result<ProjectFile> {
    let bytes = fs::read(checkout.join(path)).with_context(|| format!("failed to read {path}"))?;
    // A file that is no text has no lines to look at.
    let text = String::from_utf8(bytes).unwrap_or_default();
    Ok(ProjectFile {
        path: path.to_owned(),
        text,
    })
}
