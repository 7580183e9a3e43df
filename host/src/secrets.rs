//! Secret values: read here, filled in by the rooms that act, never told to a plugin.
//!
//! Guarantees: a [`SecretValue`] cannot be printed or serialised and is wiped when dropped. What a plugin sees of
//! a Secret is a keyed digest of each value ([`Secrets::redacted`]). What comes back from a server is masked for
//! every value that was taken for objects of the same namespace, wherever it came from ([`Secrets::mask`]).

mod masks;

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hmac::{Hmac, KeyInit, Mac};
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use kube::api::{Api, ObjectMeta, PostParams};
use serde_json::json;
use sha2::Sha256;
use tokio::sync::OnceCell;
use zeroize::Zeroizing;

use crate::cache::Cache;
use crate::cluster::{Cluster, ClusterError, asked};
use crate::entropy::SharedEntropy;
use crate::object::{Kind, Object, ObjectKey};
use crate::plugin::bindings::SecretKey;

pub(crate) use masks::Masks;

/// The Secret in the host's own namespace that keys the digests. All hosts share it, so that a takeover sees the
/// same digests; it is made once and never changes.
const DIGEST_KEY: &str = "windlass-digest-key";

/// A secret value. Wiped when dropped.
#[derive(Clone)]
pub struct SecretValue(Arc<Zeroizing<Vec<u8>>>);

impl SecretValue {
    /// Takes over the bytes.
    pub fn new(bytes: Vec<u8>) -> Self {
        Self(Arc::new(Zeroizing::new(bytes)))
    }

    /// The bytes themselves. Call this only where they leave for the place that they are meant for.
    pub fn expose(&self) -> &[u8] {
        &self.0
    }
}

/// Why a secret value is not to be had.
#[derive(Debug, thiserror::Error)]
pub enum SecretError {
    /// There is no such Secret.
    #[error(
        "the Secret {namespace}/{name} does not exist: create it, or correct the name in the spec"
    )]
    NoSecret {
        /// Its namespace.
        namespace: String,
        /// Its name.
        name: String,
    },
    /// The Secret has no such key.
    #[error("the Secret {namespace}/{name} has no key \"{key}\"")]
    NoKey {
        /// Its namespace.
        namespace: String,
        /// Its name.
        name: String,
        /// The key that was asked for.
        key: String,
    },
    /// It could not be read.
    #[error(transparent)]
    Cluster(#[from] ClusterError),
}

/// The values of one Secret at one version.
struct Version {
    resource_version: String,
    values: BTreeMap<String, SecretValue>,
}

/// What stands where a secret value stood.
pub const MASK: &str = "[masked]";

/// Reads Secrets, and remembers the values of those whose version did not change.
pub struct Secrets {
    cluster: Cluster,
    cache: Cache,
    entropy: SharedEntropy,
    /// The host's own namespace, where the digest key lives.
    namespace: String,
    digest_key: OnceCell<SecretValue>,
    versions: Mutex<HashMap<ObjectKey, Arc<Version>>>,
    /// By namespace; of what is cluster-scoped, under the empty name.
    masks: Mutex<HashMap<String, Masks>>,
}

impl Secrets {
    /// Reads through `cluster`; `cache` tells which version is current; `namespace` is the host's own.
    pub fn new(cluster: Cluster, cache: Cache, entropy: SharedEntropy, namespace: String) -> Self {
        Self {
            cluster,
            cache,
            entropy,
            namespace,
            digest_key: OnceCell::new(),
            versions: Mutex::default(),
            masks: Mutex::default(),
        }
    }

    /// The value of one key, taken for `taker`: an object that is served, or a child of one. From now on it is masked
    /// in what is told about objects of the taker's namespace and of the Secret's. Whether it may be taken was
    /// checked before.
    ///
    /// # Errors
    /// When the Secret or the key is missing, or the API server does not answer.
    pub async fn value(
        &self,
        key: &SecretKey,
        taker: &ObjectKey,
    ) -> Result<SecretValue, SecretError> {
        let version = self.version(&key.namespace, &key.name).await?;
        let value = version
            .values
            .get(&key.key)
            .cloned()
            .ok_or_else(|| SecretError::NoKey {
                namespace: key.namespace.clone(),
                name: key.name.clone(),
                key: key.key.clone(),
            })?;
        self.remember(taker, &value);
        self.remember_in(&key.namespace, &value);
        Ok(value)
    }

    /// A digest of `value` that says nothing about it to one who does not know the key, and differs between two
    /// places that hold the same value. Hexadecimal.
    ///
    /// # Errors
    /// When the digest key can be neither read nor made.
    pub async fn digest(
        &self,
        key: &SecretKey,
        value: &SecretValue,
    ) -> Result<String, ClusterError> {
        let digest_key = self
            .digest_key
            .get_or_try_init(|| self.shared_digest_key())
            .await?;
        Ok(keyed_digest(digest_key, key, value))
    }

    /// A Secret as a plugin may see it: for each key the digest and length of its value and the kinds of its PEM
    /// blocks; no values, no annotations. None when it is gone.
    ///
    /// # Errors
    /// When the API server does not answer.
    pub async fn redacted(&self, secret: &Object) -> Result<Option<String>, ClusterError> {
        let namespace = secret.key.namespace.clone().unwrap_or_default();
        let version = match self.version(&namespace, &secret.key.name).await {
            Ok(version) => version,
            Err(SecretError::Cluster(error)) => return Err(error),
            Err(_) => return Ok(None),
        };
        let mut data = serde_json::Map::new();
        for (key, value) in &version.values {
            let place = SecretKey {
                namespace: namespace.clone(),
                name: secret.key.name.clone(),
                key: key.clone(),
            };
            let mut shown = json!({
                "digest": self.digest(&place, value).await?,
                "length": value.expose().len(),
            });
            let pem = pem_blocks(value.expose());
            if !pem.is_empty() {
                shown["pem"] = json!(pem);
            }
            data.insert(key.clone(), shown);
        }
        Ok(Some(without_values(secret, data)))
    }

    /// `text` with [`MASK`] in the place of every secret value that was taken for an object of the same namespace as
    /// `owner`, or from that namespace.
    pub fn mask(&self, owner: &ObjectKey, text: &str) -> String {
        match self.masks().get_mut(namespace(owner)) {
            Some(masks) => masks.blot(text),
            None => text.to_owned(),
        }
    }

    /// Masks `value` from now on in what is told about objects of the taker's namespace: also for values that the
    /// host made itself.
    pub fn remember(&self, taker: &ObjectKey, value: &SecretValue) {
        self.remember_in(namespace(taker), value);
    }

    fn remember_in(&self, namespace: &str, value: &SecretValue) {
        let mut masks = self.masks();
        masks.entry(namespace.to_owned()).or_default().add(value);
    }

    /// No operation panics half-way through a change, so a poisoned lock still guards sound masks.
    fn masks(&self) -> MutexGuard<'_, HashMap<String, Masks>> {
        self.masks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn version(&self, namespace: &str, name: &str) -> Result<Arc<Version>, SecretError> {
        let key = secret_key(namespace, name);
        let current = self
            .cache
            .get(&key)
            .map(|object| object.resource_version.clone());
        if let Some(known) = self
            .known(&key)
            .filter(|known| Some(&known.resource_version) == current.as_ref())
        {
            return Ok(known);
        }
        let api: Api<Secret> = Api::namespaced(self.cluster.client(), namespace);
        let what = format!("get the Secret {namespace}/{name}");
        let secret =
            asked(&what, api.get_opt(name))
                .await?
                .ok_or_else(|| SecretError::NoSecret {
                    namespace: namespace.to_owned(),
                    name: name.to_owned(),
                })?;
        let version = Arc::new(Version {
            resource_version: secret.metadata.resource_version.unwrap_or_default(),
            values: values(secret.data.unwrap_or_default()),
        });
        let mut versions = self.versions.lock().unwrap_or_else(PoisonError::into_inner);
        versions.insert(key, Arc::clone(&version));
        Ok(version)
    }

    fn known(&self, key: &ObjectKey) -> Option<Arc<Version>> {
        self.versions
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .get(key)
            .cloned()
    }

    /// Forgets the values of a Secret that is gone.
    pub fn forget(&self, key: &ObjectKey) {
        self.versions
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .remove(key);
    }

    async fn shared_digest_key(&self) -> Result<SecretValue, ClusterError> {
        let api: Api<Secret> = Api::namespaced(self.cluster.client(), &self.namespace);
        let what = format!("read the Secret {}/{DIGEST_KEY}", self.namespace);
        if let Some(secret) = asked(&what, api.get_opt(DIGEST_KEY)).await? {
            return digest_key_of(secret, &what);
        }
        let mut bytes = vec![0; 32];
        self.entropy.fill(&mut bytes);
        let made = Secret {
            metadata: ObjectMeta {
                name: Some(DIGEST_KEY.into()),
                ..ObjectMeta::default()
            },
            immutable: Some(true),
            data: Some(BTreeMap::from([("key".to_owned(), ByteString(bytes))])),
            ..Secret::default()
        };
        let what = format!("create the Secret {}/{DIGEST_KEY}", self.namespace);
        match asked(&what, api.create(&PostParams::default(), &made)).await {
            // Another host was first: its key is the one that holds.
            Err(error) if error.is_conflict() => {
                digest_key_of(asked(&what, api.get(DIGEST_KEY)).await?, &what)
            }
            created => digest_key_of(created?, &what),
        }
    }
}

fn digest_key_of(secret: Secret, what: &str) -> Result<SecretValue, ClusterError> {
    let key = secret
        .data
        .and_then(|mut data| data.remove("key"))
        .map(|key| SecretValue::new(key.0));
    key.ok_or_else(|| ClusterError::Unreachable {
        what: what.to_owned(),
        why: "it has no key \"key\": delete it, and the host makes another".to_owned(),
    })
}

fn values(data: BTreeMap<String, ByteString>) -> BTreeMap<String, SecretValue> {
    data.into_iter()
        .map(|(key, value)| (key, SecretValue::new(value.0)))
        .collect()
}

/// Where an object lives; empty for one that is cluster-scoped.
fn namespace(object: &ObjectKey) -> &str {
    object.namespace.as_deref().unwrap_or_default()
}

/// The key of a Secret object.
fn secret_key(namespace: &str, name: &str) -> ObjectKey {
    ObjectKey {
        kind: Kind::new("v1", "Secret"),
        namespace: Some(namespace.to_owned()),
        name: name.to_owned(),
    }
}

fn keyed_digest(digest_key: &SecretValue, key: &SecretKey, value: &SecretValue) -> String {
    // HMAC takes keys of any length.
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(digest_key.expose()) else {
        return String::new();
    };
    for part in [
        key.namespace.as_bytes(),
        key.name.as_bytes(),
        key.key.as_bytes(),
        value.expose(),
    ] {
        mac.update(&part.len().to_be_bytes());
        mac.update(part);
    }
    hex::encode(&mac.finalize().into_bytes()[..16])
}

/// The kinds of the PEM blocks in `value`, in order: `["CERTIFICATE", "PRIVATE KEY"]`.
fn pem_blocks(value: &[u8]) -> Vec<String> {
    let text = std::str::from_utf8(value).unwrap_or_default();
    text.lines()
        .filter_map(|line| {
            line.trim_end()
                .strip_prefix("-----BEGIN ")?
                .strip_suffix("-----")
        })
        .map(str::to_owned)
        .collect()
}

/// The object's own text with `data` in place of what it holds, and without annotations.
fn without_values(secret: &Object, data: serde_json::Map<String, serde_json::Value>) -> String {
    let mut shown: serde_json::Value = serde_json::from_str(&secret.json).unwrap_or_default();
    if let Some(metadata) = shown
        .get_mut("metadata")
        .and_then(|metadata| metadata.as_object_mut())
    {
        metadata.remove("annotations");
    }
    if let Some(fields) = shown.as_object_mut() {
        fields.remove("stringData");
        fields.insert("data".into(), data.into());
    }
    shown.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(name: &str) -> SecretKey {
        SecretKey {
            namespace: "default".into(),
            name: name.into(),
            key: "password".into(),
        }
    }

    #[test]
    fn equal_values_in_two_places_have_different_digests() {
        let (key, value) = (
            SecretValue::new(vec![7; 32]),
            SecretValue::new(b"hunter2hunter2".to_vec()),
        );
        let digest = keyed_digest(&key, &place("a"), &value);
        assert_eq!(digest, keyed_digest(&key, &place("a"), &value));
        assert_ne!(digest, keyed_digest(&key, &place("b"), &value));
        assert_ne!(
            digest,
            keyed_digest(&SecretValue::new(vec![8; 32]), &place("a"), &value)
        );
    }

    #[test]
    fn the_kinds_of_pem_blocks_are_told_in_order() {
        let pem = b"-----BEGIN CERTIFICATE-----\nMII\n-----END CERTIFICATE-----\n-----BEGIN PRIVATE KEY-----\n";
        assert_eq!(pem_blocks(pem), ["CERTIFICATE", "PRIVATE KEY"]);
        assert!(pem_blocks(&[0xff, 0xfe]).is_empty());
    }
}
