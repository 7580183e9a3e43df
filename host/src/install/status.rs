//! What a Plugin's status tells.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::controllers::Controller;
use crate::object::Kind;
use crate::oci::Digest;

/// The longest message of a condition: parts come from registries and plugins.
const LONGEST_MESSAGE: usize = 1024;

/// Status of a Plugin.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct PluginStatus {
    /// The generation of the spec that this is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// The version that is served, as it calls itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The artifact that is served.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub digest: Option<Digest>,
    /// The digest's first digits, for columns.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub short_digest: Option<String>,
    /// The source that the digest was found at. As long as it stays, a tag in it means that digest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// What the plugin is for, in its own words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub purpose: Option<String>,
    /// The kinds that it serves, with their groups; of one that is not served, those that it served last.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub kinds: Vec<String>,
    /// The same in one line, for columns.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind_names: Option<String>,
    /// How many objects it serves.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub objects: Option<usize>,
    /// Grants that it asks for and does not have.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub missing_grants: Vec<String>,
    /// Grants that it has and does not ask for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unasked_grants: Vec<String>,
    /// How often its calls were at fault since the acting host started, by reason.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub faults: BTreeMap<String, u64>,
    /// What the last fault was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_fault: Option<String>,
    /// How far it came: Fetched, Verified, Compiled, Granted, Serving.
    #[schemars(with = "Vec<serde_json::Map<String, serde_json::Value>>")]
    pub conditions: Vec<Condition>,
}

impl PluginStatus {
    /// Takes in what this controller serves, and how its plugin behaves.
    pub(super) fn describe(&mut self, controller: &Controller) {
        let reconciler = controller.reconciler();
        let (description, spec) = (reconciler.plugin().description(), reconciler.spec());
        let asks = description.asks();
        let missing = spec.grants.missing(&asks);
        self.version = Some(description.version.to_string());
        self.purpose = Some(description.purpose.clone()).filter(|purpose| !purpose.is_empty());
        let kinds = description.kinds();
        let names: BTreeSet<_> = kinds.iter().map(|kind| kind.kind.as_str()).collect();
        self.kind_names = Some(names.into_iter().collect::<Vec<_>>().join(","));
        self.kinds = kinds.iter().map(Kind::qualified).collect();
        self.objects = Some(reconciler.objects().len());
        self.missing_grants = missing.into_iter().map(ToString::to_string).collect();
        self.unasked_grants = unasked(&spec.grants, &asks);
        let faults = reconciler.faults();
        let counts = faults.counts().iter();
        self.faults = counts
            .map(|(reason, count)| ((*reason).to_owned(), *count))
            .collect();
        self.last_fault = faults.last().map(|text| text.chars().take(1024).collect());
    }
}

/// The conditions, in the order of a plugin's way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Step {
    Fetched,
    Verified,
    Compiled,
    Granted,
    Serving,
}

impl Step {
    const ALL: [Self; 5] = [
        Self::Fetched,
        Self::Verified,
        Self::Compiled,
        Self::Granted,
        Self::Serving,
    ];

    fn name(self) -> &'static str {
        match self {
            Self::Fetched => "Fetched",
            Self::Verified => "Verified",
            Self::Compiled => "Compiled",
            Self::Granted => "Granted",
            Self::Serving => "Serving",
        }
    }
}

/// How a step stands.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Standing {
    holds: Option<bool>,
    reason: &'static str,
    message: String,
}

/// How all steps stand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Report(BTreeMap<Step, Standing>);

impl Report {
    /// Nothing is known yet.
    pub(super) fn begun() -> Self {
        let waiting = Standing {
            holds: None,
            reason: "Waiting",
            message: "an earlier step has not succeeded".into(),
        };
        Self(
            Step::ALL
                .into_iter()
                .map(|step| (step, waiting.clone()))
                .collect(),
        )
    }

    pub(super) fn hold(&mut self, step: Step, reason: &'static str, message: impl Into<String>) {
        self.set(step, Some(true), reason, message);
    }

    pub(super) fn fail(&mut self, step: Step, reason: &'static str, message: impl Into<String>) {
        self.set(step, Some(false), reason, message);
    }

    fn set(
        &mut self,
        step: Step,
        holds: Option<bool>,
        reason: &'static str,
        message: impl Into<String>,
    ) {
        let message: String = message.into();
        let standing = Standing {
            holds,
            reason,
            message: message.chars().take(LONGEST_MESSAGE).collect(),
        };
        self.0.insert(step, standing);
    }

    /// Where no step tells of the failure itself, the one that admits does.
    pub(super) fn fail_if_none(&mut self, reason: &'static str, message: &str) {
        if self.failure().is_none() {
            self.fail(Step::Granted, reason, message);
        }
    }

    /// The first step that did not succeed, if one did not.
    fn failure(&self) -> Option<&Standing> {
        self.0
            .values()
            .find(|standing| standing.holds == Some(false))
    }

    /// As conditions; one that holds as it did keeps the time of its last transition.
    pub(super) fn conditions(
        &self,
        before: &[Condition],
        generation: Option<i64>,
        now: &Time,
    ) -> Vec<Condition> {
        let condition = |(step, standing): (&Step, &Standing)| {
            let status = match standing.holds {
                Some(true) => "True",
                Some(false) => "False",
                None => "Unknown",
            };
            let known = before.iter().find(|known| known.type_ == step.name());
            let since = known.filter(|known| known.status == status);
            Condition {
                type_: step.name().into(),
                status: status.into(),
                reason: standing.reason.into(),
                message: standing.message.clone(),
                observed_generation: generation,
                last_transition_time: since
                    .map_or_else(|| now.clone(), |known| known.last_transition_time.clone()),
            }
        };
        self.0.iter().map(condition).collect()
    }
}

/// Grants of `granted` that `asked` does not name.
fn unasked(granted: &crate::plugin::Grants, asked: &crate::plugin::Grants) -> Vec<String> {
    let asked: BTreeSet<_> = asked.iter().collect();
    let unasked = granted.iter().filter(|grant| !asked.contains(grant));
    unasked.map(ToString::to_string).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn time(second: i64) -> Time {
        Time(jiff::Timestamp::from_second(second).unwrap())
    }

    #[test]
    fn a_condition_that_holds_as_before_keeps_its_time() {
        let mut report = Report::begun();
        report.hold(Step::Fetched, "Fetched", "sha256:a");
        let first = report.conditions(&[], Some(1), &time(1));
        report.hold(Step::Fetched, "Fetched", "sha256:b");
        report.fail(Step::Verified, "NotSigned", "nobody signed it");
        let second = report.conditions(&first, Some(2), &time(2));
        assert_eq!(second[0].last_transition_time, time(1));
        assert_eq!(second[0].message, "sha256:b");
        assert_eq!(second[1].last_transition_time, time(2));
        let names: Vec<_> = second
            .iter()
            .map(|condition| condition.type_.as_str())
            .collect();
        assert_eq!(
            names,
            ["Fetched", "Verified", "Compiled", "Granted", "Serving"]
        );
    }
}
