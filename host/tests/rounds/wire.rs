//! The way from a host to the API server, that a test breaks and mends.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use futures::{StreamExt, stream};
use http::{Method, Request, Response, StatusCode};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::Frame;
use kube::Client;
use kube::client::Body;
use serde_json::json;
use tokio::sync::watch;
use tower::BoxError;

type Answer = Response<UnsyncBoxBody<Bytes, BoxError>>;

/// What is wrong with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trouble {
    None,
    /// Watches that run break off, and new ones do not get through.
    WatchesCut,
    /// Watches that run break off, and new ones are told that what they begin with is too old.
    WatchesExpired,
    /// Somebody else was always faster.
    Conflicts,
    /// A webhook refuses Secrets, what is to be deleted among them, and quotes them.
    Quotes,
    /// Nothing gets through, not even an answer.
    Everything,
}

/// The way itself. All clones are the same.
#[derive(Clone)]
pub(crate) struct Wire {
    trouble: watch::Sender<Trouble>,
    hit: Arc<AtomicUsize>,
    /// How many writes get through before the host dies.
    writes_to_live: watch::Sender<Option<usize>>,
}

impl Wire {
    pub(crate) fn whole() -> Self {
        Self {
            trouble: watch::Sender::new(Trouble::None),
            hit: Arc::default(),
            writes_to_live: watch::Sender::new(None),
        }
    }

    /// From now on this is wrong with it.
    pub(crate) fn has(&self, trouble: Trouble) {
        self.hit.store(0, Ordering::Relaxed);
        self.trouble.send_replace(trouble);
    }

    /// The host dies after so many writes: whatever it does then reaches nobody.
    pub(crate) fn dies_after(&self, writes: usize) {
        self.writes_to_live.send_replace(Some(writes + 1));
    }

    /// Waits until it died, but no longer than this; false when it lives.
    pub(crate) async fn died(&self, within: Duration) -> bool {
        let mut left = self.writes_to_live.subscribe();
        let died = left.wait_for(|left| *left == Some(0));
        tokio::time::timeout(within, died).await.is_ok()
    }

    /// True for a host that lived until now.
    fn lives_on(&self) -> bool {
        let mut lives = true;
        self.writes_to_live.send_modify(|left| {
            if let Some(left) = left {
                *left = left.saturating_sub(1);
                lives = *left > 0;
            }
        });
        lives
    }

    /// How many requests met the trouble of today.
    pub(crate) fn hit(&self) -> usize {
        self.hit.load(Ordering::Relaxed)
    }

    /// `client` over this way.
    pub(crate) fn client(&self, client: Client) -> Client {
        let wire = self.clone();
        let send = move |request: Request<Body>| {
            let (wire, client) = (wire.clone(), client.clone());
            async move { wire.send(&client, request).await }
        };
        Client::new(tower::service_fn(send), "default")
    }

    async fn send(&self, client: &Client, request: Request<Body>) -> Result<Answer, BoxError> {
        let is_watch = request
            .uri()
            .query()
            .is_some_and(|query| query.contains("watch="));
        let is_read = request.method() == Method::GET;
        let trouble = *self.trouble.borrow();
        if !is_read && !self.lives_on() {
            return std::future::pending().await;
        }
        match (trouble, is_watch, is_read) {
            (Trouble::Everything, ..) | (Trouble::WatchesCut, true, _) => {
                self.hit.fetch_add(1, Ordering::Relaxed);
                Err("the connection is cut".into())
            }
            (Trouble::WatchesExpired, true, _) => {
                Ok(self.refuse(StatusCode::GONE, "Expired", "too old resource version"))
            }
            (Trouble::Conflicts, _, false) => Ok(self.refuse(
                StatusCode::CONFLICT,
                "Conflict",
                "the object has been modified",
            )),
            (Trouble::Quotes, _, false) if request.uri().path().contains("/secrets/") => {
                let shown = match *request.method() {
                    Method::DELETE => client.send(about(&request)?).await?.into_body(),
                    _ => request.into_body(),
                };
                let shown = shown.collect().await?.to_bytes();
                let shown = String::from_utf8_lossy(&shown);
                let message = format!("admission webhook denied the request: {shown}");
                Ok(self.refuse(StatusCode::UNPROCESSABLE_ENTITY, "Invalid", &message))
            }
            (_, true, _) => {
                let stop = self.trouble.subscribe();
                Ok(client
                    .send(request)
                    .await?
                    .map(|body| until_trouble(body, stop)))
            }
            _ => Ok(client
                .send(request)
                .await?
                .map(|body| body.map_err(BoxError::from).boxed_unsync())),
        }
    }

    fn refuse(&self, code: StatusCode, reason: &str, message: &str) -> Answer {
        self.hit.fetch_add(1, Ordering::Relaxed);
        let status = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
            "message": message, "reason": reason, "code": code.as_u16()});
        let body = Full::from(status.to_string()).map_err(|never| match never {});
        let mut answer = Response::new(body.boxed_unsync());
        *answer.status_mut() = code;
        answer
    }
}

/// Asks for the object that a request is about.
fn about(request: &Request<Body>) -> http::Result<Request<Body>> {
    Request::get(request.uri().path()).body(Body::empty())
}

/// A watch's answer, which breaks off when watches do.
fn until_trouble(
    body: Body,
    mut trouble: watch::Receiver<Trouble>,
) -> UnsyncBoxBody<Bytes, BoxError> {
    let breaks = async move {
        let breaking = |now: &Trouble| {
            matches!(
                now,
                Trouble::WatchesCut | Trouble::WatchesExpired | Trouble::Everything
            )
        };
        let _ = trouble.wait_for(breaking).await;
        Err(BoxError::from("the connection is cut"))
    };
    let data = body
        .into_data_stream()
        .map(|chunk| chunk.map(Frame::data).map_err(BoxError::from));
    // What is cut ends with an error, what the API server ends without.
    let ends = stream::once(async { None });
    let cut = stream::once(breaks).map(Some);
    let whole = stream::select(data.map(Some).chain(ends), cut);
    let until_end = whole
        .take_while(|frame| std::future::ready(frame.is_some()))
        .filter_map(std::future::ready);
    BodyExt::boxed_unsync(StreamBody::new(until_end))
}
