//! Redis servers that were never started: three for each object, one primary and the replicas that follow it.
//!
//! Which server an address is follows from the address alone, so ten thousand objects cost no memory.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use serde_json::{Value, json};
use windlass::query::{
    Credentials, Databases, HttpCall, HttpReply, RedisReplies, RedisSession, SqlReplies,
    SqlSession, Unanswered,
};

// The plugin's own tests have such a server; one is enough.
#[allow(dead_code, reason = "nothing changes its role here")]
#[path = "../../../plugins/redis/tests/world/server.rs"]
mod server;

use server::Server;

/// Addresses that one object takes.
const STRIDE: u32 = 4;
/// Replicas of the sample.
const REPLICAS: u32 = 2;

/// `{"ok": …}` as the host answers.
fn ok(value: impl Into<Value>) -> Value {
    json!({"ok": value.into()})
}

/// The address of a server of the object of this number: the primary's place is 0, replicas follow.
pub fn address(object: u32, place: u32) -> Ipv4Addr {
    Ipv4Addr::from(u32::from(Ipv4Addr::new(10, 0, 0, 0)) + (object + 1) * STRIDE + place)
}

/// All of them.
#[derive(Clone, Default)]
pub struct MadeUp {
    /// What was set; the same on all.
    settings: Arc<Mutex<BTreeMap<String, String>>>,
}

impl MadeUp {
    fn at(&self, at: SocketAddr) -> Server {
        let number = match at.ip() {
            IpAddr::V4(ip) => u32::from(ip),
            IpAddr::V6(_) => 0,
        };
        let (primary, place) = (number - number % STRIDE, number % STRIDE);
        let ip = |number: u32| Ipv4Addr::from(number).to_string();
        let mut server = Server::boot(number).at(ip(number));
        server.replid = format!("data-{primary}");
        server.offset = 1000;
        let settings = self
            .settings
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        server.config.extend(settings);
        match place {
            0 => {
                server.master = None;
                let fed = (1..=REPLICAS).map(|place| (ip(primary + place), 1000));
                server.feeds = fed.collect();
            }
            _ => {
                server.master = Some(ip(primary));
                server.linked = true;
            }
        }
        server
    }
}

#[async_trait]
impl Databases for MadeUp {
    async fn redis(
        &self,
        at: SocketAddr,
        login: Option<&Credentials>,
        commands: &[Vec<String>],
        _: Duration,
    ) -> Result<RedisReplies, Unanswered> {
        Ok(RedisReplies {
            replies: self.at(at).answer(commands),
            password: login.map(|_| 0),
        })
    }

    async fn redis_session(
        &self,
        at: SocketAddr,
        _: Option<&Credentials>,
        _: Duration,
    ) -> Result<Box<dyn RedisSession>, Unanswered> {
        Ok(Box::new(Session {
            all: self.clone(),
            at,
        }))
    }

    async fn sql(
        &self,
        at: SocketAddr,
        _: &Credentials,
        _: &[String],
        _: Duration,
    ) -> Result<SqlReplies, Unanswered> {
        Err(absent(at))
    }

    async fn sql_session(
        &self,
        at: SocketAddr,
        _: &Credentials,
        _: Duration,
    ) -> Result<Box<dyn SqlSession>, Unanswered> {
        Err(absent(at))
    }

    async fn http(&self, call: HttpCall, _: Duration) -> Result<HttpReply, Unanswered> {
        Err(absent(call.at))
    }
}

fn absent(at: SocketAddr) -> Unanswered {
    Unanswered::NotConnected {
        at,
        why: "there are Redis servers only".to_owned(),
    }
}

struct Session {
    all: MadeUp,
    at: SocketAddr,
}

#[async_trait]
impl RedisSession for Session {
    async fn send(&mut self, command: &[Vec<u8>]) -> Result<Value, Unanswered> {
        let words: Vec<String> = command
            .iter()
            .map(|word| String::from_utf8_lossy(word).into_owned())
            .collect();
        match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
            ["CONFIG", "SET", name, value] => {
                let mut settings = self
                    .all
                    .settings
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner);
                settings.insert(name.to_owned(), value.to_owned());
                Ok(ok("OK"))
            }
            ["INFO" | "CONFIG", ..] => Ok(self.all.at(self.at).answer(&[words]).remove(0)),
            _ => Ok(ok("OK")),
        }
    }
}
