//! What ran, how it ended, and the closing line.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use anyhow::{Result, bail};

use super::tally::Tally;
use crate::stage::{self, Ending, Finished};
use crate::workplace::in_ci;

/// The counts of each stage that runs tests, while the stages run.
#[derive(Debug)]
pub(crate) struct Report {
    checks: Vec<&'static str>,
    tallies: Mutex<BTreeMap<&'static str, Tally>>,
}

impl Report {
    /// A report in which the stages of these names are one test each.
    pub(crate) fn new(checks: impl IntoIterator<Item = &'static str>) -> Self {
        Self {
            checks: checks.into_iter().collect(),
            tallies: Mutex::default(),
        }
    }

    /// Takes the counts of a stage; an error when they are not clean.
    pub(crate) fn record(&self, stage: &'static str, tally: Tally) -> Result<()> {
        let mut tallies = self.tallies.lock().unwrap_or_else(PoisonError::into_inner);
        tallies.insert(stage, tally);
        tally.require_clean()
    }

    /// Prints a line for each stage and the closing line.
    ///
    /// # Errors
    /// When anything failed or was skipped, or a layer of `left_out` should have run.
    pub(crate) fn close(&self, finished: &[Finished], left_out: &[&str]) -> Result<()> {
        let tallies = self.tallies.lock().unwrap_or_else(PoisonError::into_inner);
        let lines: Vec<_> = finished
            .iter()
            .map(|stage| self.line(stage, tallies.get(stage.name)))
            .collect();
        let ran = finished.iter().zip(&lines);
        let ran = ran.map(|(stage, line)| (stage.name, Some(stage.took), line.text.clone()));
        let not_run = left_out
            .iter()
            .map(|layer| (*layer, None, "not run".to_owned()));
        stage::print_table(&ran.chain(not_run).collect::<Vec<_>>());
        let total: Tally = lines.iter().map(|line| line.tally).sum();
        println!("\n{total}");
        judge(total, finished, left_out)
    }

    /// A stage that failed without a count of its own is one failure.
    fn line(&self, stage: &Finished, tally: Option<&Tally>) -> Line {
        let alone = match &stage.ending {
            Ending::Done if self.checks.contains(&stage.name) => Tally::PASSED,
            Ending::Done => Tally::default(),
            Ending::Failed(_) => Tally::FAILED,
            Ending::Skipped(_) => Tally {
                skipped: 1,
                ..Tally::default()
            },
        };
        match tally {
            Some(tally) => Line {
                tally: *tally,
                text: tally.to_string(),
            },
            None => Line {
                tally: alone,
                text: stage.ending.to_string(),
            },
        }
    }
}

/// What is said of one stage.
struct Line {
    tally: Tally,
    text: String,
}

fn judge(total: Tally, finished: &[Finished], left_out: &[&str]) -> Result<()> {
    if finished
        .iter()
        .any(|stage| !matches!(stage.ending, Ending::Done))
    {
        bail!("not everything passed; the reasons are above");
    }
    total.require_clean()?;
    if in_ci() && !left_out.is_empty() {
        bail!(
            "not everything ran: {} left out, which CI may not",
            left_out.join(", ")
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn finished(name: &'static str, ending: Ending) -> Finished {
        Finished {
            name,
            took: Duration::ZERO,
            ending,
        }
    }

    #[test]
    fn what_passed_is_a_success() {
        let report = Report::new([]);
        report.record("unit", Tally::PASSED).unwrap();
        report
            .close(&[finished("unit", Ending::Done)], &[])
            .unwrap();
    }

    #[test]
    fn a_stage_that_failed_or_was_skipped_fails_the_run() {
        let failed = || Ending::Failed(anyhow::anyhow!("on purpose"));
        for ending in [failed(), Ending::Skipped("build")] {
            let report = Report::new([]);
            report.record("unit", Tally::PASSED).unwrap();
            let stages = [finished("unit", Ending::Done), finished("cluster", ending)];
            assert!(report.close(&stages, &[]).is_err());
        }
    }

    #[test]
    fn a_check_counts_as_one_test() {
        let stages = [finished("tidy: format", Ending::Done)];
        assert!(
            Report::new([]).close(&stages, &[]).is_err(),
            "nothing was tested"
        );
        Report::new(["tidy: format"]).close(&stages, &[]).unwrap();
    }

    #[test]
    fn a_run_without_any_test_fails() {
        assert!(
            Report::new([])
                .close(&[finished("build", Ending::Done)], &[])
                .is_err()
        );
    }

    #[test]
    fn a_recorded_failure_is_an_error_at_once() {
        assert!(Report::new([]).record("go", Tally::FAILED).is_err());
    }
}
