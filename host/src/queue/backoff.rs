//! How long an object waits after its rounds failed.

use std::time::Duration;

use backon::{BackoffBuilder, ExponentialBackoff, ExponentialBuilder};

const FIRST: Duration = Duration::from_millis(500);
const LONGEST: Duration = Duration::from_secs(300);

/// The waiting times of one failing object: half a second, doubled up to five minutes, each with up to as much
/// jitter.
#[derive(Debug)]
pub(super) struct Backoff(ExponentialBackoff);

impl Backoff {
    /// From the beginning; `seed` decides the jitter.
    pub(super) fn new(seed: u64) -> Self {
        let curve = ExponentialBuilder::new()
            .with_min_delay(FIRST)
            .with_max_delay(LONGEST);
        Self(
            curve
                .without_max_times()
                .with_jitter()
                .with_jitter_seed(seed)
                .build(),
        )
    }

    /// How long to wait after one more failure.
    pub(super) fn wait(&mut self) -> Duration {
        self.0.next().unwrap_or(LONGEST)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waiting_grows_to_its_end_and_is_never_longer_than_twice_that() {
        let mut backoff = Backoff::new(7);
        let waits: Vec<_> = (0..20).map(|_| backoff.wait()).collect();
        assert!(waits[0] >= FIRST && waits[0] < FIRST * 2);
        assert!(waits[5] >= FIRST * 32);
        assert!(waits.iter().all(|wait| *wait < LONGEST * 2));
        assert!(waits[19] >= LONGEST);
    }

    #[test]
    fn two_objects_that_fail_together_do_not_come_back_together() {
        let wait = |seed| Backoff::new(seed).wait();
        assert_ne!(wait(1), wait(2));
        assert_eq!(wait(1), wait(1));
    }
}
