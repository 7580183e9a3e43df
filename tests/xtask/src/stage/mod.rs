//! Stages: pieces of work with needs, run side by side, each with a log and a visible clock.

mod graph;
mod log;
mod progress;

pub(crate) use graph::{Ending, Finished, Stage, run};
pub(crate) use log::Log;
pub(crate) use progress::Progress;

use std::time::Duration;

use anyhow::{Result, bail};

use crate::duration::Took;

/// Prints how long each stage took, in the order in which they ended.
pub(crate) fn print_times(finished: &[Finished]) {
    let row = |stage: &Finished| (stage.name, Some(stage.took), stage.ending.to_string());
    print_table(&finished.iter().map(row).collect::<Vec<_>>());
}

/// Prints rows of a name, how long it took, and what came of it.
pub(crate) fn print_table(rows: &[(&str, Option<Duration>, String)]) {
    let width = rows.iter().map(|(name, ..)| name.len()).max().unwrap_or(0);
    for (name, took, text) in rows {
        let took = took.map(|took| Took(took).to_string()).unwrap_or_default();
        println!("  {name:width$}  {took:>7}  {text}");
    }
}

/// Succeeds when every stage did, else names those that did not.
pub(crate) fn require_all(finished: &[Finished]) -> Result<()> {
    let failed: Vec<_> = finished
        .iter()
        .filter(|stage| matches!(stage.ending, Ending::Failed(_)))
        .map(|stage| stage.name)
        .collect();
    if !failed.is_empty() {
        bail!("failed at: {}; the reason is above", failed.join(", "));
    }
    Ok(())
}
