//! Carries a plan out: children, status, prune, actions, Events, in this order.

use std::sync::Arc;

use serde_json::Value;

use super::Reconciler;
use super::deletion;
use super::failure::Failed;
use super::round::{Done, Round};
use crate::actions::{Acted, Errand};
use crate::apply::{Applied, ChildEnded, Gathered, Pruned, Seen};
use crate::events;
use crate::explain::{Planned, describe_action, describe_outcome};
use crate::metrics::Ending;
use crate::object::ObjectKey;
use crate::plan::{Call, Checked};
use crate::plugin::bindings::{Ended, Event, ObjectRef, Outcome, Severity};
use crate::status::{Draft, Fence, Need, StatusError, Stored, Unsynced};

impl Reconciler {
    /// The effects of a round, in order. A child in trouble does not stop the rest; a status that cannot be stored
    /// does.
    pub(super) async fn carry_out(
        &self,
        round: &mut Round<'_>,
        plan: &Checked,
        gathered: Gathered,
    ) -> Result<Done, Failed> {
        let applied = self.apply(round, plan).await;
        if plan.finalized() && plan.actions().is_empty() {
            return Ok(Done::default());
        }
        let stored = self
            .store(
                round,
                &self.draft(round, plan, &applied),
                need(plan, &applied),
            )
            .await?;
        let figures = &self.rooms.metrics.figures;
        figures.set(self.plugin.name(), &round.object.key, plan.measurements());
        // They were told in this round, which is stored now.
        round.memory.outcomes.clear();
        let pruned = self
            .prune(round, plan, &applied, gathered, stored.fence())
            .await;
        let acted = self.act(round, plan, stored.fence()).await;
        self.note_outcomes(round, acted.outcomes.clone());
        let changed = !round.record.changed.is_empty() || acted.any();
        if changed {
            let events = events::of(&round.object, plan, &applied, &pruned);
            self.rooms.recorder.publish(&round.object, &events).await;
        }
        Ok(Done {
            changed,
            acted: !acted.outcomes.is_empty(),
            undecided: pruned.undecided(),
            trouble: trouble(&applied, &pruned),
            requeue_after: plan.requeue_after(),
        })
    }

    async fn apply(&self, round: &mut Round<'_>, plan: &Checked) -> Applied {
        let memory = &mut round.memory.effects;
        let applied = self
            .rooms
            .applier
            .apply(&round.object, plan, &self.spec.adopt, memory)
            .await;
        let changes = applied.children.iter().filter_map(|child| {
            let what = change(&child.ended)?;
            Some(format!("{what} {}", child.key))
        });
        round.record.changed.extend(changes);
        applied
    }

    fn draft(&self, round: &Round<'_>, plan: &Checked, applied: &Applied) -> Draft {
        let mut draft = Draft::planned(plan, applied);
        if let Some(failed) = round
            .memory
            .outcomes
            .iter()
            .find(|outcome| is_trouble(outcome))
        {
            draft = draft.with(&Unsynced::Action(describe_outcome(failed)));
        }
        let late = plan.call() == Call::Finalize && round.now > deletion::deadline(&round.object);
        match late && !plan.finalized() {
            true => draft.with(&Unsynced::Plugin(deletion::way_out(&round.object))),
            false => draft,
        }
    }

    async fn store(
        &self,
        round: &mut Round<'_>,
        draft: &Draft,
        need: Need,
    ) -> Result<Stored, StatusError> {
        let memory = &mut round.memory.effects;
        let stored = self
            .rooms
            .status
            .store(&round.object, draft, need, round.now, memory)
            .await?;
        if stored.changed() {
            round.record.changed.push("status".into());
            round.object = Arc::new(stored.object().clone());
        }
        Ok(stored)
    }

    async fn prune(
        &self,
        round: &mut Round<'_>,
        plan: &Checked,
        applied: &Applied,
        gathered: Gathered,
        fence: Option<&Fence>,
    ) -> Pruned {
        let live = self.rooms.cache.children(&round.object.key, &self.owned);
        let memory = &mut round.memory.effects;
        let applier = &self.rooms.applier;
        let seen = Seen {
            applied,
            live: &live,
            facts: gathered,
        };
        let pruned = applier
            .prune(&round.object, plan, seen, fence, memory)
            .await;
        round
            .record
            .changed
            .extend(pruned.deleted.iter().map(|key| format!("deleted {key}")));
        pruned
    }

    async fn act(&self, round: &Round<'_>, plan: &Checked, fence: Option<&Fence>) -> Acted {
        let Some(fence) = fence.filter(|_| !plan.actions().is_empty()) else {
            return Acted::default();
        };
        let errand = Errand {
            owner: &round.object,
            fence,
            lease: &self.rooms.lease,
            long: &self.carried.long,
            now: round.now,
        };
        self.rooms.actions.run(&errand, plan.actions()).await
    }

    /// Counts outcomes, and remembers them for the rounds to be told.
    pub(super) fn note_outcomes(&self, round: &mut Round<'_>, outcomes: Vec<Outcome>) {
        for outcome in &outcomes {
            self.measure_action(outcome);
            round.record.outcomes.push(describe_outcome(outcome));
        }
        round.memory.outcomes.extend(outcomes);
    }

    fn measure_action(&self, outcome: &Outcome) {
        let result = match &outcome.ended {
            Ended::Done(_) => "done",
            Ended::Failed(_) => "failed",
            Ended::NotRun(_) => "not-run",
            Ended::Unknown => "unknown",
        };
        let ending = Ending {
            plugin: self.plugin.name().to_owned(),
            result,
        };
        self.rooms.metrics.actions.get_or_create(&ending).inc();
    }

    /// What the objects of a plugin that is suspended say.
    pub(super) fn suspended(&self, round: &Round<'_>) -> Unsynced {
        let name = self.plugin.name();
        let text = format!(
            "the Plugin {name} is suspended: nothing is done for this object until its spec.suspended is false"
        );
        Unsynced::Unserved(match round.object.deleting {
            true => format!("{text}; {}", deletion::way_out(&round.object)),
            false => text,
        })
    }

    /// Stops at an object that nothing is to be done for; status says why.
    pub(super) async fn leave_alone(
        &self,
        round: &mut Round<'_>,
        why: Unsynced,
    ) -> Result<Done, Failed> {
        let stored = self
            .store(round, &Draft::failed(&why), Need::Nothing)
            .await?;
        Ok(Done {
            changed: stored.changed(),
            ..Done::default()
        })
    }

    /// Says on the object what went wrong: in its condition, and in an Event when that is news.
    pub(super) async fn report(
        &self,
        round: &mut Round<'_>,
        why: &Unsynced,
    ) -> Result<(), StatusError> {
        let stored = self
            .store(round, &Draft::failed(why), Need::Nothing)
            .await?;
        if stored.changed() {
            let (reason, text) = why.told();
            let event = Event {
                about: about(&round.object.key),
                severity: Severity::Warning,
                reason: reason.to_owned(),
                text,
            };
            self.rooms.recorder.publish(&round.object, &[event]).await;
        }
        Ok(())
    }
}

fn about(object: &ObjectKey) -> ObjectRef {
    ObjectRef {
        api_version: object.kind.api_version(),
        kind: object.kind.kind.clone(),
        namespace: object.namespace.clone(),
        name: object.name.clone(),
    }
}

/// What comes after the status.
fn need(plan: &Checked, applied: &Applied) -> Need {
    match !plan.actions().is_empty() || applied.needs_fence() {
        true => Need::Fence,
        false => Need::Nothing,
    }
}

/// The first child that could not be brought in step or pruned.
fn trouble(applied: &Applied, pruned: &Pruned) -> Option<String> {
    let child = applied
        .troubles()
        .next()
        .map(|(key, trouble)| format!("{key}: {trouble}"));
    child.or_else(|| {
        pruned
            .failed
            .first()
            .map(|(key, error)| format!("{key}: {error}"))
    })
}

fn is_trouble(outcome: &Outcome) -> bool {
    matches!(outcome.ended, Ended::Failed(_) | Ended::Unknown)
}

/// What was done to a child; None where nothing was.
fn change(ended: &ChildEnded) -> Option<String> {
    match ended {
        ChildEnded::Made => Some("made".into()),
        ChildEnded::MadeAgain => Some("made again".into()),
        ChildEnded::Changed => Some("changed".into()),
        ChildEnded::PutRight(field) => Some(format!("put {field} right in")),
        ChildEnded::InStep
        | ChildEnded::Waits
        | ChildEnded::ToRecreate(_)
        | ChildEnded::Failed(_) => None,
    }
}

/// What the plan's status says to people.
fn conditions(plan: &Checked) -> Vec<String> {
    let conditions = plan.status().and_then(|status| status.get("conditions"));
    let conditions = conditions.and_then(Value::as_array).into_iter().flatten();
    let told = |condition: &Value| {
        let text = |field: &str| condition[field].as_str().unwrap_or_default().to_owned();
        let (kind, status) = (text("type"), text("status"));
        format!("{kind}={status} {}: {}", text("reason"), text("message"))
    };
    conditions.map(told).collect()
}

/// A plan in short.
pub(super) fn planned(plan: &Checked) -> Planned {
    let refusal =
        |refusal: &crate::plugin::bindings::Refusal| format!("{}: {}", refusal.field, refusal.text);
    Planned {
        children: plan
            .children()
            .iter()
            .map(|child| child.key.to_string())
            .collect(),
        conditions: conditions(plan),
        refusals: plan.refusals().iter().map(refusal).collect(),
        actions: plan
            .actions()
            .iter()
            .flat_map(|step| &step.actions)
            .map(describe_action)
            .collect(),
        requeue_after: plan
            .requeue_after()
            .and_then(|wait| u64::try_from(wait.as_millis()).ok()),
    }
}
