//! Redis over the network, by the `redis` crate.

use std::net::SocketAddr;
use std::time::Duration;

use async_trait::async_trait;
use redis::aio::MultiplexedConnection;
use redis::{
    AsyncConnectionConfig, Client, ConnectionAddr, ErrorKind, IntoConnectionInfo,
    RedisConnectionInfo, RedisError, RedisResult, ServerErrorKind, Value,
};
use serde_json::json;

use super::kept::{Kept, Place};
use super::{Credentials, LARGEST_REPLY, RedisReplies, Unanswered};
use crate::secrets::SecretValue;

/// A connection that belongs to one action.
#[async_trait]
pub trait RedisSession: Send {
    /// Sends one command and waits for its reply, which is told as `{"ok": …}` or `{"error": …}`.
    async fn send(&mut self, command: &[Vec<u8>]) -> Result<serde_json::Value, Unanswered>;
}

/// Connections to Redis servers, kept for the next round.
#[derive(Default)]
pub struct RedisWire {
    kept: Kept<Connected>,
}

#[derive(Clone)]
struct Connected {
    connection: MultiplexedConnection,
    password: Option<u32>,
}

impl RedisWire {
    /// Sends all commands at once and waits for all replies.
    ///
    /// # Errors
    /// When the server is not reached, does not let in or does not answer within the time.
    pub async fn ask(
        &self,
        at: SocketAddr,
        login: Option<&Credentials>,
        commands: &[Vec<String>],
        within: Duration,
    ) -> Result<RedisReplies, Unanswered> {
        let place = Place::new(at, login);
        let asked = tokio::time::timeout(within, self.ask_kept(&place, login, commands)).await;
        let answer = asked.unwrap_or(Err(Unanswered::TimedOut { at, after: within }));
        if answer.is_err() {
            self.kept.take(&place);
        }
        answer
    }

    /// Opens a connection for one action. It is not shared and not kept.
    ///
    /// # Errors
    /// When the server is not reached or does not let in.
    pub async fn session(
        &self,
        at: SocketAddr,
        login: Option<&Credentials>,
        within: Duration,
    ) -> Result<Box<dyn RedisSession>, Unanswered> {
        let opened = tokio::time::timeout(within, connect(at, login)).await;
        let connected = opened.unwrap_or(Err(Unanswered::TimedOut { at, after: within }))?;
        Ok(Box::new(Session {
            at,
            connection: connected.connection,
        }))
    }

    /// Asks over the kept connection; where that broke meanwhile, once more over a new one.
    async fn ask_kept(
        &self,
        place: &Place,
        login: Option<&Credentials>,
        commands: &[Vec<String>],
    ) -> Result<RedisReplies, Unanswered> {
        let known = self.kept.shared(place);
        if let Some(connected) = known
            && let Ok(replies) = pipelined(place.at, connected, commands).await
        {
            return Ok(replies);
        }
        let connected = connect(place.at, login).await?;
        self.kept.keep(place.clone(), connected.clone());
        pipelined(place.at, connected, commands).await
    }
}

struct Session {
    at: SocketAddr,
    connection: MultiplexedConnection,
}

#[async_trait]
impl RedisSession for Session {
    async fn send(&mut self, command: &[Vec<u8>]) -> Result<serde_json::Value, Unanswered> {
        let mut packed = redis::Cmd::new();
        for argument in command {
            packed.arg(argument.as_slice());
        }
        match packed.query_async::<Value>(&mut self.connection).await {
            Ok(value) => Ok(told(Ok(value))),
            Err(error) if error.is_io_error() || error.is_connection_dropped() => {
                Err(Unanswered::Broken {
                    at: self.at,
                    why: error.to_string(),
                })
            }
            Err(error) => Ok(told(Err(error))),
        }
    }
}

/// Connects and logs in with the first password that is accepted.
async fn connect(at: SocketAddr, login: Option<&Credentials>) -> Result<Connected, Unanswered> {
    let Some(login) = login else {
        let connection = opened(at, RedisConnectionInfo::default()).await;
        let connection = connection.map_err(|error| not_connected(at, &error))?;
        return Ok(Connected {
            connection,
            password: None,
        });
    };
    let mut refused = "it has no password".to_owned();
    for (index, password) in (0_u32..).zip(&login.passwords) {
        match opened(at, settings(&login.user, password)).await {
            Ok(connection) => {
                return Ok(Connected {
                    connection,
                    password: Some(index),
                });
            }
            Err(error) if is_login_refused(&error) => refused = error.to_string(),
            Err(error) => return Err(not_connected(at, &error)),
        }
    }
    Err(Unanswered::LoginRefused {
        at,
        user: login.user.clone(),
        why: refused,
    })
}

fn settings(user: &str, password: &SecretValue) -> RedisConnectionInfo {
    let password = String::from_utf8_lossy(password.expose());
    RedisConnectionInfo::default()
        .set_username(user)
        .set_password(password)
}

async fn opened(
    at: SocketAddr,
    settings: RedisConnectionInfo,
) -> RedisResult<MultiplexedConnection> {
    let address = ConnectionAddr::Tcp(at.ip().to_string(), at.port());
    let settings = settings.set_skip_set_lib_name();
    let client = Client::open(address.into_connection_info()?.set_redis_settings(settings))?;
    // The caller's deadline covers connecting and answering as a whole.
    let config = AsyncConnectionConfig::new()
        .set_connection_timeout(None)
        .set_response_timeout(None);
    client
        .get_multiplexed_async_connection_with_config(&config)
        .await
}

fn is_login_refused(error: &RedisError) -> bool {
    matches!(error.kind(), ErrorKind::AuthenticationFailed)
        || matches!(error.kind(), ErrorKind::Server(ServerErrorKind::NoPerm))
        || matches!(error.code(), Some("WRONGPASS" | "NOAUTH"))
}

fn not_connected(at: SocketAddr, error: &RedisError) -> Unanswered {
    Unanswered::NotConnected {
        at,
        why: error.to_string(),
    }
}

async fn pipelined(
    at: SocketAddr,
    mut connected: Connected,
    commands: &[Vec<String>],
) -> Result<RedisReplies, Unanswered> {
    let mut pipeline = redis::pipe();
    for command in commands {
        let mut packed = redis::Cmd::new();
        for argument in command {
            packed.arg(argument);
        }
        pipeline.add_command(packed);
    }
    pipeline.ignore_errors();
    let replies: Vec<RedisResult<Value>> = pipeline
        .query_async(&mut connected.connection)
        .await
        .map_err(|error: RedisError| Unanswered::Broken {
            at,
            why: error.to_string(),
        })?;
    let replies = replies.into_iter().map(told).collect();
    Ok(RedisReplies {
        replies,
        password: connected.password,
    })
}

/// One reply as a plugin reads it.
fn told(reply: RedisResult<Value>) -> serde_json::Value {
    match reply {
        Ok(Value::ServerError(error)) => {
            json!({"error": format!("{} {}", error.code(), error.details().unwrap_or_default()).trim_end()})
        }
        Ok(value) if size(&value) > LARGEST_REPLY => json!({"error": "the reply is over 1 MiB"}),
        Ok(value) => json!({"ok": to_json(value)}),
        Err(error) => {
            let code = error.code().unwrap_or("ERR");
            json!({"error": format!("{code} {}", error.detail().unwrap_or_default()).trim_end()})
        }
    }
}

fn size(value: &Value) -> usize {
    match value {
        Value::BulkString(bytes) => bytes.len(),
        Value::SimpleString(text) | Value::VerbatimString { text, .. } => text.len(),
        Value::Array(values) | Value::Set(values) => values.iter().map(size).sum(),
        Value::Map(pairs) => pairs
            .iter()
            .map(|(key, value)| size(key) + size(value))
            .sum(),
        _ => 8,
    }
}

fn to_json(value: Value) -> serde_json::Value {
    match value {
        Value::Nil => serde_json::Value::Null,
        Value::Okay => json!("OK"),
        Value::Int(number) => json!(number),
        Value::Double(number) => json!(number),
        Value::Boolean(truth) => json!(truth),
        Value::SimpleString(text) | Value::VerbatimString { text, .. } => json!(text),
        Value::BulkString(bytes) => json!(String::from_utf8_lossy(&bytes)),
        Value::Array(values) | Value::Set(values) => values.into_iter().map(to_json).collect(),
        Value::Map(pairs) => {
            let entry = |(key, value)| (as_key(key), to_json(value));
            serde_json::Value::Object(pairs.into_iter().map(entry).collect())
        }
        Value::Attribute { data, .. } => to_json(*data),
        other => json!(format!("{other:?}")),
    }
}

fn as_key(value: Value) -> String {
    match to_json(value) {
        serde_json::Value::String(text) => text,
        other => other.to_string(),
    }
}
