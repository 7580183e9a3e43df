//! Questions to databases in Pods: asked for a plugin, which has no socket of its own.
//!
//! Flow: a question names a Pod and a port; [`Targets`](crate::target::Targets) verifies that the Pod belongs to
//! the object; [`Databases`] connects and asks; the answer is masked and becomes a fact. Nothing here fails: a
//! server that does not answer is a fact.
//! What may not live here: anything that changes a database (that is `actions`), and any authority decision but
//! what a query may hold (grants, those for a login's Secrets too, are checked by the round before it asks).

mod http;
mod kept;
mod read_only;
mod redis;
mod since;
mod sql;
#[cfg(test)]
mod tests;

use std::fmt::Display;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::Semaphore;

pub use self::http::{HttpCall, HttpReply, Method, check_request};
pub use self::read_only::{NotReadOnly, check_read_only};
pub use self::redis::{RedisSession, RedisWire};
pub use self::since::Silence;
pub use self::sql::{
    NotAQuery, SqlPart, SqlReplies, SqlSession, SqlWire, check_parts, check_statements, literal,
};

use crate::clock::SharedClock;
use crate::object::{Object, ObjectKey};
use crate::plugin::bindings::{
    Answer, HttpMethod, HttpQuery, HttpTarget, Login, RedisQuery, Reply, SqlQuery, Unreachable,
};
use crate::secrets::{SecretError, SecretValue, Secrets};
use crate::target::{Targets, Verified};

/// No answer is larger; a larger one is cut off with an error.
pub const LARGEST_REPLY: usize = 1 << 20;

/// Queries under way at once, over all objects.
const AT_ONCE: usize = 64;

/// The longest time-out that a plugin may ask for.
const LONGEST: Duration = Duration::from_secs(10);

/// Who to log in as, with the values filled in. The passwords are tried in order.
#[derive(Clone)]
pub struct Credentials {
    /// The account.
    pub user: String,
    /// At least one.
    pub passwords: Vec<SecretValue>,
}

/// Why a server gave no answer.
#[derive(Debug, thiserror::Error)]
pub enum Unanswered {
    /// Nobody listens, or the network says no.
    #[error("failed to connect to {at}: {why}")]
    NotConnected {
        /// Where.
        at: SocketAddr,
        /// In words.
        why: String,
    },
    /// None of the passwords was accepted.
    #[error("{at} accepted none of the passwords for \"{user}\": {why}")]
    LoginRefused {
        /// Where.
        at: SocketAddr,
        /// The account.
        user: String,
        /// The server's own words.
        why: String,
    },
    /// Connected, but the answer did not come in time.
    #[error("{at} did not answer within {} ms", .after.as_millis())]
    TimedOut {
        /// Where.
        at: SocketAddr,
        /// The time-out.
        after: Duration,
    },
    /// The connection broke while the answer was awaited.
    #[error("the connection to {at} broke: {why}")]
    Broken {
        /// Where.
        at: SocketAddr,
        /// In words.
        why: String,
    },
}

/// Replies to a list of commands: for each the reply or the server's error, as JSON.
pub struct RedisReplies {
    /// `{"ok": …}` or `{"error": …}` for each command.
    pub replies: Vec<serde_json::Value>,
    /// Which password was accepted.
    pub password: Option<u32>,
}

/// The databases, real or simulated. The one place where they enter the host.
#[async_trait]
pub trait Databases: Send + Sync + 'static {
    /// Asks a Redis server. `connection` names the target across calls: a connection that was kept is used again.
    async fn redis(
        &self,
        at: SocketAddr,
        login: Option<&Credentials>,
        commands: &[Vec<String>],
        within: Duration,
    ) -> Result<RedisReplies, Unanswered>;

    /// Opens a session of its own with a Redis server, for an action.
    async fn redis_session(
        &self,
        at: SocketAddr,
        login: Option<&Credentials>,
        within: Duration,
    ) -> Result<Box<dyn RedisSession>, Unanswered>;

    /// Asks a MySQL server, on a read-only session.
    async fn sql(
        &self,
        at: SocketAddr,
        login: &Credentials,
        statements: &[String],
        within: Duration,
    ) -> Result<SqlReplies, Unanswered>;

    /// Opens a session of its own with a MySQL server, for an action.
    async fn sql_session(
        &self,
        at: SocketAddr,
        login: &Credentials,
        within: Duration,
    ) -> Result<Box<dyn SqlSession>, Unanswered>;

    /// Sends one HTTP request. Redirects are not followed.
    async fn http(&self, call: HttpCall, within: Duration) -> Result<HttpReply, Unanswered>;
}

/// Real databases, over the network.
#[derive(Default)]
pub struct Network {
    redis: RedisWire,
    sql: SqlWire,
    http: http::HttpWire,
}

#[async_trait]
impl Databases for Network {
    async fn redis(
        &self,
        at: SocketAddr,
        login: Option<&Credentials>,
        commands: &[Vec<String>],
        within: Duration,
    ) -> Result<RedisReplies, Unanswered> {
        self.redis.ask(at, login, commands, within).await
    }

    async fn redis_session(
        &self,
        at: SocketAddr,
        login: Option<&Credentials>,
        within: Duration,
    ) -> Result<Box<dyn RedisSession>, Unanswered> {
        self.redis.session(at, login, within).await
    }

    async fn sql(
        &self,
        at: SocketAddr,
        login: &Credentials,
        statements: &[String],
        within: Duration,
    ) -> Result<SqlReplies, Unanswered> {
        self.sql.ask(at, login, statements, within).await
    }

    async fn sql_session(
        &self,
        at: SocketAddr,
        login: &Credentials,
        within: Duration,
    ) -> Result<Box<dyn SqlSession>, Unanswered> {
        self.sql.session(at, login, within).await
    }

    async fn http(&self, call: HttpCall, within: Duration) -> Result<HttpReply, Unanswered> {
        self.http.send(call, within).await
    }
}

/// Asks questions for plugins.
pub struct Queries {
    databases: Arc<dyn Databases>,
    targets: Targets,
    secrets: Arc<Secrets>,
    clock: SharedClock,
    silence: Silence,
    at_once: Semaphore,
}

impl Queries {
    /// Asks `databases` about the Pods that `targets` verifies.
    pub fn new(
        databases: Arc<dyn Databases>,
        targets: Targets,
        secrets: Arc<Secrets>,
        clock: SharedClock,
    ) -> Self {
        let at_once = Semaphore::new(AT_ONCE);
        Self {
            databases,
            targets,
            secrets,
            clock,
            silence: Silence::default(),
            at_once,
        }
    }

    /// Asks a Redis server for `owner`.
    pub async fn redis(&self, owner: &Object, query: &RedisQuery) -> Answer {
        if let Err(refused) = check_read_only(&query.commands) {
            return Answer::Refused(refused.to_string());
        }
        let target = match self.targets.verify(owner, &query.target) {
            Ok(target) => target,
            Err(error) => return self.unreachable(owner, &query.target.uid, &error),
        };
        let login = match self.credentials(&owner.key, query.login.as_ref()).await {
            Ok(login) => login,
            Err(error) => return self.unreachable(owner, &target.uid, &error),
        };
        let within = Duration::from_millis(query.timeout).min(LONGEST);
        let _turn = self.at_once.acquire().await;
        let asked = self
            .databases
            .redis(target.at, login.as_ref(), &query.commands, within)
            .await;
        let asked = asked.map(|replies| (array(replies.replies), replies.password));
        self.told(owner, &target, asked)
    }

    /// Asks a MySQL server for `owner`.
    pub async fn sql(&self, owner: &Object, query: &SqlQuery) -> Answer {
        if let Err(refused) = check_statements(&query.statements) {
            return Answer::Refused(refused.to_string());
        }
        let target = match self.targets.verify(owner, &query.target) {
            Ok(target) => target,
            Err(error) => return self.unreachable(owner, &query.target.uid, &error),
        };
        let login = match self.filled(&owner.key, &query.login).await {
            Ok(login) => login,
            Err(error) => return self.unreachable(owner, &target.uid, &error),
        };
        let within = Duration::from_millis(query.timeout).min(LONGEST);
        let _turn = self.at_once.acquire().await;
        let asked = self
            .databases
            .sql(target.at, &login, &query.statements, within)
            .await;
        let asked = asked.map(|replies| (array(replies.replies), replies.password));
        self.told(owner, &target, asked)
    }

    /// Asks an HTTP server for `owner`.
    pub async fn http(&self, owner: &Object, query: &HttpQuery) -> Answer {
        let HttpTarget::Pod(pod) = &query.target else {
            return Answer::Refused("host: servers outside the cluster are not served yet".into());
        };
        if let Err(why) = check_request(&query.path, &query.headers) {
            return Answer::Refused(format!("http: {why}"));
        }
        let target = match self.targets.verify(owner, pod) {
            Ok(target) => target,
            Err(error) => return self.unreachable(owner, &pod.uid, &error),
        };
        let call = HttpCall {
            at: target.at,
            method: match query.method {
                HttpMethod::Get => Method::Get,
                HttpMethod::Head => Method::Head,
            },
            path: query.path.clone(),
            headers: query.headers.clone(),
            body: String::new(),
        };
        let within = Duration::from_millis(query.timeout).min(LONGEST);
        let _turn = self.at_once.acquire().await;
        let asked = self.databases.http(call, within).await;
        self.told(owner, &target, asked.map(|reply| (reply.to_json(), None)))
    }

    /// The values for a login of `owner`; None for None.
    ///
    /// # Errors
    /// When one of its Secrets cannot be read.
    pub async fn credentials(
        &self,
        owner: &ObjectKey,
        login: Option<&Login>,
    ) -> Result<Option<Credentials>, SecretError> {
        match login {
            Some(login) => self.filled(owner, login).await.map(Some),
            None => Ok(None),
        }
    }

    /// The values for a login of `owner`.
    ///
    /// # Errors
    /// When one of its Secrets cannot be read.
    pub async fn filled(
        &self,
        owner: &ObjectKey,
        login: &Login,
    ) -> Result<Credentials, SecretError> {
        let mut passwords = Vec::with_capacity(login.passwords.len());
        for key in &login.passwords {
            passwords.push(self.secrets.value(key, owner).await?);
        }
        Ok(Credentials {
            user: login.user.clone(),
            passwords,
        })
    }

    fn told(
        &self,
        owner: &Object,
        target: &Verified,
        asked: Result<(String, Option<u32>), Unanswered>,
    ) -> Answer {
        match asked {
            Ok((body, password)) => {
                self.silence.heard(&target.uid);
                Answer::Reply(Reply {
                    body: self.secrets.mask(&owner.key, &body),
                    password,
                })
            }
            Err(error @ Unanswered::LoginRefused { .. }) => {
                self.refused(owner, &target.uid, &error)
            }
            Err(error) => self.unreachable(owner, &target.uid, &error),
        }
    }

    /// A server that runs and lets nobody in.
    fn refused(&self, owner: &Object, uid: &str, why: &Unanswered) -> Answer {
        Answer::Unreachable(Unreachable {
            answered: true,
            ..self.silent(owner, uid, why)
        })
    }

    fn unreachable(&self, owner: &Object, uid: &str, why: &dyn Display) -> Answer {
        Answer::Unreachable(self.silent(owner, uid, why))
    }

    /// What a server says while it lets nobody in may repeat what it was sent.
    fn silent(&self, owner: &Object, uid: &str, why: &dyn Display) -> Unreachable {
        let since = self.silence.noted(uid, self.clock.now());
        let why = self.secrets.mask(&owner.key, &why.to_string());
        Unreachable {
            why,
            answered: false,
            since,
        }
    }

    /// Forgets what was known of a Pod that is gone.
    pub fn forget(&self, uid: &str) {
        self.silence.heard(uid);
    }
}

fn array(replies: Vec<serde_json::Value>) -> String {
    serde_json::Value::Array(replies).to_string()
}
