//! How much of what nobody can undo a plugin does in a minute, all its objects together.
//!
//! A minute's worth may be done at once; what was done comes back little by little. A plan that has to wait has not
//! begun, and one that is discarded after it was let through has spent what it wanted.

use std::num::NonZeroU32;
use std::time::Duration;

use crate::plugin::Limits;
use crate::plugin::bindings::{ActionStep, Effect};

const MINUTE: Duration = Duration::from_secs(60);

/// What a plugin did of late.
#[derive(Debug, Default)]
pub(super) struct Spent {
    deletes: Bucket,
    evictions: Bucket,
}

/// What a plan waits for.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("the plan waits, and nothing of it is done yet: {limit} of {per_minute} is used up")]
pub(super) struct OverRate {
    /// As the Plugin names it.
    limit: &'static str,
    per_minute: NonZeroU32,
    /// Until it may be tried again.
    pub(super) wait: Duration,
}

impl Spent {
    /// Lets all of these actions through, or none. `now` is time since boot.
    pub(super) fn take(
        &mut self,
        steps: &[ActionStep],
        limits: &Limits,
        now: Duration,
    ) -> Result<(), OverRate> {
        let count = |counts: fn(&Effect) -> bool| {
            let actions = steps.iter().flat_map(|step| &step.actions);
            let counted = actions.filter(|action| counts(&action.effect)).count();
            u32::try_from(counted).unwrap_or(u32::MAX)
        };
        let deletes = count(|effect| matches!(effect, Effect::Delete(_)));
        let evictions = count(|effect| matches!(effect, Effect::Evict(_)));
        self.deletes
            .check(deletes, "deletesPerMinute", limits.deletes_per_minute, now)?;
        self.evictions.check(
            evictions,
            "evictionsPerMinute",
            limits.evictions_per_minute,
            now,
        )?;
        self.deletes.spend(deletes, limits.deletes_per_minute, now);
        self.evictions
            .spend(evictions, limits.evictions_per_minute, now);
        Ok(())
    }
}

/// What is left of one limit.
#[derive(Debug, Default)]
struct Bucket {
    /// When, since boot, all of it is there again.
    full_at: Duration,
}

impl Bucket {
    /// More than a minute's worth waits until all is there, or it would wait for ever.
    fn check(
        &self,
        count: u32,
        limit: &'static str,
        per_minute: NonZeroU32,
        now: Duration,
    ) -> Result<(), OverRate> {
        let missing = self.full_at.saturating_sub(now);
        let needed = cost(count, per_minute).min(MINUTE);
        let wait = (missing + needed).saturating_sub(MINUTE);
        match count == 0 || wait.is_zero() {
            true => Ok(()),
            false => Err(OverRate {
                limit,
                per_minute,
                wait,
            }),
        }
    }

    fn spend(&mut self, count: u32, per_minute: NonZeroU32, now: Duration) {
        if count > 0 {
            self.full_at = self.full_at.max(now) + cost(count, per_minute);
        }
    }
}

/// How long it takes until so much is there again.
fn cost(count: u32, per_minute: NonZeroU32) -> Duration {
    MINUTE * count / per_minute.get()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plugin::bindings::{Action, EvictAction, IfFailed};

    fn evictions(count: usize) -> Vec<ActionStep> {
        let action = |number: usize| Action {
            id: number.to_string(),
            effect: Effect::Evict(EvictAction {
                pod: "a".into(),
                uid: "u".into(),
            }),
            timeout: 1000,
            long: None,
        };
        vec![ActionStep {
            actions: (0..count).map(action).collect(),
            if_failed: IfFailed::Stop,
        }]
    }

    fn limits(per_minute: u32) -> Limits {
        Limits {
            evictions_per_minute: NonZeroU32::new(per_minute).unwrap(),
            ..Limits::default()
        }
    }

    fn second(second: u64) -> Duration {
        Duration::from_secs(1000 + second)
    }

    #[test]
    fn a_minutes_worth_goes_at_once_and_then_as_it_comes_back() {
        let (mut spent, limits) = (Spent::default(), limits(6));
        assert_eq!(spent.take(&evictions(6), &limits, second(0)), Ok(()));
        let over = spent.take(&evictions(1), &limits, second(0)).unwrap_err();
        assert_eq!(over.wait, Duration::from_secs(10));
        assert!(
            over.to_string().contains("evictionsPerMinute of 6"),
            "{over}"
        );
        assert_eq!(spent.take(&evictions(1), &limits, second(10)), Ok(()));
        assert!(spent.take(&evictions(1), &limits, second(19)).is_err());
        assert_eq!(spent.take(&evictions(2), &limits, second(30)), Ok(()));
    }

    #[test]
    fn more_than_a_minutes_worth_waits_for_all_of_it_and_not_for_ever() {
        let (mut spent, limits) = (Spent::default(), limits(6));
        assert_eq!(spent.take(&evictions(1), &limits, second(0)), Ok(()));
        assert!(spent.take(&evictions(60), &limits, second(9)).is_err());
        assert_eq!(spent.take(&evictions(60), &limits, second(10)), Ok(()));
        let over = spent.take(&evictions(1), &limits, second(10)).unwrap_err();
        assert_eq!(over.wait, Duration::from_secs(550));
    }

    #[test]
    fn what_deletes_and_evicts_nothing_never_waits() {
        let (mut spent, limits) = (Spent::default(), limits(1));
        assert_eq!(spent.take(&evictions(1), &limits, second(0)), Ok(()));
        assert_eq!(spent.take(&evictions(0), &limits, second(0)), Ok(()));
    }
}
