//! What the host keeps of a Kubernetes object, and the names it goes by.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ManagedFieldsEntry, OwnerReference};
use kube::api::{DynamicObject, GroupVersionKind, TypeMeta};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// A kind of object at one version: `apps/v1/StatefulSet`, `v1/Pod`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Kind {
    /// Empty for the core group.
    pub group: String,
    /// `v1`, `v1alpha1`, …
    pub version: String,
    /// In CamelCase, as in the object's `kind`.
    pub kind: String,
}

impl Kind {
    /// The kind named by an object's `apiVersion` and `kind`.
    pub fn new(api_version: &str, kind: &str) -> Self {
        let (group, version) = api_version.rsplit_once('/').unwrap_or(("", api_version));
        Self {
            group: group.into(),
            version: version.into(),
            kind: kind.into(),
        }
    }

    /// `apps/v1`, or `v1` for the core group.
    pub fn api_version(&self) -> String {
        match self.group.as_str() {
            "" => self.version.clone(),
            group => format!("{group}/{}", self.version),
        }
    }

    /// kube's own form.
    pub fn gvk(&self) -> GroupVersionKind {
        GroupVersionKind::gvk(&self.group, &self.version, &self.kind)
    }

    /// `Redis.redis.example.com`: the kind without its version, as kubectl writes it.
    pub fn qualified(&self) -> String {
        match self.group.as_str() {
            "" => self.kind.clone(),
            group => format!("{}.{group}", self.kind),
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.api_version(), self.kind)
    }
}

/// A text that is not of the form `VERSION/KIND`.
#[derive(Debug, thiserror::Error)]
#[error("\"{0}\" does not name a kind: write VERSION/KIND, such as apps/v1/StatefulSet or v1/Pod")]
pub struct NotAKind(String);

impl FromStr for Kind {
    type Err = NotAKind;

    fn from_str(text: &str) -> Result<Self, NotAKind> {
        let parts: Vec<_> = text.split('/').collect();
        match parts.as_slice() {
            [version, kind] | [_, version, kind] if !version.is_empty() && !kind.is_empty() => Ok(
                Self::new(text.trim_end_matches(kind).trim_end_matches('/'), kind),
            ),
            _ => Err(NotAKind(text.into())),
        }
    }
}

impl TryFrom<String> for Kind {
    type Error = NotAKind;

    fn try_from(text: String) -> Result<Self, NotAKind> {
        text.parse()
    }
}

impl From<Kind> for String {
    fn from(kind: Kind) -> Self {
        kind.to_string()
    }
}

/// Names one object in the cluster.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ObjectKey {
    /// Its kind.
    pub kind: Kind,
    /// None for a cluster-scoped object.
    pub namespace: Option<String>,
    /// Its name.
    pub name: String,
}

impl fmt::Display for ObjectKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.namespace {
            Some(namespace) => write!(f, "{} {namespace}/{}", self.kind.qualified(), self.name),
            None => write!(f, "{} {}", self.kind.qualified(), self.name),
        }
    }
}

/// An object as the host keeps it: what the host itself needs in fields, the whole as text.
///
/// Of `managedFields` only the host's own entries are kept: they tell whether a child is in step, and the rest
/// is a third of an object's size.
#[derive(Clone, Debug)]
pub struct Object {
    /// Its name.
    pub key: ObjectKey,
    /// Changes when an object is deleted and made again under the same name.
    pub uid: String,
    /// The API server's opaque version.
    pub resource_version: String,
    /// Grows with every change of the spec; 0 where the kind has none.
    pub generation: i64,
    /// Labels.
    pub labels: BTreeMap<String, String>,
    /// Annotations of the host's own, those that begin with `windlass.dev/`.
    pub annotations: BTreeMap<String, String>,
    /// Owner references.
    pub owners: Vec<OwnerReference>,
    /// Finalizers.
    pub finalizers: Vec<String>,
    /// True from the moment that deletion was asked for.
    pub deleting: bool,
    /// The host's own managedFields entries: `fieldsV1` as JSON text by field manager.
    pub own_fields: BTreeMap<String, Arc<str>>,
    /// The whole object as JSON text, without managedFields.
    pub json: Arc<str>,
}

/// The prefix of the host's own labels, annotations, finalizers.
pub const DOMAIN: &str = "windlass.dev/";

impl Object {
    /// Takes over what the API server sent. `kind` is what was asked for: list items carry no type of their own.
    ///
    /// # Errors
    /// When the object has no name, which the API server never sends.
    pub fn new(kind: &Kind, mut live: DynamicObject) -> Result<Self, Nameless> {
        live.types = Some(TypeMeta {
            api_version: kind.api_version(),
            kind: kind.kind.clone(),
        });
        let own_fields = own_fields(live.metadata.managed_fields.take().unwrap_or_default());
        let json = serde_json::to_string(&live).map_err(|_| Nameless(kind.clone()))?;
        let meta = live.metadata;
        let name = meta.name.ok_or_else(|| Nameless(kind.clone()))?;
        let own = |(key, _): &(String, String)| key.starts_with(DOMAIN);
        Ok(Self {
            key: ObjectKey {
                kind: kind.clone(),
                namespace: meta.namespace,
                name,
            },
            uid: meta.uid.unwrap_or_default(),
            resource_version: meta.resource_version.unwrap_or_default(),
            generation: meta.generation.unwrap_or_default(),
            labels: meta.labels.unwrap_or_default(),
            annotations: meta
                .annotations
                .unwrap_or_default()
                .into_iter()
                .filter(own)
                .collect(),
            owners: meta.owner_references.unwrap_or_default(),
            finalizers: meta.finalizers.unwrap_or_default(),
            deleting: meta.deletion_timestamp.is_some(),
            own_fields,
            json: json.into(),
        })
    }

    /// The owner that controls this object, if any.
    pub fn controller(&self) -> Option<&OwnerReference> {
        self.owners
            .iter()
            .find(|owner| owner.controller == Some(true))
    }
}

/// An object that names itself nothing.
#[derive(Debug, thiserror::Error)]
#[error("the API server sent a {0} without a name")]
pub struct Nameless(Kind);

fn own_fields(entries: Vec<ManagedFieldsEntry>) -> BTreeMap<String, Arc<str>> {
    entries
        .into_iter()
        .filter(|entry| entry.operation.as_deref() == Some("Apply"))
        .filter_map(|entry| Some((entry.manager?, entry.fields_v1?)))
        .filter(|(manager, _)| manager.starts_with(FIELD_MANAGER))
        .map(|(manager, fields)| (manager, fields.0.to_string().into()))
        .collect()
}

/// The field manager under which the host writes status, finalizers and patches of its own.
pub const FIELD_MANAGER: &str = "windlass";

/// The field manager of an owner's children: named after the owner's kind, never after a plugin or version, so
/// that a renamed plugin takes over what the former one applied.
pub fn field_manager(owner: &Kind) -> String {
    shortened(&format!("{FIELD_MANAGER}/{}", owner.qualified()), 128)
}

/// The field manager of one owner of a shared child: each owner has its own, so that one may leave alone.
pub fn shared_field_manager(owner: &ObjectKey) -> String {
    let namespace = owner.namespace.as_deref().unwrap_or_default();
    let name = format!("{}/{namespace}/{}", field_manager(&owner.kind), owner.name);
    shortened(&name, 128)
}

/// The label on every child that says whose it is; see [`owner_label`].
pub const OWNER_LABEL: &str = "windlass.dev/owner";

/// The value of [`OWNER_LABEL`]: the owner's kind and name, the same for an owner that was made again. Long ones
/// are cut and carry a digest, since label values hold 63 bytes.
pub fn owner_label(owner: &ObjectKey) -> String {
    shortened(&format!("{}.{}", owner.kind.qualified(), owner.name), 63)
}

/// `text`, or where it is longer than `limit` bytes its beginning and a digest of the whole. ASCII names only.
fn shortened(text: &str, limit: usize) -> String {
    if text.len() <= limit {
        return text.to_owned();
    }
    let digest = Sha256::digest(text.as_bytes());
    let suffix = hex::encode(&digest[..5]);
    let cut = text.floor_char_boundary(limit - suffix.len() - 1);
    format!("{}-{suffix}", text[..cut].trim_end_matches(['.', '-', '/']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_is_read_and_written_in_the_same_form() {
        for text in [
            "v1/Pod",
            "apps/v1/StatefulSet",
            "redis.example.com/v1/Redis",
        ] {
            assert_eq!(text.parse::<Kind>().unwrap().to_string(), text);
        }
        for text in ["", "Pod", "v1/", "/Pod", "a/b/c/d"] {
            assert!(text.parse::<Kind>().is_err(), "{text} was accepted");
        }
    }

    #[test]
    fn a_long_owner_fits_a_label_and_two_of_them_stay_apart() {
        let owner = |name: String| ObjectKey {
            kind: Kind::new("redis.example.com/v1", "Redis"),
            namespace: Some("default".into()),
            name,
        };
        let (one, two) = (owner("a".repeat(70) + "1"), owner("a".repeat(70) + "2"));
        assert!(owner_label(&one).len() <= 63);
        assert_ne!(owner_label(&one), owner_label(&two));
        assert_eq!(
            owner_label(&owner("my-redis".into())),
            "Redis.redis.example.com.my-redis"
        );
    }

    #[test]
    fn only_the_hosts_own_managed_fields_are_kept() {
        let live: DynamicObject = serde_json::from_value(serde_json::json!({
            "metadata": {"name": "a", "managedFields": [
                {"manager": "windlass/Redis.redis.example.com", "operation": "Apply", "fieldsV1": {"f:spec": {}}},
                {"manager": "kubectl", "operation": "Apply", "fieldsV1": {"f:data": {}}}]}
        }))
        .unwrap();
        let object = Object::new(&Kind::new("v1", "ConfigMap"), live).unwrap();
        assert_eq!(
            object.own_fields.keys().collect::<Vec<_>>(),
            ["windlass/Redis.redis.example.com"]
        );
        assert!(!object.json.contains("managedFields"));
        assert!(object.json.contains(r#""kind":"ConfigMap""#));
    }
}
