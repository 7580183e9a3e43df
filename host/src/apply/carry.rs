//! Saves generated values while their Secret is deleted to be made again.
//!
//! The values are copied into a Secret of their own before the old one goes. The copy is a child that no plan names:
//! once all children stand again, prune takes it like any other.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use crate::object::ObjectKey;
use crate::plan::{Slot, WantedChild};
use crate::plugin::bindings::{SecretKey, WhenDropped, WhenImmutable, Write};

/// The name of the copy.
pub(super) fn copy_name(secret: &str) -> String {
    const SUFFIX: &str = "-carried";
    let longest = 253 - SUFFIX.len();
    format!("{}{SUFFIX}", &secret[..secret.floor_char_boundary(longest)])
}

/// The copy of the generated values of `child`, as a child; None where it has none.
pub(super) fn copy(child: &WantedChild) -> Option<WantedChild> {
    let namespace = child.key.namespace.clone().unwrap_or_default();
    let place = |key: &String| SecretKey {
        namespace: namespace.clone(),
        name: child.key.name.clone(),
        key: key.clone(),
    };
    let alone = child
        .slots
        .iter()
        .filter(|(_, slot)| slot.alone().is_some());
    let slots: BTreeMap<_, _> = alone
        .map(|(key, _)| (key.clone(), Slot::of(place(key))))
        .collect();
    if slots.is_empty() {
        return None;
    }
    let name = copy_name(&child.key.name);
    let manifest = json!({"apiVersion": "v1", "kind": "Secret",
        "metadata": {"name": name, "namespace": namespace}});
    Some(WantedChild {
        key: ObjectKey {
            name,
            ..child.key.clone()
        },
        manifest: manifest
            .as_object()
            .cloned()
            .unwrap_or_else(Map::<String, Value>::new),
        slots,
        gzip: BTreeSet::new(),
        when_dropped: WhenDropped::Delete,
        write: Write::Apply,
        when_immutable: WhenImmutable::Report,
        shared: false,
        content: child.content,
    })
}
