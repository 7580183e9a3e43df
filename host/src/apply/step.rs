//! Whether a child is in step, and what to do when it is not.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::apply::coverage::uncovered;
use crate::apply::desired::{APPLIED, Desired, OWNER_UID};
use crate::object::{OWNER_LABEL, Object};
use crate::plugin::bindings::Write;
use crate::plugin::configuration::Adopted;

/// What to do about one child.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// It is as it should be, or it is to be left alone.
    InStep,
    /// Write it.
    Write(Why),
    /// It is being deleted: made again once it is gone.
    Wait,
    /// Something else goes by its name.
    NameTaken,
}

/// Why a child is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Why {
    /// There is none.
    Absent,
    /// Something else is wanted than was applied.
    Changed,
    /// Somebody changed or removed this field of what was applied.
    Disturbed(String),
}

/// Compares what stands with what should. `live` may be the cache's: of managedFields it has only our entries.
pub fn step(live: Option<&Object>, desired: &Desired<'_>, adopt: &BTreeSet<Adopted>) -> Step {
    let Some(live) = live else {
        return Step::Write(Why::Absent);
    };
    if !is_ours(live, desired) && !adopted(live, adopt) {
        return Step::NameTaken;
    }
    if live.deleting {
        return Step::Wait;
    }
    if desired.child.write == Write::CreateOnly {
        return Step::InStep;
    }
    if live.annotations.get(APPLIED) != Some(&desired.digest) {
        return Step::Write(Why::Changed);
    }
    let fields = live.own_fields.get(&desired.manager);
    let fields = fields.and_then(|text| serde_json::from_str(text).ok());
    match uncovered(
        &desired.shape(),
        &fields.unwrap_or_else(|| Value::Object(Default::default())),
    ) {
        Some(path) => Step::Write(Why::Disturbed(path)),
        None => Step::InStep,
    }
}

/// Whether it carries our owner's label or, should somebody have taken that off, our owner's uid.
fn is_ours(live: &Object, desired: &Desired<'_>) -> bool {
    let uid = live.annotations.get(OWNER_UID);
    live.labels.get(OWNER_LABEL) == Some(&desired.label)
        || uid.is_some_and(|uid| uid == desired.owner_uid)
}

/// Whether the Plugin lists it to be taken over. One that carries another owner's label is that owner's.
fn adopted(live: &Object, adopt: &BTreeSet<Adopted>) -> bool {
    let key = &live.key;
    !live.labels.contains_key(OWNER_LABEL)
        && adopt.iter().any(|adopted| {
            adopted.kind == key.kind
                && Some(&adopted.namespace) == key.namespace.as_ref()
                && adopted.name == key.name
        })
}
