//! Deletes what is no longer named, and what has to go to be made again; after the status, never before it.
//!
//! Guarantees: nothing is pruned unless two rounds in a row agree that it is not named, every child of both rounds is
//! in step and no fact was refused; what is kept, shared or another owner's is never pruned; a deletion names the
//! uid and version that was looked at. From `finalize` nothing is pruned: the garbage collector does it.

use std::collections::BTreeSet;
use std::sync::Arc;

use kube::api::{DeleteParams, DynamicObject, Preconditions, PropagationPolicy};

use crate::apply::desired::{OWNER_UID, WHEN_DROPPED};
use crate::apply::record::Recreation;
use crate::apply::{Applied, Applier, ChildEnded, ChildTrouble, Memory};
use crate::cluster::{ClusterError, asked};
use crate::object::{Object, ObjectKey};
use crate::plan::{Call, Checked};
use crate::plugin::bindings::WhenImmutable;
use crate::status::Fence;

/// Whether the round knew all that it asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gathered {
    /// Every fact was given.
    Whole,
    /// A fact was refused for want of a grant: a plan that rests on it may leave out too much.
    SomeRefused,
}

/// What a round saw by the time it prunes.
#[derive(Clone, Copy, Debug)]
pub struct Seen<'a> {
    /// How its children ended.
    pub applied: &'a Applied,
    /// The children that stand, by the owner's label.
    pub live: &'a [Arc<Object>],
    /// What it knew.
    pub facts: Gathered,
}

/// What was pruned.
#[derive(Debug, Default)]
pub struct Pruned {
    /// Children that were deleted.
    pub deleted: Vec<ObjectKey>,
    /// Children that could not be deleted, and why.
    pub failed: Vec<(ObjectKey, ChildTrouble)>,
    undecided: bool,
}

impl Pruned {
    /// Whether anything was deleted.
    pub fn changed(&self) -> bool {
        !self.deleted.is_empty()
    }

    /// Whether the next round has to agree: look again soon.
    pub fn undecided(&self) -> bool {
        self.undecided
    }
}

impl Applier {
    /// Prunes what `plan` does not name of the children that stand, and deletes what is to be made again. Without a
    /// fence it only remembers what it would prune.
    pub async fn prune(
        &self,
        owner: &Object,
        plan: &Checked,
        round: Seen<'_>,
        fence: Option<&Fence>,
        memory: &mut Memory,
    ) -> Pruned {
        let Seen {
            applied,
            live,
            facts,
        } = round;
        let mut pruned = Pruned::default();
        let before = std::mem::take(&mut memory.unwanted);
        if let Some(fence) = fence.filter(|fence| fence.uid() == owner.uid) {
            self.recreate(owner, plan, applied, fence, &mut pruned)
                .await;
        }
        if plan.call() == Call::Finalize || facts == Gathered::SomeRefused || !applied.settled() {
            return pruned;
        }
        for child in unwanted(owner, plan, live) {
            match fence {
                Some(_) if before.contains(&child.uid) => {
                    self.delete(child, PropagationPolicy::Background, &mut pruned)
                        .await;
                }
                Some(_) | None => {
                    memory.unwanted.insert(child.uid.clone());
                    pruned.undecided = true;
                }
            }
        }
        pruned
    }

    /// Deletes what is to be made again; what was generated for it is carried over first.
    async fn recreate(
        &self,
        owner: &Object,
        plan: &Checked,
        applied: &Applied,
        _stored: &Fence,
        pruned: &mut Pruned,
    ) {
        for (child, outcome) in plan.children().iter().zip(&applied.children) {
            let ChildEnded::ToRecreate(Recreation { uid, .. }) = &outcome.ended else {
                continue;
            };
            let Some(live) = self.cache.get(&child.key).filter(|live| live.uid == *uid) else {
                continue;
            };
            let policy = match child.when_immutable {
                WhenImmutable::RecreateOrphaning => PropagationPolicy::Orphan,
                WhenImmutable::Recreate | WhenImmutable::Report => PropagationPolicy::Foreground,
            };
            match self.carry(owner, child).await {
                Ok(()) => self.delete(&live, policy, pruned).await,
                Err(trouble) => pruned.failed.push((child.key.clone(), trouble)),
            }
        }
    }

    async fn delete(&self, child: &Object, policy: PropagationPolicy, pruned: &mut Pruned) {
        match self.deleted(child, policy).await {
            Ok(()) => pruned.deleted.push(child.key.clone()),
            Err(error) if error.is_not_found() => self.cache.removed(&child.key, &child.uid),
            Err(error) => {
                // An admission webhook may quote what it does not let go.
                let error = error.masked(|text| self.secrets.mask(&child.key, text));
                pruned.failed.push((child.key.clone(), error.into()));
            }
        }
    }

    /// Deletes exactly what was looked at.
    async fn deleted(&self, child: &Object, policy: PropagationPolicy) -> Result<(), ClusterError> {
        let key = &child.key;
        let api = self
            .cluster
            .api(&key.kind, key.namespace.as_deref())
            .await?;
        let params = DeleteParams {
            propagation_policy: Some(policy),
            preconditions: Some(Preconditions {
                uid: Some(child.uid.clone()),
                resource_version: Some(child.resource_version.clone()),
            }),
            ..DeleteParams::default()
        };
        let what = format!("delete {key}");
        let answer = asked(&what, api.delete(&key.name, &params)).await?;
        match answer.left() {
            Some(ending) => self.still_there(child, ending),
            None => self.cache.removed(key, &child.uid),
        }
        Ok(())
    }

    /// Takes in a child that is on its way out.
    fn still_there(&self, child: &Object, ending: DynamicObject) {
        if let Ok(ending) = crate::apply::write::kept(&child.key.kind, ending) {
            self.cache.wrote(ending);
        }
    }
}

/// The children of this very owner that the plan does not name and that are to go then.
fn unwanted<'a>(
    owner: &'a Object,
    plan: &'a Checked,
    live: &'a [Arc<Object>],
) -> impl Iterator<Item = &'a Arc<Object>> {
    let named: BTreeSet<_> = plan
        .children()
        .iter()
        .map(|child| (child.key.kind.qualified(), &child.key.name))
        .collect();
    let ours = |child: &Object| {
        child.annotations.get(OWNER_UID) == Some(&owner.uid)
            && child
                .annotations
                .get(WHEN_DROPPED)
                .is_some_and(|when| when == "delete")
            && child
                .controller()
                .is_some_and(|controller| controller.uid == owner.uid)
    };
    live.iter().filter(move |child| {
        let name = (child.key.kind.qualified(), &child.key.name);
        ours(child) && !child.deleting && !named.contains(&name)
    })
}
