//! The fence between deciding and acting.

use crate::object::{Object, ObjectKey};

/// Proof that the status which announces a decision is stored and current. Only this room makes one; prune and
/// actions want to see it.
#[derive(Debug)]
pub struct Fence {
    owner: ObjectKey,
    uid: String,
    resource_version: String,
}

impl Fence {
    /// Whose status it is.
    pub fn owner(&self) -> &ObjectKey {
        &self.owner
    }

    /// The owner's uid.
    pub fn uid(&self) -> &str {
        &self.uid
    }

    /// The version that was current.
    pub fn resource_version(&self) -> &str {
        &self.resource_version
    }

    pub(super) fn of(owner: &Object) -> Self {
        Self {
            owner: owner.key.clone(),
            uid: owner.uid.clone(),
            resource_version: owner.resource_version.clone(),
        }
    }
}
