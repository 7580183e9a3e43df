//! One watcher: follows what it watches for ever, whatever happens to the connection, the kind or the permission.

use std::time::Duration;

use backon::{BackoffBuilder, ExponentialBackoff, ExponentialBuilder};
use futures::{Stream, StreamExt, pin_mut};
use kube::api::{Api, ApiResource, DynamicObject, PartialObjectMeta};
use kube::core::DynamicResourceScope;
use kube::runtime::watcher::{self, Event};
use tracing::{debug, info, warn};

use super::{State, States};
use crate::cache::{Cache, News, Watched, is_metadata_only};
use crate::cluster::{Cluster, ClusterError, Served};
use crate::object::Object;

/// How long a missing kind or permission is waited for at most before it is looked for again.
const LONGEST_WAIT: Duration = Duration::from_secs(10);

/// Follows one watch.
pub(super) struct Watcher {
    pub(super) cluster: Cluster,
    pub(super) cache: Cache,
    pub(super) watched: Watched,
    pub(super) states: States,
}

/// Why a stream of events had to be given up.
enum Ended {
    /// The kind is no longer served.
    Gone,
    /// It must begin from the start.
    Stale,
}

fn backoff() -> ExponentialBackoff {
    ExponentialBuilder::new()
        .with_min_delay(Duration::from_millis(250))
        .with_max_delay(LONGEST_WAIT)
        .without_max_times()
        .with_jitter()
        .build()
}

impl Watcher {
    /// Never returns.
    pub(super) async fn run(self) {
        let mut waits = backoff();
        loop {
            match self.cluster.served(&self.watched.kind).await {
                Ok(served) => {
                    let ended = self.follow(&served).await;
                    if self.states.of(&self.watched) == Some(State::Synced) {
                        waits = backoff();
                    }
                    if let Ended::Gone = ended {
                        self.gone().await;
                    }
                }
                Err(error @ ClusterError::NotServed(_)) => self.unavailable(error.to_string()),
                Err(error) => warn!(watched = %self.watched, %error, "failed to look up a kind"),
            }
            tokio::time::sleep(waits.next().unwrap_or(LONGEST_WAIT)).await;
        }
    }

    async fn follow(&self, served: &Served) -> Ended {
        if is_metadata_only(&self.watched.kind) {
            let api: Api<PartialObjectMeta<DynamicObject>> = self.api(served);
            let whole = |meta: PartialObjectMeta<DynamicObject>| DynamicObject {
                types: None,
                metadata: meta.metadata,
                data: serde_json::json!({}),
            };
            self.consume(watcher::watcher(api, self.bounds()), whole)
                .await
        } else {
            let api: Api<DynamicObject> = self.api(served);
            self.consume(watcher::watcher(api, self.bounds()), |object| object)
                .await
        }
    }

    fn api<K>(&self, served: &Served) -> Api<K>
    where
        K: kube::Resource<DynamicType = ApiResource, Scope = DynamicResourceScope>,
    {
        let client = self.cluster.client();
        match &self.watched.namespace {
            Some(namespace) if served.namespaced => {
                Api::namespaced_with(client, namespace, &served.resource)
            }
            _ => Api::all_with(client, &served.resource),
        }
    }

    fn bounds(&self) -> watcher::Config {
        match self.watched.selector.as_str() {
            "" => watcher::Config::default(),
            selector => watcher::Config::default().labels(selector),
        }
    }

    async fn consume<K>(
        &self,
        events: impl Stream<Item = watcher::Result<Event<K>>>,
        whole: impl Fn(K) -> DynamicObject,
    ) -> Ended {
        pin_mut!(events);
        let mut waits = backoff();
        while let Some(event) = events.next().await {
            match event {
                Ok(event) => {
                    // A list that begins has not succeeded yet.
                    if !matches!(event, Event::Init) {
                        waits = backoff();
                    }
                    self.learn(event, &whole);
                }
                Err(error) => {
                    if let Some(ended) = self.failed(&error) {
                        return ended;
                    }
                    tokio::time::sleep(waits.next().unwrap_or(LONGEST_WAIT)).await;
                }
            }
        }
        Ended::Stale
    }

    fn learn<K>(&self, event: Event<K>, whole: impl Fn(K) -> DynamicObject) {
        let object = |live: K| Object::new(&self.watched.kind, whole(live));
        let news = match event {
            Event::Init => Ok(News::ListBegan),
            Event::InitApply(live) => object(live).map(News::Listed),
            Event::InitDone => Ok(News::ListEnded),
            Event::Apply(live) => object(live).map(News::Applied),
            Event::Delete(live) => object(live).map(News::Deleted),
        };
        match news {
            Ok(news) => {
                let complete = matches!(news, News::ListEnded);
                self.cache.learn(&self.watched, news);
                if complete {
                    self.available();
                }
            }
            Err(error) => warn!(watched = %self.watched, %error, "passed over an object"),
        }
    }

    /// What to do about an error: give the stream up, or with None go on with it after a wait.
    fn failed(&self, error: &watcher::Error) -> Option<Ended> {
        match status_code(error) {
            Some(404) => Some(Ended::Gone),
            Some(410) => {
                debug!(watched = %self.watched, "the watch fell behind and begins anew");
                matches!(error, watcher::Error::WatchStartFailed(_)).then_some(Ended::Stale)
            }
            Some(401 | 403) => {
                self.unavailable(format!("the host may not watch {}: {error}", self.watched));
                None
            }
            _ => {
                info!(watched = %self.watched, %error, "the watch was cut and is resumed");
                None
            }
        }
    }

    fn available(&self) {
        if self.states.set(&self.watched, State::Synced) {
            info!(watched = %self.watched, "watching");
        }
    }

    fn unavailable(&self, why: String) {
        if self
            .states
            .set(&self.watched, State::Unavailable(why.clone()))
        {
            warn!(watched = %self.watched, why, "cannot be watched; waiting for it");
        }
    }

    /// Without its kind no object exists.
    async fn gone(&self) {
        self.cluster.forget(&self.watched.kind).await;
        self.unavailable(format!("{} is no longer served", self.watched.kind));
        self.cache.learn(&self.watched, News::ListBegan);
        self.cache.learn(&self.watched, News::ListEnded);
    }
}

fn status_code(error: &watcher::Error) -> Option<u16> {
    use watcher::Error::{
        InitialListFailed, NoResourceVersion, WatchError, WatchFailed, WatchStartFailed,
    };
    match error {
        InitialListFailed(kube::Error::Api(status))
        | WatchStartFailed(kube::Error::Api(status))
        | WatchFailed(kube::Error::Api(status))
        | WatchError(status) => Some(status.code),
        InitialListFailed(_) | WatchStartFailed(_) | WatchFailed(_) | NoResourceVersion => None,
    }
}
