//! What an object asked about, as far as it decides which changes wake it.

use std::collections::BTreeSet;

use kube::core::{Selector, SelectorExt};

use crate::object::{Kind, Object, ObjectKey};

/// Something that an object asked about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Interest {
    /// One object, there or not.
    Object(ObjectKey),
    /// All objects of a kind that match.
    Objects {
        /// The kind.
        kind: Kind,
        /// Where; None for everywhere.
        namespaces: Option<BTreeSet<String>>,
        /// Which.
        selector: Selector,
    },
}

impl Interest {
    /// Whether this version of an object is one of those asked about.
    pub fn includes(&self, object: &Object) -> bool {
        match self {
            Self::Object(key) => *key == object.key,
            Self::Objects {
                kind,
                namespaces,
                selector,
            } => {
                *kind == object.key.kind
                    && is_inside(namespaces.as_ref(), object)
                    && selector.matches(&object.labels)
            }
        }
    }
}

fn is_inside(namespaces: Option<&BTreeSet<String>>, object: &Object) -> bool {
    let Some(namespaces) = namespaces else {
        return true;
    };
    object
        .key
        .namespace
        .as_ref()
        .is_some_and(|namespace| namespaces.contains(namespace))
}
