//! The one place where the API server enters the host.
//!
//! A [`Cluster`] wraps kube's client, which may stand on a real connection or on a tower service in memory, and
//! remembers which kinds are served and under which path.

use std::collections::HashMap;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use kube::api::{Api, ApiResource, DynamicObject};
use kube::discovery::{self, Scope};
use tokio::sync::RwLock;

use crate::object::{Kind, Object, ObjectKey};

/// How long one request to the API server may take. Watches are not bound by it.
const REQUEST_DEADLINE: Duration = Duration::from_secs(15);

/// Why the API server could not be asked or did not do it.
#[derive(Debug, thiserror::Error)]
pub enum ClusterError {
    /// The kind is not served: its CRD is not installed, or its API group is not enabled.
    #[error(
        "{0} is not served by this cluster: install its CustomResourceDefinition, or enable its API"
    )]
    NotServed(Kind),
    /// The API server answered with an error.
    #[error("the API server refused to {what}: {source}")]
    Refused {
        /// What was asked, such as `get v1/Pod default/a`.
        what: String,
        /// Its answer.
        source: Box<kube::core::Status>,
    },
    /// No answer came.
    #[error("the API server did not answer to {what}: {why}")]
    Unreachable {
        /// What was asked.
        what: String,
        /// In words.
        why: String,
    },
}

impl ClusterError {
    /// The HTTP status of the API server's answer, if there was one.
    pub fn code(&self) -> Option<u16> {
        match self {
            Self::Refused { source, .. } => Some(source.code),
            Self::NotServed(_) | Self::Unreachable { .. } => None,
        }
    }

    /// True for an answer that says the object is not there.
    pub fn is_not_found(&self) -> bool {
        self.code() == Some(404)
    }

    /// True for an answer that says somebody else was first.
    pub fn is_conflict(&self) -> bool {
        self.code() == Some(409)
    }

    /// The same with its texts passed through `mask`: an answer may quote what was sent.
    #[must_use]
    pub fn masked(self, mask: impl Fn(&str) -> String) -> Self {
        match self {
            Self::NotServed(kind) => Self::NotServed(kind),
            Self::Refused { what, mut source } => {
                source.message = mask(&source.message);
                // The causes, which quote as well; the message holds them in words.
                source.details = None;
                Self::Refused { what, source }
            }
            Self::Unreachable { what, why } => Self::Unreachable {
                what,
                why: mask(&why),
            },
        }
    }

    /// True for an answer that says the object is not acceptable as it is.
    pub fn is_invalid(&self) -> bool {
        self.code() == Some(422)
    }
}

/// A kind as this cluster serves it.
#[derive(Clone, Debug)]
pub struct Served {
    /// Its path.
    pub resource: ApiResource,
    /// True when its objects live in namespaces.
    pub namespaced: bool,
}

/// The API server.
#[derive(Clone)]
pub struct Cluster {
    client: kube::Client,
    served: Arc<RwLock<HashMap<Kind, Served>>>,
}

impl Cluster {
    /// Stands on `client`.
    pub fn new(client: kube::Client) -> Self {
        Self {
            client,
            served: Arc::default(),
        }
    }

    /// kube's client itself, for kinds with types of their own (Lease, Event, Pod eviction).
    pub fn client(&self) -> kube::Client {
        self.client.clone()
    }

    /// How `kind` is served, asking once and remembering what was found. What was not found is asked again.
    ///
    /// # Errors
    /// [`ClusterError::NotServed`] when the cluster does not know the kind.
    pub async fn served(&self, kind: &Kind) -> Result<Served, ClusterError> {
        if let Some(known) = self.served.read().await.get(kind) {
            return Ok(known.clone());
        }
        let what = format!("look up {kind}");
        let gvk = kind.gvk();
        let found = asked(&what, discovery::pinned_kind(&self.client, &gvk)).await;
        let (resource, capabilities) = match found {
            Err(error) if error.is_not_found() => {
                return Err(ClusterError::NotServed(kind.clone()));
            }
            other => other?,
        };
        let served = Served {
            resource,
            namespaced: capabilities.scope == Scope::Namespaced,
        };
        self.served
            .write()
            .await
            .insert(kind.clone(), served.clone());
        Ok(served)
    }

    /// Forgets how `kind` is served: its CRD went or changed.
    pub async fn forget(&self, kind: &Kind) {
        self.served.write().await.remove(kind);
    }

    /// Access to the objects of `kind`, in one namespace or, with None, in all.
    ///
    /// # Errors
    /// [`ClusterError::NotServed`] when the cluster does not know the kind.
    pub async fn api(
        &self,
        kind: &Kind,
        namespace: Option<&str>,
    ) -> Result<Api<DynamicObject>, ClusterError> {
        let Served {
            resource,
            namespaced,
        } = self.served(kind).await?;
        Ok(match namespace {
            Some(namespace) if namespaced => {
                Api::namespaced_with(self.client.clone(), namespace, &resource)
            }
            _ => Api::all_with(self.client.clone(), &resource),
        })
    }

    /// Reads one object from the API server, consistently; None where there is none.
    ///
    /// # Errors
    /// When the kind is not served or the API server refuses or does not answer.
    pub async fn get(&self, key: &ObjectKey) -> Result<Option<Object>, ClusterError> {
        let api = self.api(&key.kind, key.namespace.as_deref()).await?;
        let what = format!("get {key}");
        let live = asked(&what, api.get_opt(&key.name)).await?;
        live.map(|live| Object::new(&key.kind, live))
            .transpose()
            .map_err(|error| ClusterError::Unreachable {
                what,
                why: error.to_string(),
            })
    }
}

/// Waits for one request, within its deadline, and says in the error what was asked.
///
/// # Errors
/// When the API server refuses or does not answer in time.
pub async fn asked<T>(
    what: &str,
    request: impl Future<Output = kube::Result<T>>,
) -> Result<T, ClusterError> {
    match tokio::time::timeout(REQUEST_DEADLINE, request).await {
        Ok(Ok(answer)) => Ok(answer),
        Ok(Err(kube::Error::Api(source))) => Err(ClusterError::Refused {
            what: what.into(),
            source,
        }),
        Ok(Err(kube::Error::Discovery(_))) => Err(ClusterError::Refused {
            what: what.into(),
            source: Box::new(kube::core::Status::failure("not served", "NotFound").with_code(404)),
        }),
        Ok(Err(other)) => Err(ClusterError::Unreachable {
            what: what.into(),
            why: other.to_string(),
        }),
        Err(_) => Err(ClusterError::Unreachable {
            what: what.into(),
            why: format!("no answer within {} s", REQUEST_DEADLINE.as_secs()),
        }),
    }
}
