//! Effects beyond the objects that a plugin describes: commands to databases, patches, deletes, evictions.
//!
//! Flow: steps in order; the actions of one step at the same time, each under its own time-out, cut to what
//! remains of the lease; how each ended becomes an outcome, which the next round is told.
//! Guarantees: nothing is sent without a [`Fence`], the proof that the deciding status is stored; nothing after
//! the lease ran out; nothing to a Pod with another uid, nor past a guard that did not hold.
//! Assumptions: the plan was checked against its grants.

mod object;
mod redis;

use std::sync::Arc;
use std::time::Duration;

use futures::future::join_all;
use tokio::time::Instant;

use crate::cache::Cache;
use crate::cluster::{Cluster, ClusterError};
use crate::lease::LeaseGuard;
use crate::object::Object;
use crate::plugin::bindings::{
    Action, ActionStep, Effect, Ended, HttpAction, HttpActionMethod, IfFailed, Outcome,
};
use crate::query::{Databases, HttpCall, Method, Queries, Unanswered};
use crate::secrets::{SecretError, Secrets};
use crate::status::Fence;
use crate::target::{NotATarget, Targets};

/// The longest time-out that a plugin may ask for.
const LONGEST: Duration = Duration::from_secs(30);

/// How an action failed to be done.
#[derive(Debug, thiserror::Error)]
enum Undone {
    /// It was not sent.
    #[error("{0}")]
    NotSent(String),
    /// It was sent, and the answer says no.
    #[error("{0}")]
    Refused(String),
    /// It was sent, and no answer came.
    #[error("{0}")]
    NoAnswer(Unanswered),
}

impl From<NotATarget> for Undone {
    fn from(error: NotATarget) -> Self {
        Self::NotSent(error.to_string())
    }
}

impl From<SecretError> for Undone {
    fn from(error: SecretError) -> Self {
        Self::NotSent(error.to_string())
    }
}

impl From<ClusterError> for Undone {
    fn from(error: ClusterError) -> Self {
        Self::Refused(error.to_string())
    }
}

/// Runs actions.
pub struct Actions {
    cluster: Cluster,
    cache: Cache,
    databases: Arc<dyn Databases>,
    queries: Arc<Queries>,
    secrets: Arc<Secrets>,
    targets: Targets,
}

impl Actions {
    /// Acts through `cluster` and `databases`; logs in as `queries` does.
    pub fn new(
        cluster: Cluster,
        cache: Cache,
        databases: Arc<dyn Databases>,
        queries: Arc<Queries>,
        secrets: Arc<Secrets>,
    ) -> Self {
        let targets = Targets::new(cache.clone());
        Self {
            cluster,
            cache,
            databases,
            queries,
            secrets,
            targets,
        }
    }

    /// Runs `steps` for `owner`, whose status was stored under `fence`, while `lease` holds.
    ///
    /// Every action has an outcome, in the order of the plan.
    pub async fn run(
        &self,
        owner: &Object,
        steps: &[ActionStep],
        fence: &Fence,
        lease: &LeaseGuard,
    ) -> Vec<Outcome> {
        let mut outcomes = Vec::new();
        let mut stopped: Option<String> = None;
        for step in steps {
            let ended = match &stopped {
                Some(why) => step
                    .actions
                    .iter()
                    .map(|action| not_run(action, why))
                    .collect(),
                None => self.step(owner, step, fence, lease).await,
            };
            let failed = ended
                .iter()
                .find(|outcome| !matches!(outcome.ended, Ended::Done(_)));
            if let (Some(failed), IfFailed::Stop) = (failed, step.if_failed) {
                stopped.get_or_insert_with(|| {
                    format!("the action {} before it was not done", failed.id)
                });
            }
            outcomes.extend(ended);
        }
        outcomes
    }

    async fn step(
        &self,
        owner: &Object,
        step: &ActionStep,
        fence: &Fence,
        lease: &LeaseGuard,
    ) -> Vec<Outcome> {
        join_all(
            step.actions
                .iter()
                .map(|action| self.action(owner, action, fence, lease)),
        )
        .await
    }

    /// One action within its time. The lease is looked at last, right before anything is sent.
    async fn action(
        &self,
        owner: &Object,
        action: &Action,
        _fence: &Fence,
        lease: &LeaseGuard,
    ) -> Outcome {
        let Some(left) = lease.remaining() else {
            return not_run(action, "this host holds the lease no more");
        };
        let within = Duration::from_millis(action.timeout).min(LONGEST).min(left);
        let effect = self.effect(owner, &action.effect, Instant::now() + within, lease);
        // The effects keep to the deadline themselves and know what was sent; this is the last resort.
        let done = tokio::time::timeout(within + Duration::from_millis(100), effect).await;
        let ended = match done {
            Ok(Ok(reply)) => Ended::Done(reply.to_string()),
            Ok(Err(Undone::NotSent(why))) => Ended::NotRun(why),
            Ok(Err(Undone::Refused(why))) => Ended::Failed(why),
            Ok(Err(Undone::NoAnswer(_))) | Err(_) => Ended::Unknown,
        };
        let ended = self.masked(owner, ended);
        audit(owner, action, &ended);
        Outcome {
            id: action.id.clone(),
            ended,
        }
    }

    async fn effect(
        &self,
        owner: &Object,
        effect: &Effect,
        deadline: Instant,
        lease: &LeaseGuard,
    ) -> Result<serde_json::Value, Undone> {
        match effect {
            Effect::Redis(action) => self.redis(owner, action, deadline, lease).await,
            Effect::Http(action) => self.http(owner, action, deadline).await,
            Effect::Patch(action) => self.patch(action).await,
            Effect::Delete(action) => self.delete(action).await,
            Effect::Evict(action) => self.evict(owner, action).await,
        }
    }

    async fn http(
        &self,
        owner: &Object,
        action: &HttpAction,
        deadline: Instant,
    ) -> Result<serde_json::Value, Undone> {
        let target = self.targets.verify(owner, &action.target)?;
        let call = HttpCall {
            at: target.at,
            method: match action.method {
                HttpActionMethod::Post => Method::Post,
                HttpActionMethod::Put => Method::Put,
                HttpActionMethod::Delete => Method::Delete,
            },
            path: action.path.clone(),
            headers: action.headers.clone(),
            body: action.body.clone(),
        };
        let within = deadline.saturating_duration_since(Instant::now());
        match self.databases.http(call, within).await {
            Ok(reply) if reply.status < 400 => Ok(serde_json::Value::Null),
            Ok(reply) => Err(Undone::Refused(format!(
                "status {}: {}",
                reply.status, reply.body
            ))),
            Err(error @ Unanswered::NotConnected { .. }) => Err(Undone::NotSent(error.to_string())),
            Err(error) => Err(Undone::NoAnswer(error)),
        }
    }

    /// What a server says may repeat what it was sent.
    fn masked(&self, owner: &Object, ended: Ended) -> Ended {
        let namespace = owner.key.namespace.as_deref().unwrap_or_default();
        let mask = |text: String| self.secrets.mask(namespace, &text);
        match ended {
            Ended::Done(text) => Ended::Done(mask(text)),
            Ended::Failed(text) => Ended::Failed(mask(text)),
            Ended::NotRun(text) => Ended::NotRun(mask(text)),
            Ended::Unknown => Ended::Unknown,
        }
    }
}

fn not_run(action: &Action, why: &str) -> Outcome {
    Outcome {
        id: action.id.clone(),
        ended: Ended::NotRun(why.to_owned()),
    }
}

/// One line for each action: what was done to whom, and how it ended. Arguments are left out, they may hold
/// secrets.
fn audit(owner: &Object, action: &Action, ended: &Ended) {
    let (effect, on) = match &action.effect {
        Effect::Redis(redis) => ("redis", redis.target.pod.as_str()),
        Effect::Http(http) => ("http", http.target.pod.as_str()),
        Effect::Patch(patch) => ("patch", patch.object.name.as_str()),
        Effect::Delete(delete) => ("delete", delete.object.name.as_str()),
        Effect::Evict(evict) => ("evict", evict.pod.as_str()),
    };
    let (how, why) = match ended {
        Ended::Done(_) => ("done", ""),
        Ended::Failed(why) => ("failed", why.as_str()),
        Ended::NotRun(why) => ("not run", why.as_str()),
        Ended::Unknown => ("unknown", "no answer came"),
    };
    tracing::info!(target: "windlass::audit", owner = %owner.key, id = action.id, effect, on, how, why, "action");
}
