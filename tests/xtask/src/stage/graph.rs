//! The order of stages: each starts as soon as what it needs is done.

use std::any::Any;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, Scope};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail};

use super::progress::FailureNote;
use super::{Log, Progress};

type Work<'a> = Box<dyn FnOnce(&Log) -> Result<()> + Send + 'a>;

/// One piece of work.
pub(crate) struct Stage<'a> {
    name: &'static str,
    needs: Vec<&'static str>,
    after: Vec<&'static str>,
    advice: &'static str,
    work: Work<'a>,
}

impl<'a> Stage<'a> {
    /// A stage that needs nothing.
    pub(crate) fn new(
        name: &'static str,
        work: impl FnOnce(&Log) -> Result<()> + Send + 'a,
    ) -> Self {
        Self {
            name,
            needs: vec![],
            after: vec![],
            advice: "",
            work: Box::new(work),
        }
    }

    /// Starts only when these are done; is skipped when one of them is not.
    pub(crate) fn needs(mut self, names: &[&'static str]) -> Self {
        self.needs.extend(names);
        self
    }

    /// Starts only when these have ended, well or not; those that are not part of the run are
    /// left out. For stages that would only be in each other's way.
    pub(crate) fn after(mut self, names: &[&'static str]) -> Self {
        self.after.extend(names);
        self
    }

    /// What a person may do when this stage fails.
    pub(crate) fn advice(mut self, advice: &'static str) -> Self {
        self.advice = advice;
        self
    }

    pub(crate) fn name(&self) -> &'static str {
        self.name
    }

    fn is_ready(&self, finished: &[Finished]) -> bool {
        let ended = |name: &&'static str| finished.iter().any(|stage| stage.name == *name);
        self.needs.iter().all(ended) && self.after.iter().all(ended)
    }

    fn unmet_need(&self, finished: &[Finished]) -> Option<&'static str> {
        let undone = |stage: &&Finished| !matches!(stage.ending, Ending::Done);
        finished
            .iter()
            .filter(undone)
            .find(|stage| self.needs.contains(&stage.name))
            .map(|stage| stage.name)
    }
}

/// How a stage ended.
#[derive(Debug)]
pub(crate) enum Ending {
    Done,
    Failed(anyhow::Error),
    /// Not started, because of the stage named here.
    Skipped(&'static str),
}

impl fmt::Display for Ending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Done => f.write_str("done"),
            Self::Failed(error) => write!(f, "failed: {error:#}"),
            Self::Skipped(need) => write!(f, "skipped: it needs `{need}`"),
        }
    }
}

/// A stage that has ended.
#[derive(Debug)]
pub(crate) struct Finished {
    pub(crate) name: &'static str,
    pub(crate) took: Duration,
    pub(crate) ending: Ending,
}

/// Runs all stages and returns them in the order in which they ended.
///
/// A failure skips what needs the failed stage and lets the rest go on: what they build is kept
/// for the next try.
///
/// # Errors
/// When a stage needs one that is not here, or stages wait for each other.
pub(crate) fn run(
    mut stages: Vec<Stage<'_>>,
    logs: &Path,
    progress: &Progress,
) -> Result<Vec<Finished>> {
    check_needs(&stages)?;
    leave_out_absent(&mut stages);
    thread::scope(|scope| {
        let (ended, endings) = mpsc::channel();
        let mut finished = Vec::new();
        let mut running = 0;
        loop {
            while let Some(stage) = take_ready(&mut stages, &finished) {
                match stage.unmet_need(&finished) {
                    Some(need) => finished.push(skip(&stage, need, progress)),
                    None => {
                        start(scope, stage, logs, progress, ended.clone())?;
                        running += 1;
                    }
                }
            }
            if running == 0 {
                break;
            }
            match endings.recv_timeout(progress.interval()) {
                Ok(stage) => {
                    finished.push(stage);
                    running -= 1;
                }
                Err(RecvTimeoutError::Timeout) => progress.refresh(),
                Err(RecvTimeoutError::Disconnected) => bail!("failed to hear from the stages"),
            }
        }
        match stages.first() {
            None => Ok(finished),
            Some(stage) => bail!("stage `{}` waits for itself through others", stage.name),
        }
    })
}

fn check_needs(stages: &[Stage<'_>]) -> Result<()> {
    let names: Vec<_> = stages.iter().map(|stage| stage.name).collect();
    for stage in stages {
        if let Some(missing) = stage.needs.iter().find(|need| !names.contains(need)) {
            bail!(
                "stage `{}` needs `{missing}`, which is not part of this run",
                stage.name
            );
        }
    }
    Ok(())
}

fn leave_out_absent(stages: &mut [Stage<'_>]) {
    let names: Vec<_> = stages.iter().map(|stage| stage.name).collect();
    for stage in stages {
        stage.after.retain(|name| names.contains(name));
    }
}

fn take_ready<'a>(stages: &mut Vec<Stage<'a>>, finished: &[Finished]) -> Option<Stage<'a>> {
    let index = stages.iter().position(|stage| stage.is_ready(finished))?;
    Some(stages.remove(index))
}

fn skip(stage: &Stage<'_>, need: &'static str, progress: &Progress) -> Finished {
    progress.skipped(stage.name, need);
    Finished {
        name: stage.name,
        took: Duration::ZERO,
        ending: Ending::Skipped(need),
    }
}

fn start<'scope, 'a: 'scope>(
    scope: &'scope Scope<'scope, '_>,
    stage: Stage<'a>,
    logs: &Path,
    progress: &'scope Progress,
    ended: Sender<Finished>,
) -> Result<()> {
    let log = Log::create(logs, stage.name)?;
    progress.started(stage.name, log.path());
    thread::Builder::new()
        .name(stage.name.to_owned())
        .spawn_scoped(scope, move || {
            let started = Instant::now();
            let result = guarded(stage.work, &log);
            let took = started.elapsed();
            let note = FailureNote {
                log: &log,
                advice: stage.advice,
            };
            progress.ended(stage.name, took, &result, &note);
            let ending = result.map_or_else(Ending::Failed, |()| Ending::Done);
            // The receiver lives until every stage has reported.
            let _ = ended.send(Finished {
                name: stage.name,
                took,
                ending,
            });
        })
        .context("failed to start a thread")?;
    Ok(())
}

/// A panic is a failure of its stage only: the others must still be waited for.
fn guarded(work: Work<'_>, log: &Log) -> Result<()> {
    catch_unwind(AssertUnwindSafe(|| work(log)))
        .unwrap_or_else(|payload| Err(anyhow!("panicked: {}", panic_text(payload.as_ref()))))
}

fn panic_text(payload: &(dyn Any + Send)) -> &str {
    let text = payload.downcast_ref::<&str>().copied();
    text.or_else(|| payload.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no text")
}

#[cfg(test)]
mod tests {
    use std::sync::{Barrier, Mutex};

    use super::*;

    fn run_quietly(stages: Vec<Stage<'_>>) -> Result<Vec<Finished>> {
        let logs = tempfile::tempdir().unwrap();
        run(stages, logs.path(), &Progress::silent())
    }

    fn names(finished: &[Finished]) -> Vec<&str> {
        finished.iter().map(|stage| stage.name).collect()
    }

    #[test]
    fn a_stage_starts_after_what_it_needs() {
        let order = Mutex::new(vec![]);
        let note = |name| {
            let order = &order;
            move |_: &Log| {
                order.lock().unwrap().push(name);
                Ok(())
            }
        };
        let stages = vec![
            Stage::new("last", note("last")).needs(&["middle"]),
            Stage::new("middle", note("middle")).needs(&["first"]),
            Stage::new("first", note("first")),
        ];
        run_quietly(stages).unwrap();
        assert_eq!(*order.lock().unwrap(), ["first", "middle", "last"]);
    }

    #[test]
    fn stages_without_needs_run_side_by_side() {
        // Neither can end before the other has begun.
        let both = Barrier::new(2);
        let wait = |_: &Log| {
            both.wait();
            Ok(())
        };
        let finished = run_quietly(vec![Stage::new("a", wait), Stage::new("b", wait)]).unwrap();
        assert_eq!(finished.len(), 2);
    }

    #[test]
    fn a_failure_skips_what_needs_it_and_nothing_else() {
        let stages = vec![
            Stage::new("broken", |_| bail!("on purpose")),
            Stage::new("dependent", |_| Ok(())).needs(&["broken"]),
            Stage::new("further", |_| Ok(())).needs(&["dependent"]),
            Stage::new("later", |_| Ok(())).after(&["broken"]),
        ];
        let finished = run_quietly(stages).unwrap();
        let ending = |name| {
            &finished
                .iter()
                .find(|stage| stage.name == name)
                .unwrap()
                .ending
        };
        assert!(matches!(ending("broken"), Ending::Failed(_)));
        assert!(matches!(ending("dependent"), Ending::Skipped("broken")));
        assert!(matches!(ending("further"), Ending::Skipped("dependent")));
        assert!(matches!(ending("later"), Ending::Done));
    }

    #[test]
    fn a_panic_fails_its_stage_alone() {
        let stages = vec![
            Stage::new("panics", |_| panic!("on purpose")),
            Stage::new("other", |_| Ok(())).after(&["panics"]),
        ];
        let finished = run_quietly(stages).unwrap();
        assert_eq!(names(&finished), ["panics", "other"]);
        let Ending::Failed(error) = &finished[0].ending else {
            panic!("not failed")
        };
        assert!(error.to_string().contains("on purpose"));
    }

    #[test]
    fn mistakes_in_the_graph_are_named() {
        let unknown = vec![Stage::new("a", |_| Ok(())).needs(&["nowhere"])];
        assert!(
            run_quietly(unknown)
                .unwrap_err()
                .to_string()
                .contains("nowhere")
        );
        let circle = vec![
            Stage::new("a", |_| Ok(())).needs(&["b"]),
            Stage::new("b", |_| Ok(())).needs(&["a"]),
        ];
        assert!(
            run_quietly(circle)
                .unwrap_err()
                .to_string()
                .contains("waits for itself")
        );
    }

    #[test]
    fn an_order_against_an_absent_stage_is_no_need() {
        let stages = vec![Stage::new("a", |_| Ok(())).after(&["absent"])];
        assert_eq!(names(&run_quietly(stages).unwrap()), ["a"]);
    }
}
