//! The contract's types in Rust, generated from `wit/plugin.wit`, and the one place that names them.
//!
//! The rest of the host says `crate::plugin::bindings::{Request, Step, Plan, …}` and never reaches into the
//! generated modules. What each type means stands in the WIT file.

/// What `bindgen!` makes of the WIT package; its shape follows wasmtime's version.
#[allow(
    missing_docs,
    reason = "documented in wit/plugin.wit, as far as the generator carries it over"
)]
pub(super) mod generated {
    wasmtime::component::bindgen!({
        path: "../wit",
        world: "plugin",
        exports: { default: async },
        additional_derives: [PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize],
    });
}

use generated::exports::windlass::plugin::operator;
use generated::windlass::plugin as package;

pub use operator::{Deletion, Failure, Request, Running, Step};
pub use package::facts::{
    Answer, Detail, Fact, HttpMethod, HttpQuery, HttpTarget, Namespaces, ObjectQuery, Question,
    RedisQuery, Reply, Requirement, SqlQuery, Unreachable,
};
pub use package::log::Level;
pub use package::plans::{
    Action, ActionStep, Argument, Child, DeleteAction, Effect, Ended, Event, EvictAction,
    HttpAction, HttpActionMethod, IfFailed, Long, Measurement, Metric, Outcome, Part, PatchAction,
    Plan, RedisAction, RedisGuard, Refusal, Severity, SqlAction, SqlGuard, WhenDropped,
    WhenImmutable, Write,
};
pub use package::types::{Duration, Json, Login, ObjectRef, PodPort, SecretKey, Timestamp};
