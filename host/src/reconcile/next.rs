//! What follows from how a round ended: when the next one is due, and who is told of a failure.

use std::time::Duration;

use super::Reconciler;
use super::deletion;
use super::failure::Failed;
use super::round::{Done, Round};
use crate::metrics::Ending;
use crate::object::Object;
use crate::plugin::{CallError, Fault};
use crate::queue::{Next, Reason};
use crate::status::Unsynced;

/// How soon a decision that has to be made twice, or has to wait, is looked at again.
const CONFIRM: Duration = Duration::from_secs(1);

/// So many rounds in a row may each change something without a wait between them.
const BRISK: u32 = 3;

impl Reconciler {
    /// Says when the next round is due, and tells of a failure on the object.
    pub(super) async fn follow_up(
        &self,
        round: &mut Round<'_>,
        ended: Result<Done, Failed>,
    ) -> Next {
        let (next, result) = match ended {
            Ok(done) => self.settle(round, done),
            Err(Failed::Conflict) => {
                round.record.ended = Failed::Conflict.to_string();
                (Next::failed(Reason::Conflict), "conflict")
            }
            Err(Failed::HeldBack(wait)) => {
                let text = Failed::HeldBack(wait).to_string();
                round.record.ended = text.clone();
                (Next::After(wait, Reason::Retry(text)), "held back")
            }
            Err(failed) => self.fail(round, failed).await,
        };
        let ending = Ending {
            plugin: self.plugin.name().to_owned(),
            result,
        };
        self.rooms.metrics.rounds.get_or_create(&ending).inc();
        tracing::debug!(ended = round.record.ended, ?next, "round ended");
        next
    }

    fn settle(&self, round: &mut Round<'_>, done: Done) -> (Next, &'static str) {
        self.faults().cleared(&round.object.key);
        let memory = &mut *round.memory;
        memory.changes = if done.changed {
            memory.changes.saturating_add(1)
        } else {
            0
        };
        let (wait, reason) = self.soonest(&done, memory.changes);
        match done.trouble {
            Some(trouble) => {
                tracing::warn!(trouble, "not all is in step");
                round.record.ended = trouble.clone();
                memory.failures = memory.failures.saturating_add(1);
                (
                    Next::Failed {
                        reason: Reason::Retry(trouble),
                        at_most: Some(wait),
                    },
                    "trouble",
                )
            }
            None => {
                memory.failures = 0;
                let ended = if done.changed { "changed" } else { "in step" };
                round.record.ended = ended.into();
                (Next::After(wait, reason), ended)
            }
        }
    }

    /// The first of all reasons to look again.
    fn soonest(&self, done: &Done, changes: u32) -> (Duration, Reason) {
        let wishes = [
            done.acted.then_some((Duration::ZERO, Reason::ActionsEnded)),
            done.changed.then(|| (breather(changes), Reason::FollowUp)),
            done.undecided.then_some((CONFIRM, Reason::FollowUp)),
            done.requeue_after.map(|wait| (wait, Reason::RequeueAfter)),
        ];
        let resync = (self.resync(), Reason::Resync);
        wishes
            .into_iter()
            .flatten()
            .fold(resync, |soonest, wish| match wish.0 < soonest.0 {
                true => wish,
                false => soonest,
            })
    }

    /// The resync, up to a tenth shorter so that objects made together do not stay together.
    fn resync(&self) -> Duration {
        let mut byte = [0];
        self.rooms.entropy.fill(&mut byte);
        let resync = self.plugin.description().resync;
        resync - resync / 10 * u32::from(byte[0]) / 256
    }

    async fn fail(&self, round: &mut Round<'_>, failed: Failed) -> (Next, &'static str) {
        tracing::warn!(%failed, "round failed");
        let failed = as_fault(failed);
        round.record.ended = failed.to_string();
        round.memory.failures = round.memory.failures.saturating_add(1);
        let retry = |text: String| Next::failed(Reason::Retry(text));
        match &failed {
            Failed::Call(CallError::Invalid(text)) => {
                self.faults().cleared(&round.object.key);
                self.tell(round, Unsynced::Invalid(text.clone())).await;
                (Next::After(self.resync(), Reason::Resync), "invalid")
            }
            Failed::Call(CallError::Fault(fault)) => {
                let wait = self.note_fault(round, fault);
                let text = fault.for_object(self.plugin.name(), &round.record.id);
                self.tell(round, Unsynced::Plugin(text)).await;
                (
                    Next::After(wait, Reason::Retry(fault.reason().into())),
                    "fault",
                )
            }
            Failed::Refused(refused) => {
                self.tell(round, Unsynced::Refused(refused.clone())).await;
                (retry(failed.to_string()), "refused")
            }
            Failed::OverRate(over) => {
                let name = self.plugin.name();
                let text = format!(
                    "{over}; raise it in spec.limits of the Plugin {name} if that is meant"
                );
                self.tell(round, Unsynced::RateLimited(text.clone())).await;
                (
                    Next::After(over.wait.max(CONFIRM), Reason::Retry(text)),
                    "over its rate",
                )
            }
            Failed::Call(CallError::Transient(_)) | Failed::Cluster(_) | Failed::Status(_) => {
                // What passes by itself is not worth a write.
                if round.memory.failures > 1 {
                    self.tell(round, Unsynced::Transient(failed.to_string()))
                        .await;
                }
                (retry(failed.to_string()), "failed")
            }
            Failed::Conflict | Failed::HeldBack(_) | Failed::Need(_) => {
                (retry(failed.to_string()), "failed")
            }
        }
    }

    fn note_fault(&self, round: &Round<'_>, fault: &Fault) -> Duration {
        let now = self.rooms.clock.since_boot();
        self.faults()
            .faulted(&round.object.key, round.object.generation, fault, now)
    }

    /// Says on the object what went wrong. Where that fails too, the log has it.
    async fn tell(&self, round: &mut Round<'_>, why: Unsynced) {
        let late = round.object.deleting && round.now > deletion::deadline(&round.object);
        let why = if late {
            with_way_out(why, &round.object)
        } else {
            why
        };
        if let Err(error) = self.report(round, &why).await {
            tracing::warn!(%error, "failed to say on the object what went wrong");
        }
    }
}

/// A deletion that has waited for long says how to end it by hand.
fn with_way_out(why: Unsynced, object: &Object) -> Unsynced {
    let more = |text: String| format!("{text}; {}", deletion::way_out(object));
    match why {
        Unsynced::Plugin(text) => Unsynced::Plugin(more(text)),
        Unsynced::Invalid(text) => Unsynced::Invalid(more(text)),
        Unsynced::Transient(text) => Unsynced::Transient(more(text)),
        Unsynced::Refused(refused) => Unsynced::Plugin(more(refused.to_string())),
        other => other,
    }
}

/// A question that cannot be is the plugin's fault.
fn as_fault(failed: Failed) -> Failed {
    match failed {
        Failed::Need(bad) => Fault::BadNeed {
            why: bad.to_string(),
        }
        .into(),
        other => other,
    }
}

/// How long to wait before the round that follows a change: a plan that changes something every time must not keep
/// the host busy.
fn breather(changes: u32) -> Duration {
    match changes.checked_sub(BRISK + 1) {
        None => Duration::ZERO,
        Some(more) => Duration::from_millis(100 << more.min(9)).min(Duration::from_secs(60)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_that_never_settles_is_looked_at_ever_more_rarely() {
        let waits: Vec<_> = (1..=20).map(breather).collect();
        assert!(waits[..3].iter().all(Duration::is_zero));
        assert!(waits[3..].is_sorted());
        assert_eq!(waits[19], Duration::from_millis(51_200));
    }
}
