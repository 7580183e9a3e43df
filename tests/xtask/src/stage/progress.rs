//! What a person sees while stages run: clocks on a terminal, plain lines elsewhere.

use std::fmt::Write as _;
use std::io::{IsTerminal, stderr};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::Result;
use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::log::{Log, last_lines};
use crate::duration::Took;
use crate::workplace::in_ci;

const TEMPLATE: &str = "{spinner} {prefix:20} {elapsed:>5}  {wide_msg}";

/// Where progress is shown.
pub(crate) struct Progress {
    bars: Option<MultiProgress>,
    running: Mutex<Vec<Running>>,
    say: fn(&str),
}

struct Running {
    name: &'static str,
    since: Instant,
    log: PathBuf,
    bar: ProgressBar,
}

impl Progress {
    /// Clocks where standard error is a terminal, plain lines where it is not.
    pub(crate) fn detect() -> Self {
        let bars = stderr().is_terminal().then(MultiProgress::new);
        Self {
            bars,
            running: Mutex::default(),
            say: |line| eprintln!("{line}"),
        }
    }

    /// Shows nothing.
    #[cfg(test)]
    pub(crate) fn silent() -> Self {
        Self {
            bars: None,
            running: Mutex::default(),
            say: |_| {},
        }
    }

    /// How often [`Self::refresh`] wants to be called: a clock moves, a plain line is a reminder.
    pub(super) fn interval(&self) -> Duration {
        match self.bars {
            Some(_) => Duration::from_millis(250),
            None => Duration::from_secs(60),
        }
    }

    pub(super) fn started(&self, name: &'static str, log: &Path) {
        let bar = match &self.bars {
            Some(bars) => bars.add(clock(name)),
            None => ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden()),
        };
        if self.bars.is_none() {
            self.line(&format!("start    {name}"));
        }
        self.with_running(|running| {
            running.push(Running {
                name,
                since: Instant::now(),
                log: log.to_owned(),
                bar,
            });
        });
    }

    pub(super) fn ended(
        &self,
        name: &str,
        took: Duration,
        result: &Result<()>,
        end: &FailureNote<'_>,
    ) {
        self.with_running(|running| {
            for stage in running.extract_if(.., |stage| stage.name == name) {
                stage.bar.finish_and_clear();
            }
        });
        let took = Took(took);
        match result {
            Ok(()) => self.line(&format!("done     {name} ({took})")),
            Err(error) => self.line(&format!("failed   {name} ({took}): {error:#}{end}")),
        }
    }

    pub(super) fn skipped(&self, name: &str, need: &str) {
        self.line(&format!("skipped  {name}: it needs `{need}`"));
    }

    /// Shows what the running stages are at.
    pub(super) fn refresh(&self) {
        match self.bars {
            Some(_) => self.with_running(|running| running.iter().for_each(Running::draw)),
            None => self.line(&self.reminder()),
        }
    }

    fn reminder(&self) -> String {
        let mut line = String::from("running ");
        self.with_running(|running| {
            for stage in running.iter() {
                // Writing to a string cannot fail.
                let _ = write!(line, " {} ({})", stage.name, Took(stage.since.elapsed()));
            }
        });
        line
    }

    fn line(&self, line: &str) {
        match &self.bars {
            Some(bars) => bars.suspend(|| (self.say)(line)),
            None => (self.say)(line),
        }
    }

    fn with_running(&self, act: impl FnOnce(&mut Vec<Running>)) {
        act(&mut self.running.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

impl Running {
    fn draw(&self) {
        let line = last_lines(&self.log, 1).pop().unwrap_or_default();
        self.bar.set_message(line.replace(char::is_control, " "));
        self.bar.tick();
    }
}

/// What is shown of a stage that failed: the end of its log and a way on.
pub(super) struct FailureNote<'a> {
    pub(super) log: &'a Log,
    pub(super) advice: &'a str,
}

impl std::fmt::Display for FailureNote<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for line in last_lines(self.log.path(), lines_on_failure()) {
            write!(f, "\n  | {line}")?;
        }
        write!(f, "\n  the whole log: {}", self.log.path().display())?;
        if !self.advice.is_empty() {
            write!(f, "\n  what to do: {}", self.advice)?;
        }
        Ok(())
    }
}

/// How many lines of a failed stage's log are shown: an automatic run's logs are gone with it.
fn lines_on_failure() -> usize {
    if in_ci() { 400 } else { 30 }
}

fn clock(name: &str) -> ProgressBar {
    let style = ProgressStyle::with_template(TEMPLATE);
    ProgressBar::new_spinner()
        .with_prefix(name.to_owned())
        .with_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_shows_the_end_of_its_log_and_what_to_do() {
        let folder = tempfile::tempdir().unwrap();
        let log = Log::create(folder.path(), "stage").unwrap();
        log.note("no space left").unwrap();
        let text = FailureNote {
            log: &log,
            advice: "free some",
        }
        .to_string();
        assert!(text.contains("| no space left"), "{text}");
        assert!(text.ends_with("what to do: free some"), "{text}");
    }
}
