//! No write without the lease: the last door before the API server.
//!
//! Rounds are dropped when the lease is lost, but a process that was frozen thaws in the middle of one. So each
//! request that changes something looks at the lease itself, on the clock that ran on meanwhile, and gets no more
//! time than what remains of it.

use http::{Method, Request};
use kube::Client;
use kube::client::Body;
use tower::BoxError;

use crate::lease::LeaseGuard;

/// A write that was not sent.
#[derive(Debug, thiserror::Error)]
enum NotSent {
    /// Another host may act by now.
    #[error("this host does not hold the lease: nothing was sent")]
    NotHolder,
    /// It did not end while the lease was held.
    #[error("the lease ended before the API server answered")]
    TooLate,
}

/// A client that reads at any time and writes only while `lease` is held.
pub fn writes_under(lease: LeaseGuard, client: Client) -> Client {
    let namespace = client.default_namespace().to_owned();
    let service = tower::service_fn(move |request| send(client.clone(), lease.clone(), request));
    Client::new(service, namespace)
}

async fn send(
    client: Client,
    lease: LeaseGuard,
    request: Request<Body>,
) -> Result<http::Response<Body>, BoxError> {
    if request.method() == Method::GET {
        return Ok(client.send(request).await?);
    }
    let left = lease.remaining().ok_or(NotSent::NotHolder)?;
    let answer = tokio::time::timeout(left, client.send(request)).await;
    Ok(answer.map_err(|_| NotSent::TooLate)??)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::time::Duration;

    use k8s_openapi::api::core::v1::Namespace;
    use kube::api::{Api, PostParams};

    use super::*;
    use crate::clock::{Clock, SharedClock};
    use crate::cluster::Cluster;
    use crate::lease::{LeaseKeeper, LeaseSettings};

    /// A clock that stands still.
    struct Still;

    impl Clock for Still {
        fn now(&self) -> u64 {
            0
        }

        fn since_boot(&self) -> Duration {
            Duration::from_secs(1)
        }
    }

    /// An API server that answers with a Namespace to everything and counts what reached it.
    fn server(reached: Arc<AtomicU32>) -> Client {
        let answer = move |_: Request<Body>| {
            reached.fetch_add(1, Ordering::Relaxed);
            let body = r#"{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"a"}}"#;
            std::future::ready(Ok::<_, BoxError>(http::Response::new(Body::from(
                body.as_bytes().to_vec(),
            ))))
        };
        Client::new(tower::service_fn(answer), "default")
    }

    fn not_held(client: &Client) -> LeaseGuard {
        let settings = LeaseSettings {
            namespace: "default".into(),
            name: "windlass".into(),
            identity: "a".into(),
            duration: Duration::from_secs(15),
        };
        LeaseKeeper::new(Cluster::new(client.clone()), Arc::new(Still), settings).1
    }

    #[tokio::test]
    async fn without_the_lease_what_reads_passes_and_what_writes_does_not() {
        let reached = Arc::new(AtomicU32::new(0));
        let server = server(reached.clone());
        let api: Api<Namespace> = Api::all(writes_under(not_held(&server), server));
        assert!(api.get("a").await.is_ok());
        let refused = api
            .create(&PostParams::default(), &Namespace::default())
            .await;
        assert!(
            refused
                .expect_err("it was sent")
                .to_string()
                .contains("does not hold the lease")
        );
        assert_eq!(reached.load(Ordering::Relaxed), 1);
    }

    #[tokio::test]
    async fn with_the_lease_everything_passes() {
        let reached = Arc::new(AtomicU32::new(0));
        let clock: SharedClock = Arc::new(Still);
        let client = writes_under(LeaseGuard::unshared(clock), server(reached.clone()));
        let api: Api<Namespace> = Api::all(client);
        assert!(
            api.create(&PostParams::default(), &Namespace::default())
                .await
                .is_ok()
        );
        assert_eq!(reached.load(Ordering::Relaxed), 1);
    }
}
