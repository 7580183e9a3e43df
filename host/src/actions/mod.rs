//! Effects beyond the objects that a plugin describes: commands to databases, patches, deletes, evictions.
//!
//! Flow: steps in order; the actions of one step at the same time, each under its own time-out, cut to what
//! remains of the lease; how each ended becomes an outcome, which the next round is told. A long action is started
//! only ([`LongActions`]), and its outcome is told when it ended.
//! Guarantees: nothing is sent without a [`Fence`], the proof that the deciding status is stored; nothing after
//! the lease ran out; nothing to a Pod with another uid, nor past a guard that did not hold.
//! Assumptions: the plan was checked against its grants.

mod long;
mod object;
mod redis;
mod sql;

use std::sync::Arc;
use std::time::Duration;

use futures::future::join_all;
use serde_json::Value;
use tokio::time::Instant;

use crate::cache::Cache;
use crate::cluster::{Cluster, ClusterError};
use crate::lease::LeaseGuard;
use crate::object::Object;
use crate::plugin::bindings::{
    Action, ActionStep, Effect, Ended, HttpAction, HttpActionMethod, IfFailed, Long, Outcome,
};
use crate::query::{Databases, HttpCall, Method, Queries, Unanswered};
use crate::secrets::{SecretError, Secrets};
use crate::status::Fence;
use crate::target::{NotATarget, Targets};
use sql::Deadlines;

pub use long::LongActions;

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
    /// It may have been sent, and this host may not or does not wait for the answer any more.
    #[error("no answer came while it could be waited for")]
    GivenUp,
}

/// For whom actions run, and under what.
pub struct Errand<'a> {
    /// The object.
    pub owner: &'a Arc<Object>,
    /// The proof that the status that decided them is stored.
    pub fence: &'a Fence,
    /// What must hold throughout.
    pub lease: &'a LeaseGuard,
    /// Where long actions run.
    pub long: &'a LongActions,
    /// The round's time.
    pub now: u64,
}

/// What became of a plan's actions.
#[derive(Debug, Default)]
pub struct Acted {
    /// How those ended that did, in the order of the plan.
    pub outcomes: Vec<Outcome>,
    /// How many long ones were started.
    pub started: usize,
}

impl Acted {
    /// Whether anything was done or tried.
    pub fn any(&self) -> bool {
        self.started > 0 || !self.outcomes.is_empty()
    }
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

    /// Runs `steps` on an errand.
    ///
    /// Every action has an outcome but long ones, which are started unless they run already.
    pub async fn run(self: &Arc<Self>, errand: &Errand<'_>, steps: &[ActionStep]) -> Acted {
        let mut acted = Acted::default();
        let mut stopped: Option<String> = None;
        for step in steps {
            let of_step = match &stopped {
                Some(why) => Acted {
                    outcomes: step.actions.iter().map(|it| not_run(it, why)).collect(),
                    started: 0,
                },
                None => self.step(errand, step).await,
            };
            let mut outcomes = of_step.outcomes.iter();
            let failed = outcomes.find(|outcome| !matches!(outcome.ended, Ended::Done(_)));
            if let (Some(failed), IfFailed::Stop) = (failed, step.if_failed) {
                stopped.get_or_insert_with(|| {
                    format!("the action {} before it was not done", failed.id)
                });
            }
            acted.outcomes.extend(of_step.outcomes);
            acted.started += of_step.started;
        }
        acted
    }

    async fn step(self: &Arc<Self>, errand: &Errand<'_>, step: &ActionStep) -> Acted {
        let mut started = 0;
        let mut short = Vec::new();
        for action in &step.actions {
            match &action.long {
                Some(long) => started += usize::from(self.start(errand, action, long)),
                None => short.push(self.action(errand, action)),
            }
        }
        let outcomes = join_all(short).await;
        Acted { outcomes, started }
    }

    /// Starts a long action; says whether it did.
    fn start(self: &Arc<Self>, errand: &Errand<'_>, action: &Action, long: &Long) -> bool {
        let (actions, owner, lease) = (self.clone(), errand.owner.clone(), errand.lease.clone());
        let (id, sent) = (action.id.clone(), action.clone());
        let deadline = Duration::from_millis(long.deadline);
        let work = async move { actions.long(&owner, &sent, deadline, &lease).await };
        let started = errand.long.start(errand.owner, &long.key, errand.now, work);
        if started {
            tracing::info!(target: "windlass::audit", owner = %errand.owner.key, id, key = long.key, "long action started");
        }
        started
    }

    /// A long action, from its start to its end or the lease's.
    async fn long(
        &self,
        owner: &Object,
        action: &Action,
        deadline: Duration,
        lease: &LeaseGuard,
    ) -> Outcome {
        let now = Instant::now();
        let deadlines = Deadlines {
            ready: now + Duration::from_millis(action.timeout).min(LONGEST),
            done: now + deadline,
        };
        let ended = match &action.effect {
            Effect::Sql(sql) => tokio::select! {
                ended = self.sql(owner, sql, deadlines, lease) => ended,
                () = over(lease) => Err(Undone::GivenUp),
            },
            _ => Err(Undone::NotSent("only SQL actions may be long".into())),
        };
        self.outcome(owner, action, ended)
    }

    /// One action within its time. The lease is looked at last, right before anything is sent.
    async fn action(&self, errand: &Errand<'_>, action: &Action) -> Outcome {
        let Errand { owner, lease, .. } = errand;
        let Some(left) = lease.remaining() else {
            return not_run(action, "this host holds the lease no more");
        };
        let within = Duration::from_millis(action.timeout).min(LONGEST).min(left);
        let effect = self.effect(owner, &action.effect, Instant::now() + within, lease);
        // The effects keep to the deadline themselves and know what was sent; this is the last resort.
        let done = tokio::time::timeout(within + Duration::from_millis(100), effect).await;
        self.outcome(owner, action, done.unwrap_or(Err(Undone::GivenUp)))
    }

    /// How an action ended, for the plugin and for the audit log.
    fn outcome(&self, owner: &Object, action: &Action, ended: Result<Value, Undone>) -> Outcome {
        let ended = match ended {
            Ok(reply) => Ended::Done(reply.to_string()),
            Err(Undone::NotSent(why)) => Ended::NotRun(why),
            Err(Undone::Refused(why)) => Ended::Failed(why),
            Err(Undone::NoAnswer(_) | Undone::GivenUp) => Ended::Unknown,
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
    ) -> Result<Value, Undone> {
        match effect {
            Effect::Redis(action) => self.redis(owner, action, deadline, lease).await,
            Effect::Sql(action) => {
                let deadlines = Deadlines {
                    ready: deadline,
                    done: deadline,
                };
                self.sql(owner, action, deadlines, lease).await
            }
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
    ) -> Result<Value, Undone> {
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
            Ok(reply) if reply.status < 400 => Ok(Value::Null),
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
        let mask = |text: String| self.secrets.mask(&owner.key, &text);
        match ended {
            Ended::Done(text) => Ended::Done(mask(text)),
            Ended::Failed(text) => Ended::Failed(mask(text)),
            Ended::NotRun(text) => Ended::NotRun(mask(text)),
            Ended::Unknown => Ended::Unknown,
        }
    }
}

/// Waits until the lease is over, by the guard's own clock: whoever renews it may have died.
async fn over(lease: &LeaseGuard) {
    // One that is not shared lasts longer than a timer can.
    const LONGEST_SLEEP: Duration = Duration::from_secs(3600);
    while let Some(left) = lease.remaining() {
        tokio::time::sleep(left.min(LONGEST_SLEEP)).await;
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
        Effect::Sql(sql) => ("sql", sql.target.pod.as_str()),
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
