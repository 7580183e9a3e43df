//! Plugins: WebAssembly components without authority, and everything that loads, limits and calls them.
//!
//! The rest of the host sees an [`Operator`](operator::Operator): it is handed a request and answers with a step.
//! Behind it, in the order of a plugin's life:
//!
//! - [`configuration`]: what the administrator wants, and what is granted ([`grants`], [`limits`]);
//! - [`loader`]: fetches, compiles ([`compile`], `precompiled`), links against the `sandbox` and asks what it is
//!   ([`description`]);
//! - [`component`]: takes an instance from the `pool`, calls it (`instance`), samples whether it is deterministic
//!   (`sample`);
//! - [`contract`]: what a component says about itself before it runs; [`trial`]: a component called outside of a
//!   host, for its author;
//! - [`call_error`] and [`faults`]: how calls end without a step, and what follows for the object.
//!
//! What may not live here: anything that knows what a fact or a plan means. This room carries them.

pub mod bindings;
pub mod call_error;
mod capture;
pub mod compile;
pub mod component;
pub mod configuration;
pub mod contract;
pub mod description;
mod engine;
pub mod faults;
pub mod grants;
mod instance;
pub mod limits;
pub mod loader;
mod log;
pub mod operator;
mod pool;
mod precompiled;
mod sample;
mod sandbox;
mod size;
pub mod trial;

pub use call_error::{CallError, Fault};
pub use component::Plugin;
pub use configuration::PluginResource;
pub use description::Description;
pub use grants::{Grant, Grants};
pub use limits::Limits;
pub use loader::Loader;
pub use operator::Operator;
