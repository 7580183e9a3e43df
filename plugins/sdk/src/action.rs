//! What the host should do once the status is stored.

use std::time::Duration;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Resource;

use crate::context::millis;
use crate::slot::Argument;
use crate::sql::SqlAction;
use crate::wire::{
    self, DeleteAction, Effect, EvictAction, HttpAction, HttpActionMethod, IfFailed, Login,
    ObjectRef, PatchAction, PodPort, RedisGuard,
};

/// One action. Its outcome comes back under its id in the next round ([`crate::Context::outcome`]).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Action(wire::Action);

impl Action {
    /// Commands on a Redis server, to be added by [`RedisAction::command`]. One second unless told otherwise.
    pub fn redis(id: impl Into<String>, target: PodPort) -> RedisAction {
        RedisAction {
            id: id.into(),
            timeout: Duration::from_secs(1),
            action: wire::RedisAction {
                target,
                login: None,
                commands: Vec::new(),
                guard: None,
            },
        }
    }

    /// Statements on a MySQL server, to be added by [`SqlAction::statement`]. Five seconds unless told otherwise.
    pub fn sql(id: impl Into<String>, target: PodPort) -> SqlAction {
        SqlAction::new(id.into(), target)
    }

    /// A JSON merge patch on an object that is not a child; refused when the live object has another uid.
    pub fn patch<K: Resource<DynamicType = ()>>(
        id: impl Into<String>,
        object: &K,
        patch: &serde_json::Value,
    ) -> Self {
        Self::effect(
            id,
            Effect::Patch(PatchAction {
                object: reference(object),
                uid: uid(object.meta()),
                patch: patch.to_string(),
            }),
        )
    }

    /// Deletes an object by uid, waits until it is gone or `wait` is over; zero does not wait.
    pub fn delete<K: Resource<DynamicType = ()>>(
        id: impl Into<String>,
        object: &K,
        grace_seconds: Option<u32>,
        wait: Duration,
    ) -> Self {
        let action = Self::effect(
            id,
            Effect::Delete(DeleteAction {
                object: reference(object),
                uid: uid(object.meta()),
                grace_seconds,
                wait: millis(wait),
            }),
        );
        action.timeout(wait + Duration::from_secs(5))
    }

    /// Evicts a Pod, which respects PodDisruptionBudgets.
    pub fn evict(id: impl Into<String>, metadata: &ObjectMeta) -> Self {
        Self::effect(
            id,
            Effect::Evict(EvictAction {
                pod: metadata.name.clone().unwrap_or_default(),
                uid: uid(metadata),
            }),
        )
    }

    /// Sends an HTTP request with a body.
    pub fn http(
        id: impl Into<String>,
        target: PodPort,
        method: HttpActionMethod,
        path: &str,
        body: String,
    ) -> Self {
        Self::effect(
            id,
            Effect::Http(HttpAction {
                target,
                method,
                path: path.to_owned(),
                headers: Vec::new(),
                body,
            }),
        )
    }

    /// For the whole action; cut to what remains of the host's lease. The default is five seconds.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.0.timeout = millis(timeout);
        self
    }

    fn effect(id: impl Into<String>, effect: Effect) -> Self {
        Self(wire::Action {
            id: id.into(),
            effect,
            timeout: 5000,
            long: None,
        })
    }
}

/// Commands on a Redis server being put together.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use = "becomes an Action by `into`"]
pub struct RedisAction {
    id: String,
    timeout: Duration,
    action: wire::RedisAction,
}

impl RedisAction {
    /// Logs in first.
    pub fn login(mut self, login: &Login) -> Self {
        self.action.login = Some(login.clone());
        self
    }

    /// Adds a command. Commands go out in order on one connection; the first error ends the action as failed.
    pub fn command<A: Into<Argument>>(mut self, words: impl IntoIterator<Item = A>) -> Self {
        let words = words.into_iter().map(|word| word.into().0);
        self.action.commands.push(words.collect());
        self
    }

    /// Sends nothing unless `INFO server` shows this `run_id`: a Pod's uid does not notice a restarted
    /// container.
    pub fn only_run(mut self, run_id: &str) -> Self {
        self.action.guard = Some(RedisGuard {
            command: vec!["INFO".to_owned(), "server".to_owned()],
            field: Some("run_id".to_owned()),
            equals: run_id.to_owned(),
        });
        self
    }

    /// For the whole action, connecting included.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }
}

impl From<RedisAction> for Action {
    fn from(redis: RedisAction) -> Self {
        Self::effect(redis.id, Effect::Redis(redis.action)).timeout(redis.timeout)
    }
}

impl From<SqlAction> for Action {
    fn from(sql: SqlAction) -> Self {
        Self(sql.wire())
    }
}

impl From<Action> for wire::Action {
    fn from(action: Action) -> Self {
        action.0
    }
}

/// Actions that run at the same time.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Step {
    actions: Vec<Action>,
    stops: bool,
}

impl Step {
    /// A step whose failures do not hold up the steps after it.
    #[must_use]
    pub fn of(actions: impl IntoIterator<Item = Action>) -> Self {
        Self {
            actions: actions.into_iter().collect(),
            stops: false,
        }
    }

    /// When one of these fails, the following steps are not run.
    #[must_use]
    pub fn stopping(mut self) -> Self {
        self.stops = true;
        self
    }

    /// True when there is nothing to do.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.actions.is_empty()
    }

    pub(crate) fn wire(self) -> wire::ActionStep {
        wire::ActionStep {
            actions: self.actions.into_iter().map(|action| action.0).collect(),
            if_failed: if self.stops {
                IfFailed::Stop
            } else {
                IfFailed::GoOn
            },
        }
    }
}

/// Names a typed object.
#[must_use]
pub fn reference<K: Resource<DynamicType = ()>>(object: &K) -> ObjectRef {
    ObjectRef {
        api_version: K::api_version(&()).into_owned(),
        kind: K::kind(&()).into_owned(),
        namespace: object.meta().namespace.clone(),
        name: object.meta().name.clone().unwrap_or_default(),
    }
}

fn uid(metadata: &ObjectMeta) -> String {
    metadata.uid.clone().unwrap_or_default()
}
