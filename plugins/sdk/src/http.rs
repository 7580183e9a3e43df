//! Asking HTTP servers.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Deserialize;

use crate::ask::Ask;
use crate::context::{Context, millis, unexpected};
use crate::error::Error;
use crate::wire::{Answer, HttpMethod, HttpQuery, HttpTarget, Question, Unreachable};

/// What an HTTP server answered.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct HttpReply {
    /// Such as 200.
    pub status: u16,
    /// By lower-case name.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// Empty for HEAD.
    #[serde(default)]
    pub body: String,
}

/// An HTTP query being put together.
#[must_use = "a question is asked by `get` or `Context::all`"]
pub struct HttpAsk<'c> {
    context: &'c Context<'c>,
    query: HttpQuery,
    stage: u32,
}

impl<'c> HttpAsk<'c> {
    pub(crate) fn new(context: &'c Context<'_>, target: HttpTarget, path: &str) -> Self {
        Self {
            context,
            query: HttpQuery {
                target,
                method: HttpMethod::Get,
                path: path.to_owned(),
                headers: Vec::new(),
                timeout: 1000,
            },
            stage: 0,
        }
    }

    /// HEAD instead of GET.
    pub fn head(mut self) -> Self {
        self.query.method = HttpMethod::Head;
        self
    }

    /// Adds a header; `Authorization`, `Cookie` and `Host` are refused.
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.query.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Connecting included. The default is one second.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.query.timeout = millis(timeout);
        self
    }

    /// Asks at this stage; see [`Ask::stage`].
    pub fn stage(mut self, stage: u32) -> Self {
        self.stage = stage;
        self
    }

    /// The question as a whole, to be asked together with others.
    pub fn ask(self) -> Ask<'c, Result<HttpReply, Unreachable>> {
        let questions = vec![Question::Http(self.query)];
        Ask::many(
            self.context,
            self.stage,
            questions,
            |answers| match answers {
                [Answer::Reply(reply)] => serde_json::from_str(&reply.body)
                    .map(Ok)
                    .map_err(|why| Error::unreadable("an HTTP reply", why)),
                [Answer::Unreachable(silence)] => Ok(Err(silence.clone())),
                [other] => Err(unexpected(other)),
                _ => Err(Error::NotYet),
            },
        )
    }

    /// The reply, or why there is none.
    ///
    /// # Errors
    /// [`Error::NotYet`] while the answer is missing, [`Error::Refused`] without the grant.
    pub fn get(self) -> Result<Result<HttpReply, Unreachable>, Error> {
        self.ask().get()
    }
}
