//! Whether a plugin may be served, in the place of the version that is served now.

use std::collections::BTreeSet;

use crate::controllers::Controller;
use crate::object::Kind;
use crate::plugin::{Description, Grant, Grants};

/// Why a new version does not take the place of the one that is served.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum NotSwitched {
    /// It asks for more than it is granted, and the one that is served does not.
    #[error(
        "the new version asks for more than is granted: add to grants, if you agree: {}",
        names(.0)
    )]
    AsksForMore(Vec<Grant>),
    /// Objects of a kind that it no longer serves are there.
    #[error(
        "the new version no longer serves {kind}, and there are {count} of them: delete them first"
    )]
    DropsKind {
        /// The kind.
        kind: Kind,
        /// How many there are.
        count: usize,
    },
}

impl NotSwitched {
    /// One word for a condition's reason.
    pub(super) fn reason(&self) -> &'static str {
        match self {
            Self::AsksForMore(_) => "AsksForMore",
            Self::DropsKind { .. } => "DropsKind",
        }
    }
}

/// Decides about a replacement of what `current` serves.
pub(super) fn replacement(
    current: &Controller,
    new: &Description,
    grants: &Grants,
) -> Result<(), NotSwitched> {
    let reconciler = current.reconciler();
    let old = reconciler.plugin().description();
    let kept = new.kinds();
    let dropped: BTreeSet<_> = old.kinds().difference(&kept).cloned().collect();
    for kind in dropped {
        let objects = reconciler.objects();
        let count = objects.iter().filter(|object| object.kind == kind).count();
        if count > 0 {
            return Err(NotSwitched::DropsKind { kind, count });
        }
    }
    // What the served version lacks too is no news; nor is what the administrator took away from the same version.
    let lacks = |description: &Description| -> BTreeSet<Grant> {
        grants
            .missing(&description.asks())
            .into_iter()
            .cloned()
            .collect()
    };
    let more: Vec<_> = lacks(new).difference(&lacks(old)).cloned().collect();
    match more.is_empty() {
        true => Ok(()),
        false => Err(NotSwitched::AsksForMore(more)),
    }
}

/// `own:v1/Service, act:evict`.
pub(super) fn names(grants: &[Grant]) -> String {
    let names: Vec<_> = grants.iter().map(ToString::to_string).collect();
    names.join(", ")
}
