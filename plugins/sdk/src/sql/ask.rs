//! Putting a query on several servers together.

use std::collections::BTreeMap;
use std::time::Duration;

use kube::Resource;

use super::{SQL_PORT, SqlReply};
use crate::ask::Ask;
use crate::context::{Context, millis, unexpected};
use crate::error::Error;
use crate::redis::pod_port;
use crate::wire::{Answer, Login, PodPort, Question, SqlQuery, Unreachable};

/// What each Pod answered, by Pod name. A Pod that did not answer is a fact, not a failure.
pub type SqlReplies = BTreeMap<String, Result<SqlReply, Unreachable>>;

/// A query on several Pods being put together: add statements, then `get`.
#[must_use = "a question is asked by `get` or `Context::all`"]
pub struct SqlAsk<'c> {
    context: &'c Context<'c>,
    targets: Vec<PodPort>,
    login: Login,
    statements: Vec<String>,
    timeout: Duration,
    stage: u32,
}

impl<'c> SqlAsk<'c> {
    pub(crate) fn new<'p, P>(
        context: &'c Context<'_>,
        pods: impl IntoIterator<Item = &'p P>,
        login: Login,
    ) -> Self
    where
        P: Resource<DynamicType = ()> + 'p,
    {
        let targets = pods.into_iter().map(|pod| pod_port(pod, SQL_PORT));
        Self {
            context,
            targets: targets.collect(),
            login,
            statements: Vec::new(),
            timeout: Duration::from_secs(1),
            stage: 0,
        }
    }

    /// Adds one SELECT or SHOW; its answer is read by its index, counted from 0.
    pub fn query(mut self, statement: impl Into<String>) -> Self {
        self.statements.push(statement.into());
        self
    }

    /// Another port than 3306.
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
    pub fn ask(self) -> Ask<'c, SqlReplies> {
        let Self {
            context,
            targets,
            login,
            statements,
            timeout,
            stage,
        } = self;
        let names: Vec<String> = targets.iter().map(|target| target.pod.clone()).collect();
        let question = |target| {
            Question::Sql(SqlQuery {
                target,
                login: login.clone(),
                statements: statements.clone(),
                timeout: millis(timeout),
            })
        };
        let questions = targets.into_iter().map(question).collect();
        Ask::many(context, stage, questions, move |answers| {
            let replies = answers.iter().map(|answer| read_reply(answer));
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
    /// [`Error::NotYet`] while an answer is missing, [`Error::Refused`] without the grant or where a statement
    /// is none that a query may hold.
    pub fn get(self) -> Result<SqlReplies, Error> {
        self.ask().get()
    }
}

fn read_reply(answer: &Answer) -> Result<Result<SqlReply, Unreachable>, Error> {
    match answer {
        Answer::Reply(reply) => SqlReply::read(reply).map(Ok),
        Answer::Unreachable(silence) => Ok(Err(silence.clone())),
        other => Err(unexpected(other)),
    }
}
