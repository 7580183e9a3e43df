//! MySQL over the network, by the `mysql_async` crate.
//!
//! Every session is set up alike, whatever the server's defaults ([`SETTINGS`]): literals are read in one way, no
//! transaction stays open, times are UTC. Those of queries are read-only besides, and used again.

mod read_only;
mod secret;
mod words;

use std::net::SocketAddr;
use std::time::Duration;

use async_trait::async_trait;
use mysql_async::prelude::Queryable;
use mysql_async::{Conn, Error, IoError, OptsBuilder, ServerError, SslOpts, Value};
use serde_json::json;

use super::kept::{Kept, Place};
use super::{Credentials, LARGEST_REPLY, Unanswered};
use crate::secrets::SecretValue;

pub use read_only::{NotAQuery, check_statements};
pub use secret::{SqlPart, check_parts, literal};

/// What every session begins with. The statement check and the quoting of secrets rest on this SQL mode.
const SETTINGS: &str = "SET NAMES utf8mb4, @@SESSION.autocommit = 1, @@SESSION.time_zone = '+00:00', \
     @@SESSION.sql_mode = 'STRICT_TRANS_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION'";

/// What a session for queries begins with besides.
const READ_ONLY: &str = "SET @@SESSION.transaction_read_only = 1";

/// The largest packet that is sent or taken, which saves asking the server for its own limit.
const LARGEST_PACKET: usize = 64 << 20;

/// The server's "access denied": another password may do.
const ACCESS_DENIED: u16 = 1045;

/// Errors that tell the end of the session: the server stops, or it was idle for too long or killed.
const SESSION_ENDED: [u16; 3] = [1053, 3169, 4031];

/// Answers to a list of statements, as JSON.
pub struct SqlReplies {
    /// `{"columns": …, "rows": …}` or `{"error": …}` for each statement.
    pub replies: Vec<serde_json::Value>,
    /// Which password was accepted.
    pub password: Option<u32>,
}

/// A session that belongs to one action.
#[async_trait]
pub trait SqlSession: Send {
    /// Sends one statement and waits for its answer, which is told as `{"columns": …, "rows": …}` or
    /// `{"error": {"code", "state", "text"}}`.
    async fn send(&mut self, statement: &[u8]) -> Result<serde_json::Value, Unanswered>;
}

/// Sessions with MySQL servers, kept for the next round.
#[derive(Default)]
pub struct SqlWire {
    kept: Kept<Session>,
}

impl SqlWire {
    /// Asks each statement on a read-only session.
    ///
    /// # Errors
    /// When the server is not reached, does not let in or does not answer within the time. An error of a
    /// statement is its answer.
    pub async fn ask(
        &self,
        at: SocketAddr,
        login: &Credentials,
        statements: &[String],
        within: Duration,
    ) -> Result<SqlReplies, Unanswered> {
        let asked = self.ask_kept(at, login, statements, within);
        let answer = tokio::time::timeout(within, asked).await;
        answer.unwrap_or(Err(Unanswered::TimedOut { at, after: within }))
    }

    /// Opens a session for one action. It is not shared and not kept.
    ///
    /// # Errors
    /// When the server is not reached or does not let in.
    pub async fn session(
        &self,
        at: SocketAddr,
        login: &Credentials,
        within: Duration,
    ) -> Result<Box<dyn SqlSession>, Unanswered> {
        let opened = tokio::time::timeout(within, connect(at, login, &[SETTINGS])).await;
        let session = opened.unwrap_or(Err(Unanswered::TimedOut { at, after: within }))?;
        Ok(Box::new(session))
    }

    /// Asks on the kept session; where that broke meanwhile, once more on a new one. A session that is dropped
    /// half-way is closed.
    async fn ask_kept(
        &self,
        at: SocketAddr,
        login: &Credentials,
        statements: &[String],
        within: Duration,
    ) -> Result<SqlReplies, Unanswered> {
        let place = Place::new(at, Some(login));
        if let Some(mut session) = self.kept.take(&place)
            && let Ok(replies) = session.ask(statements, within).await
        {
            self.kept.keep(place, session);
            return Ok(replies);
        }
        let mut session = connect(at, login, &[SETTINGS, READ_ONLY]).await?;
        let replies = session.ask(statements, within).await?;
        self.kept.keep(place, session);
        Ok(replies)
    }
}

struct Session {
    at: SocketAddr,
    connection: Conn,
    /// Which password was accepted.
    password: u32,
    /// How long a SELECT may run on this session, once that was set.
    limit: Option<Duration>,
}

impl Session {
    async fn ask(
        &mut self,
        statements: &[String],
        within: Duration,
    ) -> Result<SqlReplies, Unanswered> {
        self.limit(within).await?;
        let mut replies = Vec::with_capacity(statements.len());
        let mut room = LARGEST_REPLY;
        for statement in statements {
            replies.push(self.answer(statement.as_bytes(), &mut room).await?);
        }
        Ok(SqlReplies {
            replies,
            password: Some(self.password),
        })
    }

    /// The server itself ends a SELECT that nobody waits for any more.
    async fn limit(&mut self, within: Duration) -> Result<(), Unanswered> {
        if self.limit == Some(within) {
            return Ok(());
        }
        let limit = within.as_millis().max(1);
        let statement = format!("SET @@SESSION.max_execution_time = {limit}");
        let set = self.connection.query_drop(statement).await;
        set.map_err(|error| broken(self.at, &error))?;
        self.limit = Some(within);
        Ok(())
    }

    /// The answer to one statement; `room` is what it may still take, in bytes.
    async fn answer(
        &mut self,
        statement: &[u8],
        room: &mut usize,
    ) -> Result<serde_json::Value, Unanswered> {
        match rows(&mut self.connection, statement, room).await {
            Ok(rows) => Ok(rows),
            Err(Error::Server(error)) if !SESSION_ENDED.contains(&error.code) => {
                Ok(told(error.code, &error.state, &error.message))
            }
            Err(error) => Err(broken(self.at, &error)),
        }
    }
}

#[async_trait]
impl SqlSession for Session {
    async fn send(&mut self, statement: &[u8]) -> Result<serde_json::Value, Unanswered> {
        let mut room = LARGEST_REPLY;
        self.answer(statement, &mut room).await
    }
}

/// Logs in with the first password that is accepted, and sets the session up.
async fn connect(
    at: SocketAddr,
    login: &Credentials,
    settings: &[&str],
) -> Result<Session, Unanswered> {
    let mut refused = "it has no password".to_owned();
    for (password, value) in (0_u32..).zip(&login.passwords) {
        match Conn::new(options(at, &login.user, value, settings)).await {
            Ok(connection) => {
                return Ok(Session {
                    at,
                    connection,
                    password,
                    limit: None,
                });
            }
            Err(Error::Server(error)) if error.code == ACCESS_DENIED => refused = error.message,
            Err(error) => return Err(not_connected(at, &error)),
        }
    }
    Err(Unanswered::LoginRefused {
        at,
        user: login.user.clone(),
        why: refused,
    })
}

/// TLS always: passwords and statements that hold them go over this connection. A server makes its own
/// certificate, so it says nothing about who it is; the address, taken from the API server, does.
fn options(at: SocketAddr, user: &str, password: &SecretValue, settings: &[&str]) -> OptsBuilder {
    OptsBuilder::default()
        .ip_or_hostname(at.ip().to_string())
        .tcp_port(at.port())
        .user(Some(user))
        .pass(Some(String::from_utf8_lossy(password.expose())))
        .ssl_opts(SslOpts::default().with_danger_accept_invalid_certs(true))
        .prefer_socket(false)
        .max_allowed_packet(Some(LARGEST_PACKET))
        .wait_timeout(Some(28_800))
        .stmt_cache_size(0)
        .init(settings.to_vec())
}

fn not_connected(at: SocketAddr, error: &Error) -> Unanswered {
    Unanswered::NotConnected {
        at,
        why: in_words(error),
    }
}

fn broken(at: SocketAddr, error: &Error) -> Unanswered {
    Unanswered::Broken {
        at,
        why: in_words(error),
    }
}

/// A server's error as it says it: number, state, text.
fn in_words(error: &Error) -> String {
    match error {
        Error::Server(ServerError {
            code,
            state,
            message,
        }) => format!("{code} ({state}): {message}"),
        Error::Io(IoError::Io(error)) => error.to_string(),
        other => other.to_string(),
    }
}

/// Reads one result. What does not find room is read and thrown away, so that the session can go on.
async fn rows(
    connection: &mut Conn,
    statement: &[u8],
    room: &mut usize,
) -> Result<serde_json::Value, Error> {
    let mut result = connection.query_iter(statement).await?;
    let names = result.columns_ref().iter();
    let columns: Vec<String> = names.map(|column| column.name_str().into_owned()).collect();
    let mut rows = Vec::new();
    let mut fits = true;
    while let Some(row) = result.next().await? {
        let values = row.unwrap();
        let size: usize = values.iter().map(size).sum();
        match room.checked_sub(size).filter(|_| fits) {
            Some(left) => {
                *room = left;
                rows.push(values.into_iter().map(text).collect::<serde_json::Value>());
            }
            None => fits = false,
        }
    }
    result.drop_result().await?;
    match fits {
        true => Ok(json!({"columns": columns, "rows": rows})),
        false => Ok(told(0, "", "the reply is over 1 MiB: ask for less")),
    }
}

fn told(code: u16, state: &str, text: &str) -> serde_json::Value {
    json!({"error": {"code": code, "state": state, "text": text}})
}

/// What a value takes of a reply, its quotes and commas included.
fn size(value: &Value) -> usize {
    match value {
        Value::Bytes(bytes) => bytes.len() + 3,
        _ => 5,
    }
}

/// Every value is text in the protocol that statements without parameters use.
fn text(value: Value) -> serde_json::Value {
    match value {
        Value::NULL => serde_json::Value::Null,
        Value::Bytes(bytes) => json!(String::from_utf8_lossy(&bytes)),
        other => json!(other.as_sql(true).trim_matches('\'')),
    }
}
