//! Writes Events: what people should read about an object.
//!
//! They are Events of `v1`, not of `events.k8s.io/v1`: kubectl sorts what `describe` shows by `lastTimestamp`, which the
//! API server lets nobody set there (https://kubernetes.io/docs/reference/kubernetes-api/cluster-resources/event-v1).
//! Within a second the order is that of their names, so a name begins with the time.
//!
//! Guarantees: an Event that says the same again is counted on the first one, not written anew; an object gets at most
//! [`BURST`] at once and one each [`REFILL`] after that; texts are cut and masked. An Event that cannot be written is
//! logged and given up: it fails no round.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use k8s_openapi::api::core::v1::{Event as Written, EventSource, ObjectReference};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, Time};
use k8s_openapi::jiff::Timestamp;
use kube::api::{Api, ObjectMeta, Patch, PatchParams, PostParams};
use serde_json::json;
use sha2::{Digest, Sha256};

use crate::cache::Cache;
use crate::clock::SharedClock;
use crate::cluster::{Cluster, ClusterError, asked};
use crate::object::{FIELD_MANAGER, Kind, Object, ObjectKey};
use crate::plugin::bindings::{Event, ObjectRef, Severity};
use crate::secrets::Secrets;

mod ration;
mod told;

pub use told::of;

use ration::{Ration, Series, Verdict};

/// Events that one object may get at once.
pub const BURST: u32 = 25;
/// After a burst, one more each so many milliseconds.
pub const REFILL: u64 = 30_000;
/// The longest text, in bytes: what the API server takes.
const LONGEST: usize = 1024;
/// What an Event is called that says what was done; the API wants a word of its own beside the reason.
const ACTION: &str = "Reconcile";

/// Writes Events.
#[derive(Clone)]
pub struct Recorder {
    cluster: Cluster,
    cache: Cache,
    secrets: Arc<Secrets>,
    clock: SharedClock,
    instance: Arc<str>,
    rations: Arc<Mutex<HashMap<String, Ration>>>,
}

impl Recorder {
    /// Writes to `cluster`; `secrets` masks what is written; `cache` knows the objects that Events are about.
    pub fn new(cluster: Cluster, cache: Cache, secrets: Arc<Secrets>, clock: SharedClock) -> Self {
        let host = nix::unistd::gethostname()
            .ok()
            .and_then(|name| name.into_string().ok());
        let instance = host.unwrap_or_else(|| FIELD_MANAGER.to_owned()).into();
        Self {
            cluster,
            cache,
            secrets,
            clock,
            instance,
            rations: Arc::default(),
        }
    }

    /// Writes what happened to `owner` and to what belongs to it, in this order.
    pub async fn publish(&self, owner: &Object, events: &[Event]) {
        for event in events {
            if let Err(error) = self.publish_one(owner, event).await {
                tracing::warn!(reason = event.reason, %error, "failed to write an Event about {}", owner.key);
            }
        }
    }

    /// Forgets an object that is gone.
    pub fn forget(&self, owner_uid: &str) {
        self.rations().remove(owner_uid);
    }

    async fn publish_one(&self, owner: &Object, event: &Event) -> Result<(), ClusterError> {
        let own = owner.key.namespace.as_deref().unwrap_or("default");
        let masked = self.secrets.mask(&owner.key, &event.text);
        // The API server wants an Event in the namespace of what it is about.
        let namespace = event.about.namespace.as_deref().unwrap_or(own);
        let note = &masked[..masked.floor_char_boundary(LONGEST)];
        let regarding = self.reference(owner, &event.about);
        let name = name(&regarding, event, note);
        let now = self.clock.now();
        let verdict = self
            .rations()
            .entry(owner.uid.clone())
            .or_default()
            .ask(&name, now);
        let api: Api<Written> = Api::namespaced(self.cluster.client(), namespace);
        match verdict {
            Verdict::First(unique) => {
                let written = self.written(&unique, namespace, regarding, event, note);
                let params = PostParams {
                    field_manager: Some(FIELD_MANAGER.into()),
                    ..PostParams::default()
                };
                asked("create an Event", api.create(&params, &written))
                    .await
                    .map(drop)
            }
            Verdict::Again(Series { name, count }) => {
                let last = Time(timestamp(now));
                let patch = Patch::Merge(json!({"count": count, "lastTimestamp": last}));
                asked(
                    "count an Event",
                    api.patch(&name, &PatchParams::default(), &patch),
                )
                .await
                .map(drop)
            }
            Verdict::Silent => Ok(()),
            Verdict::TooMany => {
                tracing::warn!(
                    reason = event.reason,
                    "too many Events about {}: one is left out",
                    owner.key
                );
                Ok(())
            }
        }
    }

    fn written(
        &self,
        name: &str,
        namespace: &str,
        regarding: ObjectReference,
        event: &Event,
        note: &str,
    ) -> Written {
        let now = timestamp(self.clock.now());
        Written {
            metadata: ObjectMeta {
                name: Some(name.to_owned()),
                namespace: Some(namespace.to_owned()),
                ..ObjectMeta::default()
            },
            action: Some(ACTION.into()),
            count: Some(1),
            event_time: Some(MicroTime(now)),
            first_timestamp: Some(Time(now)),
            last_timestamp: Some(Time(now)),
            involved_object: regarding,
            message: Some(note.to_owned()),
            reason: Some(event.reason.clone()),
            reporting_component: Some(FIELD_MANAGER.into()),
            reporting_instance: Some(self.instance.to_string()),
            source: Some(EventSource {
                component: Some(FIELD_MANAGER.into()),
                host: None,
            }),
            type_: Some(match event.severity {
                Severity::Normal => "Normal".into(),
                Severity::Warning => "Warning".into(),
            }),
            ..Written::default()
        }
    }

    /// What the Event is about. The uid makes `kubectl describe` show it.
    fn reference(&self, owner: &Object, about: &ObjectRef) -> ObjectReference {
        let ObjectRef {
            api_version,
            kind,
            namespace,
            name,
        } = about;
        let key = ObjectKey {
            kind: Kind::new(api_version, kind),
            namespace: namespace.clone(),
            name: name.clone(),
        };
        let uid = match key == owner.key {
            true => Some(owner.uid.clone()),
            false => self.cache.get(&key).map(|live| live.uid.clone()),
        };
        ObjectReference {
            api_version: Some(api_version.clone()),
            kind: Some(kind.clone()),
            namespace: namespace.clone(),
            name: Some(name.clone()),
            uid,
            ..ObjectReference::default()
        }
    }

    fn rations(&self) -> std::sync::MutexGuard<'_, HashMap<String, Ration>> {
        self.rations.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The same for Events that say the same: the object's name, and a digest of the rest.
fn name(regarding: &ObjectReference, event: &Event, note: &str) -> String {
    let about = regarding.name.as_deref().unwrap_or_default();
    let mut hash = Sha256::new();
    let kind = regarding.kind.as_deref().unwrap_or_default();
    for part in [
        kind,
        about,
        regarding.uid.as_deref().unwrap_or_default(),
        &event.reason,
        note,
    ] {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part);
    }
    let digest = hex::encode(&hash.finalize()[..5]);
    let about = &about[..about.floor_char_boundary(200)];
    format!("{about}.{digest}")
}

fn timestamp(millis: u64) -> Timestamp {
    let millis = i64::try_from(millis).unwrap_or(i64::MAX);
    Timestamp::from_millisecond(millis).unwrap_or_default()
}
