//! What the rest of the host sees of a plugin.

use async_trait::async_trait;

use crate::plugin::bindings::{Request, Step};
use crate::plugin::call_error::CallError;
use crate::plugin::description::Description;

/// Something that decides: a component, or in tests and benchmarks the same code compiled natively.
///
/// Guarantees that the host builds on: a call changes nothing outside, the same request gives the same step, and
/// dropping the future of a call leaves the operator usable.
#[async_trait]
pub trait Operator: Send + Sync + 'static {
    /// What the administrator calls it.
    fn name(&self) -> &str;

    /// What it says about itself.
    fn description(&self) -> &Description;

    /// Decides about an object that should exist.
    ///
    /// # Errors
    /// The author's own answer, or what the plugin did wrong.
    async fn reconcile(&self, request: &Request) -> Result<Step, CallError>;

    /// Decides about an object that is being deleted.
    ///
    /// # Errors
    /// As [`reconcile`](Self::reconcile).
    async fn finalize(&self, request: &Request) -> Result<Step, CallError>;
}
