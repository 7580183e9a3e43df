//! A child as it should stand in the cluster: what the plan wants and what the host adds.

use std::collections::{BTreeMap, HashMap};
use std::io::Write as _;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::{Compression, GzBuilder};
use serde_json::{Map, Value, json};

use crate::apply::digest::digest;
use crate::object::{OWNER_LABEL, Object, field_manager, owner_label, shared_field_manager};
use crate::plan::{Part, Slot, WantedChild, map_at};
use crate::plugin::bindings::{SecretKey, WhenDropped};
use crate::secrets::SecretValue;

/// On every child: the digest of what was applied.
pub const APPLIED: &str = "windlass.dev/applied";
/// On a child of one owner: that owner's uid.
pub const OWNER_UID: &str = "windlass.dev/owner-uid";
/// On every child: what happens when it is no longer named, `delete`, `keep` or `shared`.
pub const WHEN_DROPPED: &str = "windlass.dev/when-dropped";

/// Digests of the values of Secret keys.
pub(super) type SourceDigests = HashMap<SecretKey, String>;
/// Values of a child's slots, by key of its `data`.
pub(super) type SlotValues = BTreeMap<String, SecretValue>;

/// A child as it should stand, for one owner.
#[derive(Debug)]
pub struct Desired<'a> {
    /// What the plan wants.
    pub child: &'a WantedChild,
    /// Under which name it is applied.
    pub manager: String,
    /// The value of the owner label that it carries.
    pub label: String,
    /// The owner's uid.
    pub owner_uid: &'a str,
    /// The digest of all that is wanted.
    pub digest: String,
    document: Map<String, Value>,
}

impl<'a> Desired<'a> {
    /// What `owner` wants of `child`. `sources` holds a digest for each Secret key that its slots take, so that a
    /// changed value is a changed child.
    pub fn new(owner: &'a Object, child: &'a WantedChild, sources: &SourceDigests) -> Self {
        let label = label(owner, child);
        let mut document = child.manifest.clone();
        let meta = map_at(&mut document, "metadata");
        map_at(meta, "labels").insert(OWNER_LABEL.into(), label.as_str().into());
        let annotations = map_at(meta, "annotations");
        annotations.insert(WHEN_DROPPED.into(), when_dropped(child).into());
        if !child.shared {
            annotations.insert(OWNER_UID.into(), owner.uid.as_str().into());
        }
        let digest = digest(&json!({
            "document": document,
            "gzip": child.gzip,
            "slots": child.slots.iter().map(|(key, slot)| (key, describe(slot, sources))).collect::<BTreeMap<_, _>>(),
        }));
        let meta = map_at(&mut document, "metadata");
        map_at(meta, "annotations").insert(APPLIED.into(), digest.as_str().into());
        if let Some(reference) = reference(owner, child) {
            meta.insert("ownerReferences".into(), json!([reference]));
        }
        let manager = match child.shared {
            true => shared_field_manager(&owner.key),
            false => field_manager(&owner.key.kind),
        };
        Self {
            child,
            manager,
            label,
            owner_uid: &owner.uid,
            digest,
            document,
        }
    }

    /// The paths that are wanted, as a document without the values of slots: for comparing, not for writing.
    pub fn shape(&self) -> Map<String, Value> {
        let placeholders = self
            .child
            .slots
            .keys()
            .map(|key| (key.clone(), SecretValue::new(Vec::new())))
            .collect();
        self.filled(&placeholders)
    }

    /// The whole object for the API server.
    pub fn filled(&self, values: &SlotValues) -> Map<String, Value> {
        let mut document = self.document.clone();
        for (key, value) in values {
            map_at(&mut document, "data")
                .insert(key.clone(), STANDARD.encode(value.expose()).into());
        }
        for key in &self.child.gzip {
            compress(&mut document, key, self.child.is_secret());
        }
        document
    }
}

fn label(owner: &Object, child: &WantedChild) -> String {
    match child.shared {
        true => owner.key.kind.qualified().chars().take(63).collect(),
        false => owner_label(&owner.key),
    }
}

fn when_dropped(child: &WantedChild) -> &'static str {
    match (child.shared, child.when_dropped) {
        (true, _) => "shared",
        (false, WhenDropped::Delete) => "delete",
        (false, WhenDropped::Keep) => "keep",
    }
}

/// An owner reference: one that controls for a child of one owner, one among several for a shared child, none for
/// one that is kept.
fn reference(owner: &Object, child: &WantedChild) -> Option<Value> {
    let mut reference = json!({
        "apiVersion": owner.key.kind.api_version(),
        "kind": owner.key.kind.kind,
        "name": owner.key.name,
        "uid": owner.uid,
    });
    match (child.shared, child.when_dropped) {
        (true, _) => {}
        (false, WhenDropped::Delete) => {
            reference["controller"] = true.into();
            reference["blockOwnerDeletion"] = true.into();
        }
        (false, WhenDropped::Keep) => return None,
    }
    Some(reference)
}

/// What of a slot is part of the digest: never a value, and of a random value only that it is wanted, since the
/// one that stands is kept.
fn describe(slot: &Slot, sources: &SourceDigests) -> Value {
    let part = |part: &Part| match part {
        Part::Text(text) => json!({ "text": text }),
        Part::Secret(key) => json!({ "secret": sources.get(key) }),
        Part::Yaml(key, form) => json!({ "secret": sources.get(key), "as": format!("{form:?}") }),
        Part::Random(random) => json!({ "random": random.id }),
    };
    slot.parts().iter().map(part).collect()
}

/// Compresses one key of `data`. In a ConfigMap it moves to `binaryData`, since `data` takes text only.
fn compress(document: &mut Map<String, Value>, key: &str, secret: bool) {
    let Some(Value::String(text)) = map_at(document, "data").remove(key) else {
        return;
    };
    let (field, bytes) = match secret {
        true => ("data", STANDARD.decode(&text).unwrap_or_default()),
        false => ("binaryData", text.into_bytes()),
    };
    map_at(document, field).insert(key.to_owned(), STANDARD.encode(gzip(&bytes)).into());
    if map_at(document, "data").is_empty() {
        document.remove("data");
    }
}

/// The same bytes give the same bytes: no time stamp, no name.
fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzBuilder::new()
        .mtime(0)
        .write(Vec::new(), Compression::default());
    let written = encoder.write_all(bytes).and_then(|()| encoder.finish());
    written.unwrap_or_else(|_| unreachable!("writing to memory does not fail"))
}
