//! The one place where chance enters the host.

use std::sync::Arc;

use rand::Rng;

/// A source of random bytes. The simulator has its own, with a seed.
pub trait Entropy: Send + Sync + 'static {
    /// Fills `bytes`.
    fn fill(&self, bytes: &mut [u8]);
}

/// A source that rooms share.
pub type SharedEntropy = Arc<dyn Entropy>;

/// The machine's cryptographic generator.
#[derive(Debug, Default)]
pub struct SystemEntropy;

impl Entropy for SystemEntropy {
    fn fill(&self, bytes: &mut [u8]) {
        rand::rng().fill_bytes(bytes);
    }
}
