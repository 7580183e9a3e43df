//! Asking Redis servers.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use kube::Resource;
use serde_json::Value;

use crate::ask::Ask;
use crate::context::{Context, millis, unexpected};
use crate::error::Error;
use crate::wire::{Answer, Login, PodPort, Question, RedisQuery, Reply, Unreachable};

/// The port that Redis listens on unless told otherwise.
pub const REDIS_PORT: u16 = 6379;

/// What each Pod answered, by Pod name. A Pod that did not answer is a fact, not a failure.
pub type RedisReplies = BTreeMap<String, Result<RedisReply, Unreachable>>;

/// A query on several Pods being put together: add read-only commands, then `get`.
#[must_use = "a question is asked by `get` or `Context::all`"]
pub struct RedisAsk<'c> {
    context: &'c Context<'c>,
    targets: Vec<PodPort>,
    login: Option<Login>,
    commands: Vec<Vec<String>>,
    timeout: Duration,
    stage: u32,
}

impl<'c> RedisAsk<'c> {
    pub(crate) fn new<'p, P>(
        context: &'c Context<'_>,
        pods: impl IntoIterator<Item = &'p P>,
        login: Option<Login>,
    ) -> Self
    where
        P: Resource<DynamicType = ()> + 'p,
    {
        Self {
            context,
            targets: pods
                .into_iter()
                .map(|pod| pod_port(pod, REDIS_PORT))
                .collect(),
            login,
            commands: Vec::new(),
            timeout: Duration::from_secs(1),
            stage: 0,
        }
    }

    /// Adds `INFO section`.
    pub fn info(self, section: &str) -> Self {
        self.command(&["INFO", section])
    }

    /// Adds `CONFIG GET` of these names, written out.
    pub fn config_get(self, names: &[&str]) -> Self {
        let words: Vec<&str> = ["CONFIG", "GET"].iter().chain(names).copied().collect();
        self.command(&words)
    }

    /// Adds any command that the contract lists as read-only.
    pub fn command(mut self, words: &[&str]) -> Self {
        self.commands
            .push(words.iter().map(|&word| word.to_owned()).collect());
        self
    }

    /// Another port than 6379.
    pub fn port(mut self, port: u16) -> Self {
        for target in &mut self.targets {
            target.port = port;
        }
        self
    }

    /// For the whole query on one Pod, connecting included. The default is one second.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Asks at this stage; see [`Ask::stage`].
    pub fn stage(mut self, stage: u32) -> Self {
        self.stage = stage;
        self
    }

    /// The question as a whole, to be asked together with others.
    pub fn ask(self) -> Ask<'c, RedisReplies> {
        let Self {
            context,
            targets,
            login,
            commands,
            timeout,
            stage,
        } = self;
        let names: Vec<String> = targets.iter().map(|target| target.pod.clone()).collect();
        let questions = targets
            .into_iter()
            .map(|target| {
                Question::Redis(RedisQuery {
                    target,
                    login: login.clone(),
                    commands: commands.clone(),
                    timeout: millis(timeout),
                })
            })
            .collect();
        let commands = Rc::new(commands);
        Ask::many(context, stage, questions, move |answers| {
            let replies = answers.iter().map(|answer| read_reply(answer, &commands));
            names
                .iter()
                .cloned()
                .zip(replies)
                .map(|(name, reply)| Ok((name, reply?)))
                .collect()
        })
    }

    /// What each Pod answered.
    ///
    /// # Errors
    /// [`Error::NotYet`] while an answer is missing, [`Error::Refused`] without the grant.
    pub fn get(self) -> Result<RedisReplies, Error> {
        self.ask().get()
    }
}

/// Names a port of a Pod.
#[must_use]
pub fn pod_port<P: Resource<DynamicType = ()>>(pod: &P, port: u16) -> PodPort {
    PodPort {
        pod: pod.meta().name.clone().unwrap_or_default(),
        uid: pod.meta().uid.clone().unwrap_or_default(),
        port,
    }
}

fn read_reply(
    answer: &Answer,
    commands: &Rc<Vec<Vec<String>>>,
) -> Result<Result<RedisReply, Unreachable>, Error> {
    match answer {
        Answer::Reply(reply) => RedisReply::read(reply, commands).map(Ok),
        Answer::Unreachable(silence) => Ok(Err(silence.clone())),
        other => Err(unexpected(other)),
    }
}

/// The replies of one server to the commands of one query.
#[derive(Debug, Clone, PartialEq)]
pub struct RedisReply {
    commands: Rc<Vec<Vec<String>>>,
    replies: Vec<Value>,
    password: Option<u32>,
}

impl RedisReply {
    fn read(reply: &Reply, commands: &Rc<Vec<Vec<String>>>) -> Result<Self, Error> {
        let replies: Vec<Value> = serde_json::from_str(&reply.body)
            .map_err(|why| Error::unreadable("a Redis reply", why))?;
        Ok(Self {
            commands: Rc::clone(commands),
            replies,
            password: reply.password,
        })
    }

    /// Which of the login's passwords was accepted, counted from 0.
    #[must_use]
    pub fn password(&self) -> Option<u32> {
        self.password
    }

    /// The reply to the command that begins with these words, or the server's error text; `None` when no such
    /// command was sent.
    #[must_use]
    pub fn command(&self, words: &[&str]) -> Option<Result<&Value, &str>> {
        let index = self.commands.iter().position(|sent| {
            sent.len() >= words.len()
                && sent
                    .iter()
                    .zip(words)
                    .all(|(a, b)| a.eq_ignore_ascii_case(b))
        })?;
        let reply = self.replies.get(index)?;
        match reply.get("error").and_then(Value::as_str) {
            Some(error) => Some(Err(error)),
            None => reply.get("ok").map(Ok),
        }
    }

    /// The first error among the replies, such as `LOADING Redis is loading the dataset in memory`.
    #[must_use]
    pub fn error(&self) -> Option<&str> {
        let mut errors = self.replies.iter();
        errors.find_map(|reply| reply.get("error").and_then(Value::as_str))
    }

    /// The fields of `INFO section`; empty when it was not asked or answered with an error.
    #[must_use]
    pub fn info(&self, section: &str) -> Info<'_> {
        let text = match self.command(&["INFO", section]) {
            Some(Ok(Value::String(text))) => text.as_str(),
            _ => "",
        };
        Info::read(text)
    }

    /// The settings that `CONFIG GET` answered; empty when it was not asked.
    #[must_use]
    pub fn config(&self) -> BTreeMap<String, String> {
        match self.command(&["CONFIG", "GET"]) {
            Some(Ok(Value::Object(map))) => map
                .iter()
                .map(|(name, value)| (name.clone(), word(value)))
                .collect(),
            Some(Ok(Value::Array(flat))) => flat
                .chunks_exact(2)
                .map(|pair| (word(&pair[0]), word(&pair[1])))
                .collect(),
            _ => BTreeMap::new(),
        }
    }
}

fn word(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}

/// The fields of an INFO section.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Info<'a>(BTreeMap<&'a str, &'a str>);

impl<'a> Info<'a> {
    fn read(text: &'a str) -> Self {
        Self(
            text.lines()
                .filter_map(|line| line.trim_end().split_once(':'))
                .collect(),
        )
    }

    /// A field as it was written.
    #[must_use]
    pub fn get(&self, field: &str) -> Option<&'a str> {
        self.0.get(field).copied()
    }

    /// A field as a number; `None` when it is absent or not a number.
    #[must_use]
    pub fn number<N: std::str::FromStr>(&self, field: &str) -> Option<N> {
        self.get(field)?.parse().ok()
    }

    /// True when the field is `1`.
    #[must_use]
    pub fn flag(&self, field: &str) -> bool {
        self.get(field) == Some("1")
    }

    /// All fields in the order of their names.
    pub fn fields(&self) -> impl Iterator<Item = (&'a str, &'a str)> {
        self.0.iter().map(|(name, value)| (*name, *value))
    }
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;

    use super::RedisReply;
    use crate::wire::Reply;

    fn reply(body: &str, commands: &[&[&str]]) -> RedisReply {
        let commands = commands
            .iter()
            .map(|words| words.iter().map(|&w| w.into()).collect());
        let reply = Reply {
            body: body.into(),
            password: None,
        };
        RedisReply::read(&reply, &Rc::new(commands.collect())).unwrap()
    }

    #[test]
    fn info_is_read_by_section() {
        let reply = reply(
            r##"[{"ok": "# Server\r\nrun_id:abc\r\n"}, {"ok": "# Replication\r\nrole:master\r\n"}]"##,
            &[&["INFO", "server"], &["INFO", "replication"]],
        );
        assert_eq!(reply.info("server").get("run_id"), Some("abc"));
        assert_eq!(reply.info("replication").get("role"), Some("master"));
        assert_eq!(reply.info("memory").get("role"), None);
    }

    #[test]
    fn settings_are_read_from_an_array_and_from_a_map() {
        for body in [
            r#"[{"ok": ["save", "", "maxmemory", "0"]}]"#,
            r#"[{"ok": {"save": "", "maxmemory": "0"}}]"#,
        ] {
            let config = reply(body, &[&["CONFIG", "GET", "save", "maxmemory"]]).config();
            assert_eq!(config.get("maxmemory").map(String::as_str), Some("0"));
            assert_eq!(config.get("save").map(String::as_str), Some(""));
        }
    }

    #[test]
    fn an_error_is_told_apart_from_a_reply() {
        let reply = reply(r#"[{"error": "NOPERM no"}]"#, &[&["PING"]]);
        assert_eq!(reply.command(&["ping"]), Some(Err("NOPERM no")));
        assert_eq!(reply.error(), Some("NOPERM no"));
    }
}
