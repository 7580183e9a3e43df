//! `windlass plugin check`: everything that would fail in a host, all at once, each with what to do.
//!
//! From the outside in: is it a component of this contract ([`contract`]); does it compile and link; what does it
//! say about itself; would an API server take its CRDs (`crd`) and a host what it asks for (`asks`); what does it
//! do in a few rounds on trial (`rounds`), with an object made up from its CRD (`sample`) or given.
//! What a step finds does not keep the next from looking, unless there is nothing left to look at.

mod asks;
mod crd;
mod finding;
mod rounds;
mod sample;

pub use finding::{Finding, Severity};

use serde_json::Value;

use crate::author::candidate::Candidate;
use crate::object::Kind;
use crate::plugin::Description;
use crate::plugin::contract::{self, Outline};
use crate::plugin::trial::{Bench, Trial, TrialError};
use rounds::{Origin, World};

/// What came of it.
#[derive(Debug, Default)]
pub struct Report {
    /// Everything that was found.
    pub findings: Vec<Finding>,
    /// What the plugin says about itself, as far as it could be read.
    pub description: Option<Description>,
}

impl Report {
    /// How many findings will fail in a host.
    pub fn errors(&self) -> usize {
        let errors = self.findings.iter();
        errors
            .filter(|finding| finding.severity == Severity::Error)
            .count()
    }

    fn of(findings: Vec<Finding>) -> Self {
        Self {
            findings,
            description: None,
        }
    }
}

/// Looks at a component. `given` is an object to try it with.
pub async fn check(bench: &Bench, candidate: &Candidate, given: Option<&Value>) -> Report {
    let outside = outside(&candidate.bytes);
    if !outside.is_empty() {
        return Report::of(outside);
    }
    match bench.put(&candidate.bytes).await {
        Ok(trial) => inside(&trial, given).await,
        Err(error) => Report::of(vec![refused(&error)]),
    }
}

fn outside(wasm: &[u8]) -> Vec<Finding> {
    match Outline::read(wasm) {
        Err(not) => vec![Finding::error(not.to_string(), "")],
        Ok(outline) => {
            let misfits = outline.misfits();
            misfits
                .iter()
                .map(|misfit| Finding::error(misfit.to_string(), ""))
                .collect()
        }
    }
}

fn refused(error: &TrialError) -> Finding {
    let remedy = match error {
        TrialError::Engine(_) => "this machine is to blame, not the component",
        TrialError::Compile(_) => "build it again with the tools that `windlass plugin new` names",
        TrialError::NotAPlugin(_) => "",
    };
    Finding::error(error.to_string(), remedy)
}

async fn inside(trial: &Trial, given: Option<&Value>) -> Report {
    let (description, mut findings) = match described(trial).await {
        Ok(described) => described,
        Err(finding) => return Report::of(vec![finding]),
    };
    findings.extend(description.serves.iter().flat_map(crd::findings));
    findings.extend(asks::findings(&description));
    findings.extend(tried(trial, &description, given).await);
    Report {
        findings,
        description: Some(description),
    }
}

async fn described(trial: &Trial) -> Result<(Description, Vec<Finding>), Finding> {
    let answers = trial.describe_twice().await;
    let (first, second) = answers.map_err(|fault| {
        Finding::error(
            format!("describe failed: {fault}"),
            "it has no input: let it return a constant",
        )
    })?;
    let description = Description::parse(&first).map_err(|error| {
        Finding::error(
            error.to_string(),
            "its form stands in wit/README.md under \"describe\"",
        )
    })?;
    let two = (first != second).then(|| {
        Finding::error(
            "describe gave two answers in two instances",
            "it has no input: let it return a constant",
        )
    });
    Ok((description, two.into_iter().collect()))
}

async fn tried(trial: &Trial, description: &Description, given: Option<&Value>) -> Vec<Finding> {
    let mut findings = Vec::new();
    if let Some(object) = given
        && !description
            .serves
            .iter()
            .any(|served| is_of(object, &served.kind))
    {
        let kinds: Vec<_> = description
            .serves
            .iter()
            .map(|served| served.kind.to_string())
            .collect();
        let what = format!(
            "the given object is a {} of {}",
            object["kind"], object["apiVersion"]
        );
        findings.push(Finding::error(
            what,
            format!("give one of {}", kinds.join(", ")),
        ));
    }
    for served in &description.serves {
        let sample = match given.filter(|object| is_of(object, &served.kind)) {
            Some(object) => {
                let mut object = object.clone();
                sample::complete(&mut object, served);
                (object, Origin::Given)
            }
            None => (sample::object(served), Origin::MadeUp),
        };
        findings.extend(
            World::new(trial, description, served, sample)
                .findings()
                .await,
        );
    }
    findings
}

fn is_of(object: &Value, kind: &Kind) -> bool {
    object["apiVersion"] == kind.api_version() && object["kind"] == *kind.kind
}

/// The contract that components are checked against, for people.
pub fn spoken() -> String {
    format!("windlass:plugin@{}", contract::CONTRACT)
}
