//! How the children of a round ended.

use crate::apply::record::{Record, Recreation};
use crate::apply::trouble::ChildTrouble;
use crate::object::ObjectKey;

/// How one child ended.
#[derive(Debug)]
pub struct ChildOutcome {
    /// Which.
    pub key: ObjectKey,
    /// What became of it.
    pub ended: ChildEnded,
}

/// What became of one child.
#[derive(Debug)]
pub enum ChildEnded {
    /// Nothing to do.
    InStep,
    /// Written, since nothing stood there.
    Made,
    /// Written, since it stood there in the last round and somebody deleted it.
    MadeAgain,
    /// Written, since something else is wanted.
    Changed,
    /// Written, since somebody changed this field.
    PutRight(String),
    /// Being deleted: made again once it is gone.
    Waits,
    /// One of its fields cannot be changed: to be deleted and made again, once that is stored.
    ToRecreate(Recreation),
    /// Not in step, and why.
    Failed(ChildTrouble),
}

/// A plan whose children were applied.
#[derive(Debug)]
pub struct Applied {
    /// How each child ended, in the plan's order.
    pub children: Vec<ChildOutcome>,
    /// What the host has to remember in status.
    pub record: Record,
    /// Whether the last round found children to prune, if this one agrees.
    pub(super) prunes: bool,
}

impl Applied {
    /// Whether anything was written.
    pub fn changed(&self) -> bool {
        self.children.iter().any(|child| child.ended.wrote())
    }

    /// Whether a child is in trouble.
    pub fn failed(&self) -> bool {
        self.troubles().next().is_some()
    }

    /// Whether every child is as it should be.
    pub fn settled(&self) -> bool {
        let settled = |ended: &ChildEnded| matches!(ended, ChildEnded::InStep) || ended.wrote();
        self.children.iter().all(|child| settled(&child.ended))
    }

    /// Whether something is to be deleted once the status is stored.
    pub fn needs_fence(&self) -> bool {
        let recreates = |ended: &ChildEnded| matches!(ended, ChildEnded::ToRecreate(_));
        self.prunes || self.children.iter().any(|child| recreates(&child.ended))
    }

    /// The children in trouble.
    pub fn troubles(&self) -> impl Iterator<Item = (&ObjectKey, &ChildTrouble)> {
        self.children.iter().filter_map(|child| match &child.ended {
            ChildEnded::Failed(trouble) => Some((&child.key, trouble)),
            _ => None,
        })
    }
}

impl ChildEnded {
    pub(super) fn wrote(&self) -> bool {
        matches!(
            self,
            Self::Made | Self::MadeAgain | Self::Changed | Self::PutRight(_)
        )
    }
}
