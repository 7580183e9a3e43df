//! No write without the lease: the last door before the API server.
//!
//! Rounds are dropped when the lease is lost, but a process that was frozen thaws in the middle of one. So each
//! request that changes something looks at the lease itself, on the clock that ran on meanwhile, and gets no more
//! time than what remains of it. What passes is counted.

use http::header::CONTENT_TYPE;
use http::{Method, Request};
use kube::Client;
use kube::client::Body;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
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

/// What is written, and how.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct Written {
    /// As in roles: `statefulsets.apps`, `pods`, `redis.redis.example.com/status`.
    pub resource: String,
    /// `apply`, `create`, `delete`, `patch` or `update`.
    pub verb: &'static str,
}

/// How much was written, whatever came of it. Clones count the same.
pub type Writes = Family<Written, Counter>;

/// A client that reads at any time and writes only while `lease` is held; `writes` counts what it sent.
pub fn writes_under(lease: LeaseGuard, writes: Writes, client: Client) -> Client {
    let namespace = client.default_namespace().to_owned();
    let service = tower::service_fn(move |request| {
        send(client.clone(), lease.clone(), writes.clone(), request)
    });
    Client::new(service, namespace)
}

async fn send(
    client: Client,
    lease: LeaseGuard,
    writes: Writes,
    request: Request<Body>,
) -> Result<http::Response<Body>, BoxError> {
    if request.method() == Method::GET {
        return Ok(client.send(request).await?);
    }
    let left = lease.remaining().ok_or(NotSent::NotHolder)?;
    writes.get_or_create(&written(&request)).inc();
    let answer = tokio::time::timeout(left, client.send(request)).await;
    Ok(answer.map_err(|_| NotSent::TooLate)??)
}

fn written(request: &Request<Body>) -> Written {
    let applies = |request: &Request<Body>| {
        let kind = request.headers().get(CONTENT_TYPE);
        kind.is_some_and(|kind| kind.as_bytes().starts_with(b"application/apply-patch"))
    };
    Written {
        resource: resource(request.uri().path()),
        verb: match *request.method() {
            Method::DELETE => "delete",
            Method::POST => "create",
            Method::PUT => "update",
            _ if applies(request) => "apply",
            _ => "patch",
        },
    }
}

/// The resource in a path: `/api/VERSION/…` or `/apis/GROUP/VERSION/…`, then `namespaces/NAMESPACE/` or nothing, then
/// the resource, and perhaps a name and a subresource.
fn resource(path: &str) -> String {
    let steps: Vec<_> = path.split('/').filter(|step| !step.is_empty()).collect();
    let (group, rest) = match steps.as_slice() {
        ["apis", group, _, rest @ ..] => (format!(".{group}"), rest),
        ["api", _, rest @ ..] => (String::new(), rest),
        _ => return path.to_owned(),
    };
    match rest {
        ["namespaces", _, resource, _, subresource] | [resource, _, subresource]
            if *resource != "namespaces" =>
        {
            format!("{resource}{group}/{subresource}")
        }
        ["namespaces", _, resource, ..] | [resource, ..] => format!("{resource}{group}"),
        [] => path.to_owned(),
    }
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
        let writes = Writes::default();
        let api: Api<Namespace> = Api::all(writes_under(not_held(&server), writes.clone(), server));
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
        assert_eq!(counted(&writes, "namespaces", "create"), 0);
    }

    #[tokio::test]
    async fn with_the_lease_everything_passes_and_what_writes_is_counted() {
        let reached = Arc::new(AtomicU32::new(0));
        let clock: SharedClock = Arc::new(Still);
        let writes = Writes::default();
        let lease = LeaseGuard::unshared(clock);
        let client = writes_under(lease, writes.clone(), server(reached.clone()));
        let api: Api<Namespace> = Api::all(client);
        assert!(api.get("a").await.is_ok());
        assert!(
            api.create(&PostParams::default(), &Namespace::default())
                .await
                .is_ok()
        );
        assert_eq!(reached.load(Ordering::Relaxed), 2);
        assert_eq!(counted(&writes, "namespaces", "create"), 1);
    }

    fn counted(writes: &Writes, resource: &str, verb: &'static str) -> u64 {
        let resource = resource.into();
        writes.get_or_create(&Written { resource, verb }).get()
    }

    #[test]
    fn a_write_is_named_as_in_roles() {
        let apply = "application/apply-patch+yaml";
        let merge = "application/merge-patch+json";
        for (method, path, kind, expected) in [
            (
                "POST",
                "/api/v1/namespaces/a/pods?fieldManager=w",
                "",
                ("pods", "create"),
            ),
            (
                "POST",
                "/api/v1/namespaces/a/pods/b/eviction",
                "",
                ("pods/eviction", "create"),
            ),
            (
                "PATCH",
                "/apis/apps/v1/namespaces/a/statefulsets/b",
                apply,
                ("statefulsets.apps", "apply"),
            ),
            (
                "PUT",
                "/apis/x.dev/v1/namespaces/a/things/b/status",
                "",
                ("things.x.dev/status", "update"),
            ),
            (
                "PATCH",
                "/apis/windlass.dev/v1alpha1/plugins/b/status",
                apply,
                ("plugins.windlass.dev/status", "apply"),
            ),
            (
                "PATCH",
                "/api/v1/namespaces/a",
                merge,
                ("namespaces", "patch"),
            ),
            (
                "DELETE",
                "/api/v1/namespaces/a/secrets/b",
                "",
                ("secrets", "delete"),
            ),
        ] {
            let request = Request::builder()
                .method(method)
                .uri(path)
                .header(CONTENT_TYPE, kind);
            let written = written(&request.body(Body::empty()).unwrap());
            assert_eq!(
                (written.resource.as_str(), written.verb),
                expected,
                "{method} {path}"
            );
        }
    }
}
