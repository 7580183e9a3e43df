//! Checks a plan against the plugin's grants before anything is touched.
//!
//! A [`Plan`] is what a plugin said; a [`Checked`] is what the host may do. Only [`check`] makes one, the rooms
//! after this one take nothing else, and one violation refuses the whole.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::{Map, Value};

use crate::object::{Kind, Object, ObjectKey};
use crate::plugin::bindings::{ActionStep, Event, Plan, Refusal};
use crate::plugin::grants::{Grant, Grants};

mod action;
mod child;
mod refused;
mod report;
mod slot;
mod sql;
#[cfg(test)]
mod tests;

pub(crate) use child::map_at;
pub use child::{Content, WantedChild};
pub use refused::Refused;
pub use report::Figure;
pub use slot::{Part, Random, Slot, YamlForm};

/// How many children one plan may have.
const MOST_CHILDREN: usize = 10_000;
/// The shortest time after which an object is looked at again.
const SHORTEST_REQUEUE: Duration = Duration::from_millis(500);

/// Which of the plugin's functions answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    /// `reconcile`.
    Reconcile,
    /// `finalize`.
    Finalize,
}

/// A plan that may be carried out.
#[derive(Clone, Debug)]
pub struct Checked {
    call: Call,
    children: Vec<WantedChild>,
    status: Option<Map<String, Value>>,
    measurements: Vec<Figure>,
    refusals: Vec<Refusal>,
    events: Vec<Event>,
    actions: Vec<ActionStep>,
    requeue_after: Option<Duration>,
    finalized: bool,
}

/// Checks all of what a plugin answered about `owner`.
///
/// # Errors
/// The first violation; nothing of the plan may then be carried out.
pub fn check(plan: Plan, call: Call, owner: &Object, grants: &Grants) -> Result<Checked, Refused> {
    let Plan {
        children,
        status,
        measurements,
        refusals,
        events,
        actions,
        requeue_after,
        finalized,
    } = plan;
    let children = check_children(children, owner, grants)?;
    let keys = children.iter().map(|child| child.key.clone()).collect();
    let checks = action::Checks {
        owner,
        grants,
        children: &keys,
    };
    for child in &children {
        let what = format!("child {}", child.key);
        let secrets = child.slots.values().flat_map(Slot::secrets);
        secrets
            .into_iter()
            .try_for_each(|key| checks.secret(&what, key))?;
    }
    checks.actions(&actions)?;
    report::events(&events, owner, grants)?;
    if finalized && call == Call::Reconcile {
        return Err(Refused::form("finalized", "only finalize may say so"));
    }
    Ok(Checked {
        call,
        children,
        status: report::status(status.as_deref())?,
        measurements: report::measurements(measurements)?,
        refusals: report::refusals(refusals)?,
        events,
        actions,
        requeue_after: check_requeue(requeue_after)?,
        finalized,
    })
}

fn check_children(
    children: Vec<crate::plugin::bindings::Child>,
    owner: &Object,
    grants: &Grants,
) -> Result<Vec<WantedChild>, Refused> {
    if children.len() > MOST_CHILDREN {
        return Err(Refused::form(
            "children",
            format!("a plan has at most {MOST_CHILDREN}"),
        ));
    }
    let mut seen = BTreeSet::new();
    let mut checked = Vec::with_capacity(children.len());
    for child in children {
        let child = WantedChild::parse(child, owner)?;
        let what = format!("child {}", child.key);
        let grant = Grant::Own(child.key.kind.clone());
        if !grants.allows(&grant) {
            return Err(Refused::Grant { what, grant });
        }
        if !seen.insert((child.key.kind.qualified(), child.key.name.clone())) {
            return Err(Refused::form(what, "is named twice"));
        }
        checked.push(child);
    }
    Ok(checked)
}

fn check_requeue(after: Option<u64>) -> Result<Option<Duration>, Refused> {
    let after = after.map(Duration::from_millis);
    match after.filter(|after| *after < SHORTEST_REQUEUE) {
        Some(after) => {
            let shortest = SHORTEST_REQUEUE.as_millis();
            Err(Refused::form(
                "requeue-after",
                format!("{} ms: write at least {shortest}", after.as_millis()),
            ))
        }
        None => Ok(after),
    }
}

impl Checked {
    /// Which function answered.
    pub fn call(&self) -> Call {
        self.call
    }

    /// Every object that should exist, in the order given.
    pub fn children(&self) -> &[WantedChild] {
        &self.children
    }

    /// The plugin's part of status; None leaves it as it is.
    pub fn status(&self) -> Option<&Map<String, Value>> {
        self.status.as_ref()
    }

    /// Figures that change all the time.
    pub fn measurements(&self) -> &[Figure] {
        &self.measurements
    }

    /// What of the spec is not followed.
    pub fn refusals(&self) -> &[Refusal] {
        &self.refusals
    }

    /// What people should read.
    pub fn events(&self) -> &[Event] {
        &self.events
    }

    /// What to do once the status is stored.
    pub fn actions(&self) -> &[ActionStep] {
        &self.actions
    }

    /// When to look again even if nothing happens.
    pub fn requeue_after(&self) -> Option<Duration> {
        self.requeue_after
    }

    /// Whether the finalizer may go.
    pub fn finalized(&self) -> bool {
        self.finalized
    }

    /// The Secrets whose values the children take: a change of one wakes the owner.
    pub fn slot_sources(&self) -> BTreeSet<ObjectKey> {
        let secrets = self
            .children
            .iter()
            .flat_map(|child| child.slots.values().flat_map(Slot::secrets));
        secrets
            .map(|key| ObjectKey {
                kind: Kind::new("v1", "Secret"),
                namespace: Some(key.namespace.clone()),
                name: key.name.clone(),
            })
            .collect()
    }
}
