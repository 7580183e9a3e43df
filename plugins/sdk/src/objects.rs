//! Asking for Kubernetes objects.

use kube::Resource;
use serde::de::DeserializeOwned;

use crate::error::Error;
use crate::wire::{Detail, Namespaces, ObjectQuery};

/// Which objects of a kind are asked for. Begin with [`Query::selector`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Query {
    selector: String,
    namespaces: Namespaces,
    detail: Detail,
}

impl Query {
    /// Those of the object's own namespace that match a label selector as kubectl takes it; an empty one
    /// matches everything.
    #[must_use]
    pub fn selector(selector: &str) -> Self {
        Self {
            selector: selector.to_owned(),
            namespaces: Namespaces::Same,
            detail: Detail::Whole,
        }
    }

    /// In other namespaces than the object's own.
    #[must_use]
    pub fn namespaces(mut self, namespaces: Namespaces) -> Self {
        self.namespaces = namespaces;
        self
    }

    /// Only `apiVersion`, `kind` and `metadata`.
    #[must_use]
    pub fn metadata(mut self) -> Self {
        self.detail = Detail::Metadata;
        self
    }

    pub(crate) fn wire<K: Resource<DynamicType = ()>>(self) -> ObjectQuery {
        ObjectQuery {
            api_version: K::api_version(&()).into_owned(),
            kind: K::kind(&()).into_owned(),
            namespaces: self.namespaces,
            selector: self.selector,
            detail: self.detail,
        }
    }
}

/// Reads one object.
///
/// # Errors
/// [`Error::Transient`] with the kind that was expected.
pub(crate) fn read_object<K: DeserializeOwned>(json: &str) -> Result<K, Error> {
    serde_json::from_str(json).map_err(|why| Error::unreadable(std::any::type_name::<K>(), why))
}

/// Reads a list of objects.
///
/// # Errors
/// [`Error::Transient`] for the first that cannot be read.
pub(crate) fn read_objects<K: DeserializeOwned>(list: &[String]) -> Result<Vec<K>, Error> {
    list.iter().map(|json| read_object(json)).collect()
}
