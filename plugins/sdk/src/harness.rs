//! Running a controller natively against hand-made facts.

use std::collections::BTreeMap;

use kube::Resource;
use serde::Serialize;
use serde_json::Value;

use crate::controller::{self, Controller};
use crate::wire::{
    Answer, Deletion, Ended, Fact, Failure, Outcome, Plan, Question, RedisQuery, Reply, Request,
    Requirement, Running, SqlQuery, Step, Unreachable,
};

/// Calls a round may take; the host's limit.
const CALLS: usize = 16;

/// How a made-up Redis server answers one query.
pub type RedisAnswer = Box<dyn Fn(&RedisQuery) -> Result<Vec<Value>, Unreachable>>;

/// How a made-up MySQL server answers one query: `{"columns": […], "rows": […]}` or `{"error": {…}}` for each
/// statement.
pub type SqlAnswer = Box<dyn Fn(&SqlQuery) -> Result<Vec<Value>, Unreachable>>;

/// A made-up world for one object: facts by kind of requirement, children, outcomes, time.
///
/// ```text
/// let round = Harness::new(&object).now(60_000).objects("v1", "Pod", &pods).reconcile(&MyController);
/// assert_eq!(round.plan().events[0].reason, "FailoverStarted");
/// ```
pub struct Harness {
    request: Request,
    objects: BTreeMap<(String, String), Vec<Value>>,
    redis: BTreeMap<String, RedisAnswer>,
    sql: BTreeMap<String, SqlAnswer>,
}

/// What came of a round.
#[derive(Debug)]
pub struct Round {
    /// The plan, or why there is none.
    pub result: Result<Plan, Failure>,
    /// Everything that was asked, by the last call that asked.
    pub asked: Vec<Requirement>,
    /// How many calls it took.
    pub calls: usize,
}

impl Round {
    /// The plan.
    ///
    /// # Panics
    /// When the round failed; the failure is in the text.
    #[must_use]
    #[allow(clippy::panic)]
    pub fn plan(&self) -> &Plan {
        match &self.result {
            Ok(plan) => plan,
            Err(failure) => panic!("the round failed: {failure:?}"),
        }
    }
}

impl Harness {
    /// A world that holds this object and nothing else, at the time 0, with every grant to be added.
    pub fn new<O: Serialize>(object: &O) -> Self {
        Self {
            request: Request {
                object: json(object),
                children: Vec::new(),
                facts: Vec::new(),
                outcomes: Vec::new(),
                running: Vec::new(),
                available: Vec::new(),
                now: 0,
                config: "{}".to_owned(),
                deletion: None,
            },
            objects: BTreeMap::new(),
            redis: BTreeMap::new(),
            sql: BTreeMap::new(),
        }
    }

    /// The round's time in milliseconds.
    #[must_use]
    pub fn now(mut self, now: u64) -> Self {
        self.request.now = now;
        self
    }

    /// Grants that are given and served.
    #[must_use]
    pub fn available(mut self, grants: impl IntoIterator<Item = String>) -> Self {
        self.request.available.extend(grants);
        self.request.available.sort();
        self
    }

    /// A live child.
    #[must_use]
    pub fn child<K: Serialize>(mut self, child: &K) -> Self {
        self.request.children.push(json(child));
        self
    }

    /// How an action of an earlier plan ended.
    #[must_use]
    pub fn outcome(mut self, id: &str, ended: Ended) -> Self {
        self.request.outcomes.push(Outcome {
            id: id.to_owned(),
            ended,
        });
        self
    }

    /// A long action that runs since then.
    #[must_use]
    pub fn running(mut self, key: &str, since: u64) -> Self {
        self.request.running.push(Running {
            key: key.to_owned(),
            since,
        });
        self
    }

    /// The object is being deleted.
    #[must_use]
    pub fn deletion(mut self, deletion: Deletion) -> Self {
        self.request.deletion = Some(deletion);
        self
    }

    /// All objects of a kind, for `object` and `objects`. Selectors are taken as matching everything.
    #[must_use]
    pub fn objects<K>(mut self, objects: &[K]) -> Self
    where
        K: Resource<DynamicType = ()> + Serialize,
    {
        let key = (K::api_version(&()).into_owned(), K::kind(&()).into_owned());
        let values = objects
            .iter()
            .filter_map(|object| serde_json::to_value(object).ok());
        self.objects.entry(key).or_default().extend(values);
        self
    }

    /// Objects as JSON, such as Secrets as a plugin sees them.
    #[must_use]
    pub fn typeless(mut self, objects: impl IntoIterator<Item = Value>) -> Self {
        for object in objects {
            let key = (text(&object["apiVersion"]), text(&object["kind"]));
            self.objects.entry(key).or_default().push(object);
        }
        self
    }

    /// The Redis server in a Pod. One `{"ok": …}` or `{"error": …}` for each command; a Pod without a server
    /// does not answer.
    #[must_use]
    pub fn redis(
        mut self,
        pod: &str,
        answer: impl Fn(&RedisQuery) -> Result<Vec<Value>, Unreachable> + 'static,
    ) -> Self {
        self.redis.insert(pod.to_owned(), Box::new(answer));
        self
    }

    /// The MySQL server in a Pod; a Pod without a server does not answer.
    #[must_use]
    pub fn sql(
        mut self,
        pod: &str,
        answer: impl Fn(&SqlQuery) -> Result<Vec<Value>, Unreachable> + 'static,
    ) -> Self {
        self.sql.insert(pod.to_owned(), Box::new(answer));
        self
    }

    /// Runs `reconcile` until it plans or fails.
    pub fn reconcile<C: Controller>(self, of: &C) -> Round {
        self.run(|request| controller::reconcile(of, request))
    }

    /// Runs `finalize` until it plans or fails.
    pub fn finalize<C: Controller>(self, of: &C) -> Round {
        self.run(|request| controller::finalize(of, request))
    }

    fn run(mut self, call: impl Fn(&Request) -> Result<Step, Failure>) -> Round {
        let mut asked = Vec::new();
        for calls in 1..=CALLS {
            let result = match call(&self.request) {
                Ok(Step::Plan(plan)) => Ok(plan),
                Err(failure) => Err(failure),
                Ok(Step::Need(needed)) => {
                    self.answer(&needed);
                    asked = needed;
                    continue;
                }
            };
            return Round {
                result,
                asked,
                calls,
            };
        }
        Round {
            result: Err(Failure::Transient(format!("no plan after {CALLS} calls"))),
            asked,
            calls: CALLS,
        }
    }

    /// As the host does: what is asked anew at a stage drops the facts of all higher stages.
    fn answer(&mut self, needed: &[Requirement]) {
        let known = |id: &str| self.request.facts.iter().any(|fact| fact.id == id);
        let new_from = needed
            .iter()
            .filter(|need| !known(&need.id))
            .map(|need| need.stage)
            .min();
        let Some(stage) = new_from else { return };
        let dropped: Vec<&str> = needed
            .iter()
            .filter(|need| need.stage > stage)
            .map(|need| need.id.as_str())
            .collect();
        self.request
            .facts
            .retain(|fact| !dropped.contains(&fact.id.as_str()));
        for need in needed {
            if !self.request.facts.iter().any(|fact| fact.id == need.id) {
                let answer = self.look(&need.question);
                self.request.facts.push(Fact {
                    id: need.id.clone(),
                    answer,
                });
            }
        }
    }

    fn look(&self, question: &Question) -> Answer {
        match question {
            Question::Object(reference) => {
                let of_kind = self.of_kind(&reference.api_version, &reference.kind);
                let found = of_kind
                    .iter()
                    .find(|object| object["metadata"]["name"] == *reference.name);
                Answer::Object(found.map(ToString::to_string))
            }
            Question::Objects(query) => {
                let of_kind = self.of_kind(&query.api_version, &query.kind);
                Answer::Objects(of_kind.iter().map(ToString::to_string).collect())
            }
            Question::Redis(query) => told(
                self.redis
                    .get(&query.target.pod)
                    .map(|server| server(query)),
            ),
            Question::Sql(query) => {
                told(self.sql.get(&query.target.pod).map(|server| server(query)))
            }
            Question::Http(_) => Answer::Unreachable(nobody()),
        }
    }

    fn of_kind(&self, api_version: &str, kind: &str) -> &[Value] {
        let key = (api_version.to_owned(), kind.to_owned());
        self.objects.get(&key).map_or(&[], Vec::as_slice)
    }
}

/// What a database answered; `None` where there is none.
fn told(answered: Option<Result<Vec<Value>, Unreachable>>) -> Answer {
    match answered.unwrap_or_else(|| Err(nobody())) {
        Err(silence) => Answer::Unreachable(silence),
        Ok(replies) => Answer::Reply(Reply {
            body: Value::Array(replies).to_string(),
            password: Some(0),
        }),
    }
}

fn nobody() -> Unreachable {
    Unreachable {
        why: "connection refused".to_owned(),
        answered: false,
        since: 0,
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn json<T: Serialize>(value: &T) -> String {
    serde_json::to_string(value).unwrap_or_default()
}
