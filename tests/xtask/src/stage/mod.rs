//! Stages: pieces of work with needs, run side by side, each with a log and a visible clock.

mod graph;
mod log;
mod progress;

pub(crate) use graph::{Ending, Finished, Stage, run};
pub(crate) use log::Log;
pub(crate) use progress::Progress;

use anyhow::{Result, bail};

use crate::duration::Took;

/// Prints how long each stage took, in the order in which they ended.
pub(crate) fn print_times(finished: &[Finished]) {
    let width = finished
        .iter()
        .map(|stage| stage.name.len())
        .max()
        .unwrap_or(0);
    for stage in finished {
        println!(
            "  {:width$}  {:>7}  {}",
            stage.name,
            Took(stage.took),
            stage.ending
        );
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
