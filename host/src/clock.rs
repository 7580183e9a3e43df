//! The one place where time enters the host.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Tells the time. The simulator has its own.
///
/// Deadlines inside the host are tokio's, which a test may pause; this trait is for the two times that tokio
/// does not know: the calendar, and a monotonic clock that also runs while the machine is suspended, on which
/// the lease's end is kept.
pub trait Clock: Send + Sync + 'static {
    /// Milliseconds since the Unix epoch.
    fn now(&self) -> u64;

    /// Time since some fixed moment; never jumps, and runs on during a suspend.
    fn since_boot(&self) -> Duration;
}

/// A clock that rooms share.
pub type SharedClock = Arc<dyn Clock>;

/// The machine's clocks.
#[derive(Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> u64 {
        let since = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
    }

    fn since_boot(&self) -> Duration {
        nix::time::clock_gettime(nix::time::ClockId::CLOCK_BOOTTIME)
            .map(Duration::from)
            .unwrap_or_default()
    }
}
