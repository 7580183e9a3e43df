//! What is remembered of an object between its rounds, in memory only: losing it costs a call, never a decision.

use std::collections::HashMap;
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex, PoisonError};

use crate::apply;
use crate::object::ObjectKey;
use crate::plugin::bindings::{Outcome, Requirement};

/// What is remembered of one object.
#[derive(Debug, Default)]
pub(super) struct Memory {
    /// Whose memory it is: another uid is another object.
    pub(super) uid: String,
    /// What its last round required.
    pub(super) requirements: Vec<Requirement>,
    /// How its actions ended, until a round that was told has been stored.
    pub(super) outcomes: Vec<Outcome>,
    /// What the rooms that act remember.
    pub(super) effects: apply::Memory,
    /// Rounds in a row that failed.
    pub(super) failures: u32,
    /// Rounds in a row that changed something.
    pub(super) changes: u32,
}

/// The memories of all objects of one plugin.
#[derive(Debug, Default)]
pub(super) struct Memories(Mutex<HashMap<Arc<ObjectKey>, Memory>>);

impl Memories {
    /// The memory of the object with this uid, for one round; only one round of an object is in flight.
    pub(super) fn borrow(&self, object: &Arc<ObjectKey>, uid: &str) -> Borrowed<'_> {
        let known = self
            .0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .remove(object);
        let memory = known
            .filter(|memory| memory.uid == uid)
            .unwrap_or_else(|| Memory {
                uid: uid.to_owned(),
                ..Memory::default()
            });
        Borrowed {
            memories: self,
            object: object.clone(),
            memory,
        }
    }

    /// Forgets an object that is gone; returns the uid that it had.
    pub(super) fn forget(&self, object: &ObjectKey) -> Option<String> {
        let mut memories = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        memories.remove(object).map(|memory| memory.uid)
    }

    /// Forgets everything, as when another host may have acted meanwhile.
    pub(super) fn clear(&self) {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clear();
    }
}

/// A memory in use. Goes back when dropped, also when its round is cut short.
pub(super) struct Borrowed<'a> {
    memories: &'a Memories,
    object: Arc<ObjectKey>,
    memory: Memory,
}

impl Deref for Borrowed<'_> {
    type Target = Memory;

    fn deref(&self) -> &Memory {
        &self.memory
    }
}

impl DerefMut for Borrowed<'_> {
    fn deref_mut(&mut self) -> &mut Memory {
        &mut self.memory
    }
}

impl Drop for Borrowed<'_> {
    fn drop(&mut self) {
        let memory = std::mem::take(&mut self.memory);
        let mut memories = self
            .memories
            .0
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        memories.insert(self.object.clone(), memory);
    }
}
