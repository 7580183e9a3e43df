//! Which Pods an object may talk to: its own, and no others.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use k8s_openapi::api::core::v1::Pod;

use crate::cache::Cache;
use crate::object::{Kind, Object, ObjectKey};
use crate::plugin::bindings::PodPort;

/// A Pod has at most this many owners above it: Pod, StatefulSet or Job, CronJob, the object.
const LONGEST_CHAIN: usize = 5;

/// A port of a Pod that was found to belong to the object.
#[derive(Clone, Debug)]
pub struct Verified {
    /// The Pod's uid.
    pub uid: String,
    /// Where it listens.
    pub at: SocketAddr,
}

/// Why a Pod is not talked to.
#[derive(Debug, thiserror::Error)]
pub enum NotATarget {
    /// There is none, or another under the same name.
    #[error("the Pod {0} with this uid is gone")]
    Gone(String),
    /// It belongs to somebody else.
    #[error(
        "the Pod {pod} does not belong to {owner}: its chain of controlling owners ends elsewhere"
    )]
    Foreign {
        /// The Pod.
        pod: String,
        /// The object that asked.
        owner: Box<ObjectKey>,
    },
    /// It shares the node's network: its address is the node's.
    #[error("the Pod {0} uses the node's network, which is never talked to")]
    HostNetwork(String),
    /// It has no address yet.
    #[error("the Pod {0} has no address yet")]
    NoAddress(String),
}

/// Verifies targets against what the cache knows.
#[derive(Clone)]
pub struct Targets {
    cache: Cache,
}

impl Targets {
    /// Looks Pods and their owners up in `cache`.
    pub fn new(cache: Cache) -> Self {
        Self { cache }
    }

    /// The address of `target`, if it is a Pod of `owner`.
    ///
    /// # Errors
    /// When it is gone, foreign, on the node's network, or not placed yet.
    pub fn verify(&self, owner: &Object, target: &PodPort) -> Result<Verified, NotATarget> {
        let pod = self.pod(owner, &target.pod, &target.uid)?;
        let typed: Pod = serde_json::from_str(&pod.json)
            .map_err(|_| NotATarget::NoAddress(target.pod.clone()))?;
        if typed
            .spec
            .is_some_and(|spec| spec.host_network == Some(true))
        {
            return Err(NotATarget::HostNetwork(target.pod.clone()));
        }
        let ip = typed.status.and_then(|status| status.pod_ip);
        let ip: Option<IpAddr> = ip.and_then(|ip| ip.parse().ok());
        let ip = ip.filter(|ip| !ip.is_loopback() && !ip.is_unspecified());
        let ip = ip.ok_or_else(|| NotATarget::NoAddress(target.pod.clone()))?;
        Ok(Verified {
            uid: pod.uid.clone(),
            at: SocketAddr::new(ip, target.port),
        })
    }

    /// The Pod of this name and uid, if it belongs to `owner`.
    ///
    /// # Errors
    /// When it is gone or foreign.
    pub fn pod(&self, owner: &Object, name: &str, uid: &str) -> Result<Arc<Object>, NotATarget> {
        let key = ObjectKey {
            kind: Kind::new("v1", "Pod"),
            namespace: owner.key.namespace.clone(),
            name: name.to_owned(),
        };
        let pod = self.cache.get(&key).filter(|pod| pod.uid == uid);
        let pod = pod.ok_or_else(|| NotATarget::Gone(name.to_owned()))?;
        if self.belongs(&pod, owner) {
            return Ok(pod);
        }
        Err(NotATarget::Foreign {
            pod: name.to_owned(),
            owner: Box::new(owner.key.clone()),
        })
    }

    /// True when the chain of controlling owners of `object` ends at `owner`. Every link is checked against the
    /// live owner's uid, so a name that was reused breaks the chain.
    pub fn belongs(&self, object: &Object, owner: &Object) -> bool {
        let mut link = object.controller().cloned();
        for _ in 0..LONGEST_CHAIN {
            let Some(above) = link else { return false };
            if above.uid == owner.uid {
                return true;
            }
            let key = ObjectKey {
                kind: Kind::new(&above.api_version, &above.kind),
                namespace: owner.key.namespace.clone(),
                name: above.name,
            };
            let live = self.cache.get(&key).filter(|live| live.uid == above.uid);
            link = live.and_then(|live| live.controller().cloned());
        }
        false
    }
}
