//! What authors of Windlass plugins in Rust write against.
//!
//! A plugin is a pure function: facts in, plan out. Write a [`Controller`] for each kind, describe the plugin
//! with [`Description`], and make the component with [`export!`]. README.md beside this crate shows a whole
//! plugin; `wit/README.md` is the contract.

mod action;
mod ask;
#[doc(hidden)]
pub mod bindings;
mod child;
mod condition;
mod context;
#[doc(hidden)]
pub mod controller;
mod describe;
mod digest;
mod error;
#[cfg(feature = "golden")]
pub mod golden;
#[cfg(not(target_arch = "wasm32"))]
pub mod harness;
pub mod http;
pub mod log;
pub mod name;
mod objects;
mod partial;
mod plan;
pub mod pod;
pub mod quantity;
pub mod redis;
mod requirement;
mod secret;
mod slot;
pub mod sql;
pub mod wire;

pub use action::{Action, RedisAction, Step, reference};
pub use ask::{Ask, Together};
pub use child::{Child, SecretManifest};
pub use condition::Conditions;
pub use context::Context;
pub use controller::Controller;
pub use describe::Description;
pub use digest::{digest, fingerprint};
pub use error::Error;
pub use objects::Query;
pub use partial::Partial;
pub use plan::Plan;
pub use secret::{SecretView, ValueView};
pub use slot::{Argument, Slot};
pub use wire::{Login, SecretKey};
