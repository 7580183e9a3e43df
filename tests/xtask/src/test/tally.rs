//! Counts of tests, and how they are read from what test runners print.

use std::iter::Sum;
use std::ops::Add;

use anyhow::{Result, bail};
use serde::Deserialize;

/// How many tests passed, failed and were skipped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) passed: usize,
    pub(crate) failed: usize,
    pub(crate) skipped: usize,
}

impl Tally {
    pub(crate) const PASSED: Self = Self {
        passed: 1,
        failed: 0,
        skipped: 0,
    };
    pub(crate) const FAILED: Self = Self {
        passed: 0,
        failed: 1,
        skipped: 0,
    };

    /// Reads every `test result:` line of Rust's test harness.
    pub(crate) fn from_rust(output: &str) -> Self {
        output
            .lines()
            .filter_map(|line| line.strip_prefix("test result: "))
            .map(result_line)
            .sum()
    }

    /// Reads the last `test result:` line: what tests print themselves may hold others.
    pub(crate) fn from_program(output: &str) -> Self {
        output
            .lines()
            .rev()
            .find_map(|line| line.strip_prefix("test result: "))
            .map(result_line)
            .unwrap_or_default()
    }

    /// Reads the events of `go test -json`. A package that fails without a failed test (it did
    /// not compile, or its vetting failed) counts as one failure.
    pub(crate) fn from_go(output: &str) -> Self {
        let events: Vec<GoEvent> = output
            .lines()
            .filter_map(|line| serde_json::from_str(line).ok())
            .collect();
        let tests = events.iter().filter(|event| event.test.is_some());
        let mut tally: Self = tests.map(GoEvent::tally).sum();
        let failed_alone = |event: &&GoEvent| {
            let in_same_package =
                |other: &&GoEvent| other.package == event.package && other.test.is_some();
            event.test.is_none()
                && event.action == "fail"
                && !events
                    .iter()
                    .filter(in_same_package)
                    .any(|other| other.action == "fail")
        };
        tally.failed += events.iter().filter(failed_alone).count();
        tally
    }

    /// A runner that did not succeed although no test failed died on the way: one failure.
    pub(crate) fn or_failed(self, succeeded: bool) -> Self {
        if succeeded || self.failed > 0 {
            self
        } else {
            self + Self::FAILED
        }
    }

    /// How many tests there were.
    pub(crate) fn total(self) -> usize {
        self.passed + self.failed + self.skipped
    }

    /// Succeeds when tests ran and none failed or was skipped.
    pub(crate) fn require_clean(self) -> Result<()> {
        match self {
            Self {
                passed: 0,
                failed: 0,
                ..
            } => bail!("no test ran"),
            Self {
                failed: 0,
                skipped: 0,
                ..
            } => Ok(()),
            Self {
                failed: 0, skipped, ..
            } => bail!("{skipped} skipped: no test may be"),
            Self { failed, .. } => bail!("{failed} of {} failed", self.total()),
        }
    }
}

impl std::fmt::Display for Tally {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} passed, {} failed", self.passed, self.failed)?;
        match self.skipped {
            0 => Ok(()),
            skipped => write!(f, ", {skipped} skipped"),
        }
    }
}

impl Add for Tally {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            passed: self.passed + other.passed,
            failed: self.failed + other.failed,
            skipped: self.skipped + other.skipped,
        }
    }
}

impl Sum for Tally {
    fn sum<I: Iterator<Item = Self>>(tallies: I) -> Self {
        tallies.fold(Self::default(), Add::add)
    }
}

/// `ok. 3 passed; 0 failed; 1 ignored; 0 measured; 2 filtered out; finished in 0.01s`
fn result_line(line: &str) -> Tally {
    let count = |what: &str| {
        let before = line
            .split(';')
            .find_map(|part| part.trim().strip_suffix(what));
        before
            .and_then(|text| text.split_whitespace().next_back()?.parse().ok())
            .unwrap_or(0)
    };
    Tally {
        passed: count("passed"),
        failed: count("failed"),
        skipped: count("ignored"),
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct GoEvent {
    action: String,
    #[serde(default)]
    package: String,
    test: Option<String>,
}

impl GoEvent {
    fn tally(&self) -> Tally {
        match self.action.as_str() {
            "pass" => Tally::PASSED,
            "fail" => Tally::FAILED,
            "skip" => Tally {
                skipped: 1,
                ..Tally::default()
            },
            _ => Tally::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_result_line_of_rust_counts() {
        let output = "running 4 tests\n\
            test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 2 filtered out; finished in 0.01s\n\
            \n\
            test result: FAILED. 1 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.01s\n";
        assert_eq!(
            Tally::from_rust(output),
            Tally {
                passed: 4,
                failed: 2,
                skipped: 1
            }
        );
    }

    #[test]
    fn results_that_a_test_prints_are_not_the_programs() {
        let output = "successes:\n\
            test result: ok. 7 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s\n\
            test result: ok. 2 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.01s\n";
        let tally = Tally::from_program(output);
        assert_eq!((tally.passed, tally.skipped), (2, 1));
        assert_eq!(Tally::from_program("killed"), Tally::default());
    }

    #[test]
    fn tests_of_go_count_one_each() {
        let output = r#"
            {"Action":"start","Package":"a"}
            {"Action":"run","Package":"a","Test":"TestOne"}
            {"Action":"output","Package":"a","Test":"TestOne","Output":"ok\n"}
            {"Action":"pass","Package":"a","Test":"TestOne","Elapsed":0.01}
            {"Action":"fail","Package":"a","Test":"TestTwo"}
            {"Action":"skip","Package":"a","Test":"TestThree"}
            {"Action":"fail","Package":"a","Elapsed":0.02}
            {"Action":"skip","Package":"without-tests"}"#;
        assert_eq!(
            Tally::from_go(output),
            Tally {
                passed: 1,
                failed: 1,
                skipped: 1
            }
        );
    }

    #[test]
    fn a_package_of_go_that_does_not_compile_is_a_failure() {
        let output = r#"
            {"ImportPath":"b [b.test]","Action":"build-output","Output":"undefined: x\n"}
            {"ImportPath":"b [b.test]","Action":"build-fail"}
            {"Action":"fail","Package":"b","Elapsed":0,"FailedBuild":"b [b.test]"}"#;
        assert_eq!(Tally::from_go(output), Tally::FAILED);
    }

    #[test]
    fn only_tests_that_ran_and_passed_are_clean() {
        assert!(Tally::PASSED.require_clean().is_ok());
        assert!(Tally::FAILED.require_clean().is_err());
        assert!(Tally::default().require_clean().is_err());
        assert!(
            Tally {
                skipped: 1,
                ..Tally::PASSED
            }
            .require_clean()
            .is_err()
        );
    }

    #[test]
    fn the_closing_line_reads_as_runners_write_it() {
        assert_eq!(Tally::PASSED.to_string(), "1 passed, 0 failed");
        let skipped = Tally {
            passed: 2,
            failed: 1,
            skipped: 3,
        };
        assert_eq!(skipped.to_string(), "2 passed, 1 failed, 3 skipped");
    }
}
