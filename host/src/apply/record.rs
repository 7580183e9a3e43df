//! What the host itself remembers in an object's status, under `status.windlass`.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::object::{Kind, Object};

/// The field of status that is the host's.
pub const FIELD: &str = "windlass";

/// The host's own part of an object's status. What cannot be read counts as empty.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Record {
    /// The random values that were made, as `SECRET/ID`. One that is recorded here is never made again.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub generated: BTreeSet<String>,
    /// Children that are being deleted to be made again, since one of their fields cannot be changed.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub recreating: BTreeSet<Recreation>,
}

/// A child that is deleted to be made again.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Recreation {
    /// Its kind.
    pub kind: Kind,
    /// Its name.
    pub name: String,
    /// The uid of the one that goes.
    pub uid: String,
}

impl Record {
    /// What the status of `owner` says.
    pub fn of(owner: &Object) -> Self {
        #[derive(Deserialize)]
        struct Whole {
            #[serde(default)]
            status: Value,
        }
        let whole: Option<Whole> = serde_json::from_str(&owner.json).ok();
        let own = whole.and_then(|whole| whole.status.get(FIELD).cloned());
        own.and_then(|own| serde_json::from_value(own).ok())
            .unwrap_or_default()
    }

    /// Whether there is nothing to remember.
    pub fn is_empty(&self) -> bool {
        let Self {
            generated,
            recreating,
        } = self;
        generated.is_empty() && recreating.is_empty()
    }
}

/// How a random value is recorded.
pub(super) fn generated(secret: &str, id: &str) -> String {
    format!("{secret}/{id}")
}
