//! The types that cross between host and plugin, as `wit/plugin.wit` documents them.
//!
//! Most plugins meet them only in tests; [`crate::Context`] and [`crate::Plan`] wrap them.

pub use crate::bindings::exports::windlass::plugin::operator::{
    Deletion, Failure, Guest, Request, Running, Step,
};
pub use crate::bindings::windlass::plugin::facts::{
    Answer, Detail, Fact, HttpMethod, HttpQuery, HttpTarget, Namespaces, ObjectQuery, Question,
    RedisQuery, Reply, Requirement, SqlQuery, Unreachable,
};
pub use crate::bindings::windlass::plugin::plans::{
    Action, ActionStep, Argument, Child, DeleteAction, Effect, Ended, Event, EvictAction,
    HttpAction, HttpActionMethod, IfFailed, Long, Measurement, Metric, Outcome, Part, PatchAction,
    Plan, RedisAction, RedisGuard, Refusal, Severity, SqlAction, SqlGuard, WhenDropped,
    WhenImmutable, Write,
};
pub use crate::bindings::windlass::plugin::types::{Login, ObjectRef, PodPort, SecretKey};
