//! Made-up databases: a test says what its server answers; what it does not serve, nobody may ask.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use windlass::query::{
    Credentials, Databases, HttpCall, HttpReply, RedisReplies, RedisSession, SqlReplies,
    SqlSession, Unanswered,
};

/// A server of a test, at every address.
#[async_trait]
pub(crate) trait Server: Send + Sync + 'static {
    /// Answers a Redis query.
    async fn redis(&self, _login: Option<&Credentials>) -> RedisReplies {
        unreachable!("no test asks Redis")
    }

    /// Opens a session for a MySQL action.
    async fn sql_session(&self) -> Box<dyn SqlSession> {
        unreachable!("no test drives MySQL")
    }

    /// Answers an HTTP request.
    async fn http(&self) -> HttpReply {
        unreachable!("no test asks over HTTP")
    }
}

/// A server in the place of the network.
pub(crate) struct Served<S>(pub(crate) Arc<S>);

#[async_trait]
impl<S: Server> Databases for Served<S> {
    async fn redis(
        &self,
        _: SocketAddr,
        login: Option<&Credentials>,
        _: &[Vec<String>],
        _: Duration,
    ) -> Result<RedisReplies, Unanswered> {
        Ok(self.0.redis(login).await)
    }

    async fn redis_session(
        &self,
        _: SocketAddr,
        _: Option<&Credentials>,
        _: Duration,
    ) -> Result<Box<dyn RedisSession>, Unanswered> {
        unreachable!("no test drives Redis")
    }

    async fn sql(
        &self,
        _: SocketAddr,
        _: &Credentials,
        _: &[String],
        _: Duration,
    ) -> Result<SqlReplies, Unanswered> {
        unreachable!("no test asks MySQL")
    }

    async fn sql_session(
        &self,
        _: SocketAddr,
        _: &Credentials,
        _: Duration,
    ) -> Result<Box<dyn SqlSession>, Unanswered> {
        Ok(self.0.sql_session().await)
    }

    async fn http(&self, _: HttpCall, _: Duration) -> Result<HttpReply, Unanswered> {
        Ok(self.0.http().await)
    }
}
