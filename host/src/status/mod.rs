//! Stores what a round decided: the fence between deciding and acting.
//!
//! Flow: merge the plugin's status with the host's part, compare with what the round saw, and write only what
//! differs, under the resourceVersion that the round saw.
//! Guarantees: a [`Fence`] exists only when the deciding status is stored and was current at that moment, so a
//! paused former holder of the lease cannot act on a decision that is not. Nothing is written where nothing differs.
//! Errors: a conflict means that the round decided on something old; all of it is discarded.

use std::borrow::Cow;

use kube::api::{DynamicObject, PostParams};
use serde_json::Value;

use crate::apply::{FIELD, Memory};
use crate::cache::Cache;
use crate::cluster::{Cluster, ClusterError, asked};
use crate::object::{FIELD_MANAGER, Object};

mod conditions;
mod draft;
mod fence;
mod merge;
mod schema;

pub use conditions::{HostCondition, SPEC_ACCEPTED, SYNCED};
pub use draft::{Draft, Unsynced};
pub use fence::Fence;
pub use schema::{Schema, Schemas};

use draft::status_of;
use merge::{Figures, Seen, merge, same};

/// How often measurements are written to status when nothing else is, in milliseconds.
const MEASURE_EVERY: u64 = 60_000;

/// What a round does after its status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// Nothing: an unchanged status needs no request.
    Nothing,
    /// It acts: an unchanged status must be shown to be current.
    Fence,
}

/// Why a status was not stored.
#[derive(Debug, thiserror::Error)]
pub enum StatusError {
    /// The object changed since the round saw it: the round is discarded, its actions included.
    #[error("the object was changed during the round, which is discarded")]
    Conflict,
    /// The object is gone.
    #[error("the object is gone")]
    Gone,
    /// The API server refused or did not answer.
    #[error("failed to store the status: {0}")]
    Cluster(#[source] ClusterError),
}

/// A status that is stored.
#[derive(Debug)]
pub struct Stored {
    changed: bool,
    fence: Option<Fence>,
    object: Object,
}

impl Stored {
    /// Whether it had to be written.
    pub fn changed(&self) -> bool {
        self.changed
    }

    /// The proof; there whenever it was asked for or the status was written.
    pub fn fence(&self) -> Option<&Fence> {
        self.fence.as_ref()
    }

    /// The object as it stands with this status.
    pub fn object(&self) -> &Object {
        &self.object
    }
}

/// Writes status.
#[derive(Clone)]
pub struct StatusWriter {
    cluster: Cluster,
    schemas: Schemas,
    cache: Cache,
}

impl StatusWriter {
    /// Writes to `cluster` and tells `cache` what was written.
    pub fn new(cluster: Cluster, cache: Cache) -> Self {
        Self {
            schemas: Schemas::new(cluster.clone()),
            cluster,
            cache,
        }
    }

    /// Stores `draft` as the status of the object that the round saw. `now` is the round's time, in milliseconds
    /// since the epoch.
    ///
    /// # Errors
    /// [`StatusError::Conflict`] when the object is not any more as the round saw it, where that was looked at.
    pub async fn store(
        &self,
        seen: &Object,
        draft: &Draft,
        need: Need,
        now: u64,
        memory: &mut Memory,
    ) -> Result<Stored, StatusError> {
        let schema = self
            .schemas
            .of(&seen.key.kind)
            .await
            .map_err(StatusError::Cluster)?;
        let draft = &*honest(draft, &schema);
        let stood = status_of(seen);
        let time = rfc3339(now);
        let before = Seen {
            status: &stood,
            generation: seen.generation,
            now: &time,
        };
        let conformed = |figures| {
            let mut status = merge(draft, &before, figures);
            schema.conform(&mut status);
            status
        };
        let renewed = conformed(Figures::Renew);
        let stood = Value::Object(stood.clone());
        let measured = *memory.measured.get_or_insert(now);
        let due = now.saturating_sub(measured) >= MEASURE_EVERY;
        let changed = if due {
            !same(&renewed, &stood)
        } else {
            !same(&conformed(Figures::Stay), &stood)
        };
        if !changed {
            return self.unchanged(seen, need).await;
        }
        let stored = self.write(seen, renewed).await?;
        memory.measured = Some(now);
        Ok(Stored {
            changed: true,
            fence: Some(Fence::of(&stored)),
            object: stored,
        })
    }

    /// Shows, when it matters, that what the round saw is current: by a consistent read.
    async fn unchanged(&self, seen: &Object, need: Need) -> Result<Stored, StatusError> {
        if need == Need::Nothing {
            return Ok(Stored {
                changed: false,
                fence: None,
                object: seen.clone(),
            });
        }
        let live = self
            .cluster
            .get(&seen.key)
            .await
            .map_err(StatusError::Cluster)?;
        let live = live.ok_or(StatusError::Gone)?;
        if (&live.uid, &live.resource_version) != (&seen.uid, &seen.resource_version) {
            return Err(StatusError::Conflict);
        }
        Ok(Stored {
            changed: false,
            fence: Some(Fence::of(&live)),
            object: live,
        })
    }

    /// Puts the status under the version that the round saw.
    async fn write(&self, seen: &Object, status: Value) -> Result<Object, StatusError> {
        let key = &seen.key;
        let what = format!("write the status of {key}");
        let unreadable = |error: serde_json::Error| {
            StatusError::Cluster(ClusterError::Unreachable {
                what: what.clone(),
                why: error.to_string(),
            })
        };
        let mut whole: DynamicObject = serde_json::from_str(&seen.json).map_err(unreadable)?;
        whole.data["status"] = status.clone();
        let api = self
            .cluster
            .api(&key.kind, key.namespace.as_deref())
            .await
            .map_err(StatusError::Cluster)?;
        let params = PostParams {
            field_manager: Some(FIELD_MANAGER.into()),
            ..PostParams::default()
        };
        let answer = asked(&what, api.replace_status(&key.name, &params, &whole)).await;
        let answer = answer.map_err(failed)?;
        if !same(&answer.data["status"], &status) {
            self.schemas.forget(&key.kind);
        }
        let stored = Object::new(&key.kind, answer).map_err(|error| {
            StatusError::Cluster(ClusterError::Unreachable {
                what,
                why: error.to_string(),
            })
        })?;
        self.cache.wrote(stored.clone());
        Ok(stored)
    }
}

/// Says so when the host cannot remember what it has to: a value that it made would be made again once lost.
fn honest<'a>(draft: &'a Draft, schema: &Schema) -> Cow<'a, Draft> {
    let remembers = draft
        .record
        .as_ref()
        .is_some_and(|record| !record.is_empty());
    match remembers && !schema.keeps(FIELD) {
        true => Cow::Owned(draft.clone().with(&Unsynced::Forgetful)),
        false => Cow::Borrowed(draft),
    }
}

fn failed(error: ClusterError) -> StatusError {
    match error {
        error if error.is_conflict() => StatusError::Conflict,
        error if error.is_not_found() => StatusError::Gone,
        error => StatusError::Cluster(error),
    }
}

fn rfc3339(millis: u64) -> String {
    let second = i64::try_from(millis / 1000).unwrap_or(i64::MAX);
    jiff::Timestamp::from_second(second)
        .unwrap_or_default()
        .to_string()
}
