//! Calls the plugin until it has a plan.

use super::Reconciler;
use super::deletion;
use super::facts::Facts;
use super::failure::Failed;
use super::gather::For;
use super::round::Round;
use crate::apply::Gathered;
use crate::explain::{
    Asked, describe_answer, describe_outcome, describe_question, describe_running,
};
use crate::object::{Kind, Object, ObjectKey};
use crate::plan::Call;
use crate::plugin::Fault;
use crate::plugin::bindings::{
    Answer, Deletion, HttpTarget, Plan, PodPort, Question, Request, Requirement, Step,
};
use crate::queue::Reason;

/// A plan, and whether all that was asked for was granted.
pub(super) struct Decided {
    pub(super) plan: Plan,
    pub(super) gathered: Gathered,
}

impl Reconciler {
    /// Asks the plugin what should be, with all that it needs to know.
    pub(super) async fn decide(
        &self,
        round: &mut Round<'_>,
        call: Call,
    ) -> Result<Decided, Failed> {
        let mut facts = Facts::default();
        let deletion = match call {
            Call::Reconcile => None,
            Call::Finalize => Some(deletion::deletion(&round.object, &self.rooms.cluster).await?),
        };
        let known = self.still_worth_asking(round);
        if !known.is_empty() {
            self.gather(round, known, &mut facts).await?;
        }
        let decided = self
            .call_until_plan(round, call, deletion, &mut facts)
            .await;
        round.record.asked = facts.asked().map(asked).collect();
        let plan = decided?;
        round.memory.requirements = facts
            .asked()
            .map(|(requirement, _)| requirement.clone())
            .collect();
        let gathered = match facts.any_refused() {
            true => Gathered::SomeRefused,
            false => Gathered::Whole,
        };
        Ok(Decided { plan, gathered })
    }

    async fn call_until_plan(
        &self,
        round: &mut Round<'_>,
        call: Call,
        deletion: Option<Deletion>,
        facts: &mut Facts,
    ) -> Result<Plan, Failed> {
        let mut request = self.request(round, deletion);
        let calls = self.spec.limits.calls_per_round;
        for number in 1..=calls {
            round.record.calls = number;
            request.facts = facts.told();
            match self.call(call, &request).await? {
                Step::Plan(plan) => return Ok(plan),
                Step::Need(needed) => self.gather(round, needed, facts).await?,
            }
        }
        Err(Fault::NeverDecided { calls }.into())
    }

    async fn call(&self, call: Call, request: &Request) -> Result<Step, Failed> {
        let begun = tokio::time::Instant::now();
        let step = match call {
            Call::Reconcile => self.plugin.reconcile(request).await,
            Call::Finalize => self.plugin.finalize(request).await,
        };
        self.measure_call(begun.elapsed(), &step);
        Ok(step?)
    }

    async fn gather(
        &self,
        round: &mut Round<'_>,
        needed: Vec<Requirement>,
        facts: &mut Facts,
    ) -> Result<(), Failed> {
        let to_gather = facts.need(needed)?;
        let whom = For {
            owner: &round.object,
            asker: &round.request.object,
            interests: &mut round.interests,
        };
        Ok(self.gatherer.gather(whom, to_gather, facts).await?)
    }

    /// What the last round required, as far as it can still be answered. A round that begins something new asks
    /// afresh, so that what is no longer required is forgotten.
    fn still_worth_asking(&self, round: &Round<'_>) -> Vec<Requirement> {
        let afresh = match round.request.reason {
            Reason::Deletion
            | Reason::Changed
            | Reason::Availability(_)
            | Reason::Started
            | Reason::Switched
            | Reason::Resync => true,
            Reason::Observed(_)
            | Reason::FollowUp
            | Reason::ActionsEnded
            | Reason::LongActionEnded(_)
            | Reason::RequeueAfter
            | Reason::Conflict
            | Reason::Retry(_) => false,
        };
        match afresh {
            true => Vec::new(),
            false => {
                let known = round.memory.requirements.iter();
                known
                    .filter(|known| self.has_target(&round.object, known))
                    .cloned()
                    .collect()
            }
        }
    }

    /// False for a question to a Pod that is gone.
    fn has_target(&self, owner: &Object, requirement: &Requirement) -> bool {
        match &requirement.question {
            Question::Redis(query) => self.is_there(owner, &query.target),
            Question::Sql(query) => self.is_there(owner, &query.target),
            Question::Http(query) => match &query.target {
                HttpTarget::Pod(pod) => self.is_there(owner, pod),
                HttpTarget::External(_) => true,
            },
            Question::Object(_) | Question::Objects(_) => true,
        }
    }

    fn is_there(&self, owner: &Object, target: &PodPort) -> bool {
        let key = ObjectKey {
            kind: Kind::new("v1", "Pod"),
            namespace: owner.key.namespace.clone(),
            name: target.pod.clone(),
        };
        self.rooms
            .cache
            .get(&key)
            .is_some_and(|pod| pod.uid == target.uid)
    }

    /// Everything that is known at the beginning of a round.
    fn request(&self, round: &mut Round<'_>, deletion: Option<Deletion>) -> Request {
        let children = self.rooms.cache.children(&round.object.key, &self.owned);
        let running = self.carried.long.running(&round.object.uid);
        let outcomes = round.memory.outcomes.iter().map(describe_outcome);
        let long = running.iter().map(describe_running);
        round.record.told = outcomes.chain(long).collect();
        Request {
            object: round.object.json.to_string(),
            children: children
                .iter()
                .map(|child| child.json.to_string())
                .collect(),
            facts: Vec::new(),
            outcomes: round.memory.outcomes.clone(),
            running,
            available: self.spec.grants.names(|grant| self.gatherer.serves(grant)),
            now: round.now,
            config: self.config.clone(),
            deletion,
        }
    }
}

fn asked((requirement, answer): (&Requirement, &Answer)) -> Asked {
    Asked {
        stage: requirement.stage,
        question: describe_question(&requirement.question),
        answer: describe_answer(answer),
    }
}
