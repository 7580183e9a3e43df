//! Objects that should exist.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::Serialize;

use crate::error::Error;
use crate::slot::Slot;
use crate::wire::{self, WhenDropped, WhenImmutable, Write};

/// One object that should exist, whole. Made by [`Child::of`]; unless told otherwise it is applied, reported
/// when a field cannot be changed, and deleted when no longer named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Child(wire::Child);

impl Child {
    /// A child from a typed object. Fill in only what the plugin decides about; others may own the rest.
    ///
    /// # Errors
    /// [`Error::Transient`] when the object does not serialise, which typed objects always do.
    pub fn of<K: Serialize>(object: &K) -> Result<Self, Error> {
        let manifest = serde_json::to_string(object)
            .map_err(|why| Error::Transient(format!("failed to write a child: {why}")))?;
        Ok(Self(wire::Child {
            manifest,
            when_dropped: WhenDropped::Delete,
            write: Write::Apply,
            when_immutable: WhenImmutable::Report,
            shared: false,
            gzip: Vec::new(),
        }))
    }

    /// Stays when no longer named and when the object is deleted; taken over by name when it is made again.
    #[must_use]
    pub fn kept(mut self) -> Self {
        self.0.when_dropped = WhenDropped::Keep;
        self
    }

    /// Made when absent, then left alone.
    #[must_use]
    pub fn created_only(mut self) -> Self {
        self.0.write = Write::CreateOnly;
        self
    }

    /// When a field cannot be changed, deleted with its dependents and made again.
    #[must_use]
    pub fn recreated(mut self) -> Self {
        self.0.when_immutable = WhenImmutable::Recreate;
        self
    }

    /// When a field cannot be changed, deleted and made again while its dependents keep running.
    #[must_use]
    pub fn recreated_around_dependents(mut self) -> Self {
        self.0.when_immutable = WhenImmutable::RecreateOrphaning;
        self
    }

    /// Wanted by several owners; its content may not depend on one of them, and it is never pruned.
    #[must_use]
    pub fn shared(mut self) -> Self {
        self.0.shared = true;
        self
    }

    /// Compresses this key of `data` after slots are filled.
    #[must_use]
    pub fn gzip(mut self, key: &str) -> Self {
        self.0.gzip.push(key.to_owned());
        self
    }

    pub(crate) fn wire(self) -> wire::Child {
        self.0
    }
}

/// A Secret whose values are slots. Serialises to a `v1/Secret` with `stringData`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SecretManifest {
    api_version: &'static str,
    kind: &'static str,
    metadata: ObjectMeta,
    #[serde(rename = "type")]
    type_: String,
    string_data: BTreeMap<String, Slot>,
}

impl SecretManifest {
    /// An Opaque Secret without values.
    #[must_use]
    pub fn new(metadata: ObjectMeta) -> Self {
        Self {
            api_version: "v1",
            kind: "Secret",
            metadata,
            type_: "Opaque".to_owned(),
            string_data: BTreeMap::new(),
        }
    }

    /// Adds a value.
    #[must_use]
    pub fn value(mut self, key: &str, slot: Slot) -> Self {
        self.string_data.insert(key.to_owned(), slot);
        self
    }
}
