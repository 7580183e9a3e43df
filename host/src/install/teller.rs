//! When a Plugin's status is written: again ever more rarely where the API server does not take it.

use std::time::Duration;

use backon::ExponentialBackoff;
use tokio::time::Instant;

use super::worker::{LONGEST_WAIT, backoff};
use crate::cluster::ClusterError;

/// Whether and when to write, and what the log says of a failure.
#[derive(Default)]
pub(super) struct Teller {
    failing: Option<Failing>,
}

struct Failing {
    waits: ExponentialBackoff,
    until: Instant,
}

impl Teller {
    /// Whether to try now.
    pub(super) fn is_due(&self) -> bool {
        let waits = |failing: &Failing| Instant::now() < failing.until;
        !self.failing.as_ref().is_some_and(waits)
    }

    /// It was taken.
    pub(super) fn succeeded(&mut self) {
        self.failing = None;
    }

    /// It was not taken. Says what to log: nothing where that was said already.
    pub(super) fn failed(&mut self, error: &ClusterError) -> Option<String> {
        let said = self.failing.is_some();
        let failing = self.failing.get_or_insert_with(|| Failing {
            waits: backoff(),
            until: Instant::now(),
        });
        let wait: Duration = failing.waits.next().unwrap_or(LONGEST_WAIT);
        failing.until = Instant::now() + wait;
        (!said).then(|| told(error))
    }
}

/// What the API server answers where it does not know status, or not all of it.
const UNKNOWN: [u16; 2] = [422, 500];

fn told(error: &ClusterError) -> String {
    match error.code() {
        Some(code) if UNKNOWN.contains(&code) => format!(
            "{error}; the CustomResourceDefinition plugins.windlass.dev seems to be older than this host: apply crds/windlass.dev_plugins.yaml of this version"
        ),
        _ => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use kube::core::Status;

    use super::*;

    fn refused(code: u16) -> ClusterError {
        ClusterError::Refused {
            what: "write a Plugin's status".into(),
            source: Box::new(Status::failure("field not declared in schema", "").with_code(code)),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_not_taken_is_tried_ever_more_rarely_and_logged_once() {
        let mut teller = Teller::default();
        assert!(teller.is_due());
        let said = teller.failed(&refused(500)).expect("nothing was said");
        assert!(said.contains("crds/windlass.dev_plugins.yaml"), "{said}");
        let mut tries = 0;
        for _ in 0..360 {
            tokio::time::advance(Duration::from_secs(10)).await;
            if teller.is_due() {
                tries += 1;
                assert_eq!(teller.failed(&refused(500)), None);
            }
        }
        assert!((5..=20).contains(&tries), "{tries} tries in an hour");
        teller.succeeded();
        assert!(teller.is_due());
        assert!(teller.failed(&refused(500)).is_some());
    }

    #[test]
    fn other_errors_are_told_as_they_are() {
        assert!(!told(&refused(403)).contains("older"));
    }
}
