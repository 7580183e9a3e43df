//! What a round wants to say in status.

use serde_json::{Map, Value};

use crate::apply::{Applied, ChildEnded, Record};
use crate::object::Object;
use crate::plan::{Checked, Figure, Refused};
use crate::plugin::bindings::Refusal;
use crate::status::conditions::{HostCondition, SPEC_ACCEPTED, SYNCED};

/// How many children in trouble a message names.
const MOST_NAMED: usize = 8;

/// Why an object is not in step with what its plugin wants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unsynced {
    /// The plugin failed; the text may not tell other people's facts.
    Plugin(String),
    /// The plan was refused as a whole.
    Refused(Refused),
    /// The plugin says that this spec can never work.
    Invalid(String),
    /// The plugin asks to try again.
    Transient(String),
    /// The plan has to wait: of what it does, no more may be done in a minute.
    RateLimited(String),
    /// An annotation stops its rounds.
    Paused,
    /// An action failed.
    Action(String),
    /// Nothing serves it at the moment, and why.
    Unserved(String),
    /// Its CRD leaves no room for what the host has to remember.
    Forgetful,
}

/// What a round wants to say in status. What it leaves open stays as it is.
#[derive(Clone, Debug)]
pub struct Draft {
    pub(super) plugin: Option<Map<String, Value>>,
    pub(super) record: Option<Record>,
    pub(super) conditions: Vec<HostCondition>,
    pub(super) figures: Vec<Figure>,
}

impl Draft {
    /// What a plan says, whose children were applied.
    pub fn planned(plan: &Checked, applied: &Applied) -> Self {
        Self {
            plugin: plan.status().cloned(),
            record: Some(applied.record.clone()),
            conditions: vec![synced(applied), accepted(plan.refusals())],
            figures: plan.measurements().to_vec(),
        }
    }

    /// What there is to say when no plan could be carried out.
    pub fn failed(why: &Unsynced) -> Self {
        let mut conditions = vec![unsynced(why)];
        if let Unsynced::Invalid(text) = why {
            conditions.push(condition(SPEC_ACCEPTED, false, "Invalid", text));
        }
        Self {
            plugin: None,
            record: None,
            conditions,
            figures: Vec::new(),
        }
    }

    /// Says also that something went wrong after the children: it is said unless a child's trouble is.
    #[must_use]
    pub fn with(mut self, why: &Unsynced) -> Self {
        for said in &mut self.conditions {
            if said.kind == SYNCED && said.holds {
                *said = unsynced(why);
            }
        }
        self
    }

    /// The host's conditions, and those of `seen` about which this draft says nothing.
    pub(super) fn host_conditions(&self, seen: &[Value]) -> Vec<HostCondition> {
        let mut conditions = self.conditions.clone();
        for kind in [SYNCED, SPEC_ACCEPTED] {
            let said = conditions.iter().any(|condition| condition.kind == kind);
            let before = seen.iter().find(|before| before["type"] == kind);
            if let (false, Some(before)) = (said, before) {
                let text = |key: &str| before[key].as_str().unwrap_or_default().to_owned();
                let holds = before["status"] == "True";
                conditions.push(HostCondition {
                    kind,
                    holds,
                    reason: text("reason"),
                    message: text("message"),
                });
            }
        }
        conditions
    }
}

fn condition(kind: &'static str, holds: bool, reason: &str, message: &str) -> HostCondition {
    HostCondition {
        kind,
        holds,
        reason: reason.into(),
        message: message.into(),
    }
}

impl Unsynced {
    /// One word in CamelCase, and a sentence with the remedy.
    pub fn told(&self) -> (&'static str, String) {
        match self {
            Self::Plugin(text) => ("PluginFailed", text.clone()),
            Self::Refused(refused) if refused.missing().is_some() => {
                ("GrantMissing", refused.to_string())
            }
            Self::Refused(refused) => ("PlanRefused", refused.to_string()),
            Self::Invalid(text) => ("SpecInvalid", text.clone()),
            Self::Transient(text) => ("Retrying", text.clone()),
            Self::RateLimited(text) => ("RateLimited", text.clone()),
            Self::Paused => {
                let text = "the annotation windlass.dev/paused stops all work on this object: remove it to go on";
                ("Paused", text.to_owned())
            }
            Self::Action(text) => ("ActionFailed", text.clone()),
            Self::Forgetful => {
                let text = "the CRD's status has no field windlass, so what was generated cannot be recorded: add it to the \
                            schema with x-kubernetes-preserve-unknown-fields: true";
                ("StatusFieldMissing", text.to_owned())
            }
            Self::Unserved(text) => ("PluginUnavailable", text.clone()),
        }
    }
}

fn unsynced(why: &Unsynced) -> HostCondition {
    let (reason, message) = why.told();
    condition(SYNCED, false, reason, &message)
}

fn synced(applied: &Applied) -> HostCondition {
    let troubles: Vec<_> = applied.troubles().collect();
    if let Some((_, first)) = troubles.first() {
        let named = troubles
            .iter()
            .take(MOST_NAMED)
            .map(|(key, trouble)| format!("{key}: {trouble}"));
        let mut message = named.collect::<Vec<_>>().join("; ");
        if troubles.len() > MOST_NAMED {
            message += &format!("; and {} more", troubles.len() - MOST_NAMED);
        }
        return condition(SYNCED, false, first.reason(), &message);
    }
    let going = |ended: &ChildEnded| matches!(ended, ChildEnded::Waits | ChildEnded::ToRecreate(_));
    match applied.children.iter().find(|child| going(&child.ended)) {
        Some(child) => {
            let message = format!(
                "{} is being deleted and is made again once it is gone",
                child.key
            );
            condition(SYNCED, false, "Recreating", &message)
        }
        None => condition(
            SYNCED,
            true,
            "Applied",
            "all children are as the plan wants them",
        ),
    }
}

fn accepted(refusals: &[Refusal]) -> HostCondition {
    if refusals.is_empty() {
        return condition(
            SPEC_ACCEPTED,
            true,
            "Accepted",
            "all of the spec is followed",
        );
    }
    let told: Vec<_> = refusals
        .iter()
        .map(|Refusal { field, text }| format!("{field}: {text}"))
        .collect();
    condition(SPEC_ACCEPTED, false, "NotFollowed", &told.join("; "))
}

/// The status of an object; empty where it has none.
pub(super) fn status_of(object: &Object) -> Map<String, Value> {
    #[derive(serde::Deserialize)]
    struct Whole {
        #[serde(default)]
        status: Map<String, Value>,
    }
    serde_json::from_str::<Whole>(&object.json)
        .map(|whole| whole.status)
        .unwrap_or_default()
}
