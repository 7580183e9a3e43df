//! The same objects, given to prometheus-operator's own generator and to this one.
//!
//! `tests/oracle` runs upstream's; `cargo xtask test` builds it. `differential/cases` holds the objects by topic. What
//! differs on purpose says so there, and is told in README.md.
#![allow(clippy::expect_used, clippy::panic, unreachable_pub)]

#[path = "differential/case.rs"]
mod case;
#[path = "differential/compare.rs"]
mod compare;
#[path = "differential/coverage.rs"]
mod coverage;
#[path = "differential/oracle.rs"]
mod oracle;
#[path = "differential/ours.rs"]
mod ours;
#[path = "differential/random.rs"]
mod random;

use std::collections::BTreeSet;

use case::Case;
use oracle::Oracle;
use serde_json::Value;

/// How many clusters are made up.
const MADE_UP: u64 = 200;

#[test]
fn hand_written_objects_give_the_same_configuration() {
    let cases = case::all();
    let objects: usize = cases.iter().map(|case| case.objects().len()).sum();
    assert!(objects >= 150, "only {objects} objects");
    let troubles = differences(&cases);
    assert!(
        troubles.is_empty(),
        "{} of {} cases differ:\n{}",
        troubles.len(),
        cases.len(),
        troubles.join("\n")
    );
}

#[test]
fn made_up_objects_give_the_same_configuration() {
    let cases: Vec<Case> = (0..MADE_UP).map(random::cluster).collect();
    let troubles = differences(&cases);
    assert!(
        troubles.is_empty(),
        "{} of {} clusters differ:\n{}",
        troubles.len(),
        cases.len(),
        troubles.join("\n")
    );
}

#[test]
fn every_field_of_upstreams_schemas_is_used_or_named_as_unsupported() {
    let missing = coverage::missing(&case::all());
    assert!(
        missing.is_empty(),
        "neither used by a case nor named in UnsupportedFields:\n{}",
        missing.join("\n")
    );
}

/// What is not the same, in words, one for each case.
fn differences(cases: &[Case]) -> Vec<String> {
    let mut oracle = Oracle::start();
    let mut troubles = Vec::new();
    for case in cases {
        let theirs = oracle.generate(&case.objects());
        let ours = ours::generate(case);
        let mut trouble = difference(case, &theirs, &ours);
        if trouble.is_none() && case.is_of_newest_version() {
            trouble = oracle.load(&ours.text, &ours.rule_texts).err();
        }
        match (trouble, &case.differs) {
            (Some(trouble), None) => troubles.push(format!("{}: {trouble}", case.case)),
            (None, Some(why)) => troubles.push(format!(
                "{}: is the same, though it should differ: {why}",
                case.case
            )),
            _ => {}
        }
    }
    troubles
}

fn difference(case: &Case, theirs: &Value, ours: &ours::Generated) -> Option<String> {
    let rejected: BTreeSet<String> = theirs["rejected"]
        .as_object()
        .into_iter()
        .flatten()
        .map(|(name, _)| name.clone())
        .collect();
    let left_out: BTreeSet<String> = ours.left_out.keys().cloned().collect();
    let ours_alone: BTreeSet<String> = case.ours_alone.iter().cloned().collect();
    let wanted: BTreeSet<String> = rejected.union(&ours_alone).cloned().collect();
    if left_out != wanted {
        return Some(format!(
            "upstream rejects {rejected:?}, here {:?} are left out",
            ours.left_out
        ));
    }
    if let Some(error) = theirs["error"].as_str() {
        return match ours.refused.is_empty() {
            true => Some(format!("upstream fails, here nothing is refused: {error}")),
            false => None,
        };
    }
    if !ours_alone.is_empty() {
        return None;
    }
    if !ours.refused.is_empty() {
        return Some(format!("only here refused: {:?}", ours.refused));
    }
    compare::compare(&theirs["configuration"], &ours.configuration)
        .or_else(|| compare::compare(&theirs["rules"], &ours.rules))
}
