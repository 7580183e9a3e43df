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
