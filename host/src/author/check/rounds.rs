//! A few rounds on trial: the plugin is called as a host would call it, in a world where nothing is and nobody
//! answers, and all that it asks and plans is held against what it asks for in its description.

use std::collections::BTreeSet;

use kube::api::DynamicObject;
use serde_json::{Map, Value, json};

use super::finding::Finding;
use crate::object::Object;
use crate::plan::{self, Call, Checked};
use crate::plugin::bindings::{
    Answer, Deletion, Failure, Plan, Question, Request, Requirement, Step, Unreachable,
};
use crate::plugin::description::Served;
use crate::plugin::grants::EVERY;
use crate::plugin::trial::{Asked, Trial};
use crate::plugin::{Description, Fault, Grant, Grants, Limits};
use crate::reconcile::{Facts, needed_grants};
use crate::status::SYNCED;

/// When the first round takes place, in milliseconds since the epoch.
const BEGIN: u64 = 1_767_225_600_000;

/// Between two rounds.
const BETWEEN: u64 = 5_000;

/// Rounds until a plugin that waits for nobody has settled.
const SETTLED: usize = 3;

/// Where the sample came from: what to say when the plugin does not accept it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// A person's file.
    Given,
    /// Made up from the CRD.
    MadeUp,
}

/// One object of a kind, in a world of its own.
pub(super) struct World<'a> {
    trial: &'a Trial,
    served: &'a Served,
    origin: Origin,
    asks: Grants,
    config: String,
    object: Value,
    children: Vec<Value>,
    now: u64,
}

/// Why a round came to no plan.
enum NoPlan {
    /// Somebody should mend this.
    Wrong(Vec<Finding>),
    /// The author's own answer.
    Failed(Failure),
}

impl<'a> World<'a> {
    pub(super) fn new(
        trial: &'a Trial,
        description: &Description,
        served: &'a Served,
        sample: (Value, Origin),
    ) -> Self {
        let (object, origin) = sample;
        // What no description can ask for, since only an administrator knows where secrets are.
        let foreign_secrets = Grant::SlotsFrom(EVERY.into());
        let asks = description.asks();
        Self {
            trial,
            served,
            origin,
            asks: asks.iter().cloned().chain([foreign_secrets]).collect(),
            config: super::sample::config(&description.config_schema).to_string(),
            object,
            children: Vec::new(),
            now: BEGIN,
        }
    }

    /// Runs rounds until nothing should change any more, then the deletion.
    pub(super) async fn findings(mut self) -> Vec<Finding> {
        let mut last = None;
        for _ in 0..SETTLED {
            match self.round(Asked::Reconcile).await {
                Ok(plan) => last = Some(self.carry_out(&plan)),
                Err(NoPlan::Wrong(findings)) => return findings,
                Err(NoPlan::Failed(failure)) => return self.failed(&failure),
            }
        }
        let mut findings = self.unrest(last.unwrap_or_default()).await;
        if self.served.finalizes {
            findings.extend(self.deletion().await);
        }
        findings
    }

    /// One more round, in which nothing has happened but that time went on.
    async fn unrest(&mut self, before: Settled) -> Vec<Finding> {
        match self.round(Asked::Reconcile).await {
            Ok(plan) => before.difference(&self.carry_out(&plan), &self.of_kind()),
            Err(NoPlan::Wrong(findings)) => findings,
            Err(NoPlan::Failed(failure)) => self.failed(&failure),
        }
    }

    async fn deletion(&mut self) -> Vec<Finding> {
        self.object["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:10:00Z");
        match self.round(Asked::Finalize).await {
            Ok(_) => Vec::new(),
            Err(NoPlan::Wrong(findings)) => findings,
            Err(NoPlan::Failed(failure)) => vec![Finding::error(
                format!("finalize of {} failed: {}", self.of_kind(), text(&failure)),
                "a deletion always progresses: plan what is left to do, or `finalized`",
            )],
        }
    }

    async fn round(&self, asked: Asked) -> Result<Checked, NoPlan> {
        let mut facts = Facts::default();
        let owner = self.owner()?;
        let calls = Limits::default().calls_per_round;
        for _ in 0..calls {
            let request = self.request(asked, &facts);
            let answered = self.trial.ask_twice(asked, &request).await;
            match answered.map_err(|fault| self.fault(asked, &fault))? {
                Ok(Step::Plan(plan)) => return self.check(plan, asked, &owner),
                Ok(Step::Need(needed)) => self.gather(needed, &mut facts, &owner)?,
                Err(failure) => return Err(NoPlan::Failed(failure)),
            }
        }
        Err(self.fault(asked, &Fault::NeverDecided { calls }))
    }

    fn check(&self, plan: Plan, asked: Asked, owner: &Object) -> Result<Checked, NoPlan> {
        let call = match asked {
            Asked::Reconcile => Call::Reconcile,
            Asked::Finalize => Call::Finalize,
        };
        plan::check(plan, call, owner, &self.asks).map_err(|refused| {
            let remedy = match refused.missing() {
                Some(grant) => {
                    format!("let describe ask for {grant}: administrators grant what it asks for")
                }
                None => "the host refuses the whole plan, before anything is written".to_owned(),
            };
            wrong(
                format!("the plan for {} is refused: {refused}", self.of_kind()),
                remedy,
            )
        })
    }

    /// Answers what is asked: nothing is there, nobody answers.
    fn gather(
        &self,
        needed: Vec<Requirement>,
        facts: &mut Facts,
        owner: &Object,
    ) -> Result<(), NoPlan> {
        let bad = |why: String| {
            let fault = Fault::BadNeed { why };
            wrong(
                format!("reconcile of {}: {fault}", self.of_kind()),
                String::new(),
            )
        };
        let stages = facts.need(needed).map_err(|error| bad(error.to_string()))?;
        for requirement in stages.into_values().flatten() {
            let grants = needed_grants(&requirement.question, &owner.key).map_err(bad)?;
            let asked = grants.into_iter().collect();
            let missing: BTreeSet<_> = self
                .asks
                .missing(&asked)
                .iter()
                .map(ToString::to_string)
                .collect();
            if !missing.is_empty() {
                let missing = missing.into_iter().collect::<Vec<_>>().join(", ");
                return Err(wrong(
                    format!(
                        "the plugin asks {}, which needs {missing}, and describe does not ask for it",
                        requirement.id
                    ),
                    "a host answers `refused`: let describe ask for it".to_owned(),
                ));
            }
            let answer = nothing(&requirement.question, self.now);
            facts.answered(requirement, answer);
        }
        Ok(())
    }

    fn request(&self, asked: Asked, facts: &Facts) -> Request {
        let deletion = Deletion {
            namespace_terminating: false,
            deadline: self.now + 600_000,
        };
        Request {
            object: self.object.to_string(),
            children: self.children.iter().map(ToString::to_string).collect(),
            facts: facts.told(),
            outcomes: Vec::new(),
            running: Vec::new(),
            available: self.asks.names(|_| true),
            now: self.now,
            config: self.config.clone(),
            deletion: (asked == Asked::Finalize).then_some(deletion),
        }
    }

    fn owner(&self) -> Result<Object, NoPlan> {
        let object = serde_json::from_value::<DynamicObject>(self.object.clone());
        let unfit = |why: String| {
            wrong(
                format!("the sample is no Kubernetes object: {why}"),
                String::new(),
            )
        };
        let object = object.map_err(|error| unfit(error.to_string()))?;
        Object::new(&self.served.kind, object).map_err(|error| unfit(error.to_string()))
    }

    /// As a host would: children applied, status stored, time gone on.
    fn carry_out(&mut self, plan: &Checked) -> Settled {
        self.now += BETWEEN;
        self.children = plan.children().iter().map(live).collect();
        if let Some(status) = plan.status() {
            let mut status = Value::Object(status.clone());
            status["observedGeneration"] = json!(1);
            add_synced(&mut status);
            self.object["status"] = status;
        }
        Settled {
            status: plan.status().cloned().unwrap_or_default(),
            children: plan
                .children()
                .iter()
                .map(|child| (child.key.to_string(), child.manifest.clone()))
                .collect(),
        }
    }

    fn of_kind(&self) -> String {
        match self.origin {
            Origin::Given => format!("the given {}", self.served.kind.kind),
            Origin::MadeUp => format!("a made-up {}", self.served.kind.kind),
        }
    }

    fn fault(&self, asked: Asked, fault: &Fault) -> NoPlan {
        let function = match asked {
            Asked::Reconcile => "reconcile",
            Asked::Finalize => "finalize",
        };
        let remedy = match fault {
            Fault::NotDeterministic { .. } => {
                "decide by the request alone: no clock, no randomness, ordered maps, nothing kept between calls"
            }
            _ => "see what it was called with by `--object FILE` and a test of your own",
        };
        wrong(
            format!("{function} of {}: {fault}", self.of_kind()),
            remedy.to_owned(),
        )
    }

    fn failed(&self, failure: &Failure) -> Vec<Finding> {
        let what = format!("{} came to no plan: {}", self.of_kind(), text(failure));
        vec![match (self.origin, failure) {
            (Origin::MadeUp, _) => Finding::warning(
                what,
                "the rounds could not be tried: give an object that the plugin accepts with --object FILE",
            ),
            (Origin::Given, Failure::Invalid(_)) => Finding::error(
                what,
                "mend the object, or let the plugin refuse the field only",
            ),
            (Origin::Given, Failure::Transient(_)) => Finding::warning(
                what,
                "nothing exists and nobody answers in a trial: plan children without waiting for what only they bring",
            ),
        }]
    }
}

/// What stood after a round.
#[derive(Default)]
struct Settled {
    status: Map<String, Value>,
    children: Vec<(String, Map<String, Value>)>,
}

impl Settled {
    fn difference(&self, later: &Self, of_kind: &str) -> Vec<Finding> {
        let remedy = "every such round writes to the API server and wakes whoever watches: let it follow from the facts alone; what changes all the time belongs into measurements";
        let mut findings = Vec::new();
        let changed = |field: &&String| self.status.get(*field) != later.status.get(*field);
        let fields: BTreeSet<_> = self
            .status
            .keys()
            .chain(later.status.keys())
            .filter(changed)
            .collect();
        for field in fields {
            let what = format!(
                "status.{field} of {of_kind} changes although nothing happened but that time went on"
            );
            findings.push(Finding::warning(what, remedy));
        }
        if self.children != later.children {
            let what = format!(
                "the children of {of_kind} change although nothing happened but that time went on"
            );
            findings.push(Finding::warning(what, remedy));
        }
        findings
    }
}

fn wrong(what: String, remedy: String) -> NoPlan {
    NoPlan::Wrong(vec![Finding::error(what, remedy)])
}

fn text(failure: &Failure) -> &str {
    match failure {
        Failure::Invalid(text) | Failure::Transient(text) => text,
    }
}

fn nothing(question: &Question, since: u64) -> Answer {
    match question {
        Question::Object(_) => Answer::Object(None),
        Question::Objects(_) => Answer::Objects(Vec::new()),
        Question::Redis(_) | Question::Sql(_) | Question::Http(_) => {
            Answer::Unreachable(Unreachable {
                why: "nobody answers in a trial".into(),
                answered: false,
                since,
            })
        }
    }
}

/// A child as a host tells it after it was applied.
fn live(child: &plan::WantedChild) -> Value {
    let key = &child.key;
    let mut object = Value::Object(child.manifest.clone());
    if key.kind.group.is_empty() && ["Secret", "ConfigMap"].contains(&key.kind.kind.as_str()) {
        object = json!({"metadata": object["metadata"]});
    }
    object["apiVersion"] = key.kind.api_version().into();
    object["kind"] = key.kind.kind.clone().into();
    object["metadata"]["name"] = key.name.clone().into();
    if let Some(namespace) = &key.namespace {
        object["metadata"]["namespace"] = namespace.clone().into();
    }
    object["metadata"]["uid"] = format!("uid-of-{}", key.name).into();
    object["metadata"]["resourceVersion"] = "1".into();
    object["metadata"]["generation"] = 1.into();
    object["metadata"]["creationTimestamp"] = "2026-01-01T00:00:00Z".into();
    object
}

/// The host's own condition, which a plugin meets in what it reads.
fn add_synced(status: &mut Value) {
    let condition = json!({
        "type": SYNCED, "status": "True", "reason": "InStep", "message": "",
        "lastTransitionTime": "2026-01-01T00:00:00Z", "observedGeneration": 1,
    });
    match &mut status["conditions"] {
        Value::Array(list) => list.push(condition),
        other => *other = json!([condition]),
    }
}
