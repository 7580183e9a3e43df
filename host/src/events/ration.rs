//! How many Events one object may get, and which say the same again.

use std::collections::HashMap;

use crate::events::{BURST, REFILL};

/// An Event that was not said for so long, in milliseconds, is said anew.
const FRESH: u64 = 600_000;
/// A repeated Event's count is written at most once in so many milliseconds.
const COUNT_EVERY: u64 = 60_000;

/// What to do about one Event.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Write it under this name.
    First(String),
    /// Count it on the one that stands.
    Again(Series),
    /// Counted in memory; the count is written later.
    Silent,
    /// The object had too many.
    TooMany,
}

/// An Event that stands, and how often it was said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Series {
    pub(super) name: String,
    pub(super) count: i32,
}

#[derive(Debug)]
struct Said {
    series: Series,
    last: u64,
    written: u64,
}

/// What one object has left.
#[derive(Debug, Default)]
pub(super) struct Ration {
    said: HashMap<String, Said>,
    spent: u32,
    refilled: u64,
}

impl Ration {
    /// Asks to say at the time `now`, in milliseconds, what goes by `name`.
    pub(super) fn ask(&mut self, name: &str, now: u64) -> Verdict {
        self.said
            .retain(|_, said| now.saturating_sub(said.last) < FRESH);
        if let Some(said) = self.said.get_mut(name) {
            said.last = now;
            said.series.count = said.series.count.saturating_add(1);
            // A count of one is what the first Event says; the second is written at once.
            if said.series.count > 2 && now.saturating_sub(said.written) < COUNT_EVERY {
                return Verdict::Silent;
            }
            said.written = now;
            return Verdict::Again(said.series.clone());
        }
        if !self.spend(now) {
            return Verdict::TooMany;
        }
        let (about, digest) = name.rsplit_once('.').unwrap_or((name, ""));
        let unique = format!("{about}.{now:x}{digest}");
        let series = Series {
            name: unique.clone(),
            count: 1,
        };
        self.said.insert(
            name.to_owned(),
            Said {
                series,
                last: now,
                written: now,
            },
        );
        Verdict::First(unique)
    }

    fn spend(&mut self, now: u64) -> bool {
        let refills = now.saturating_sub(self.refilled) / REFILL;
        let refills = u32::try_from(refills).unwrap_or(u32::MAX);
        if refills > 0 {
            self.spent = self.spent.saturating_sub(refills);
            self.refilled = now;
        }
        let left = self.spent < BURST;
        self.spent += u32::from(left);
        left
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: u64 = 1_700_000_000_000;

    #[test]
    fn what_is_said_again_is_counted_on_the_first() {
        let mut ration = Ration::default();
        let Verdict::First(name) = ration.ask("a.1", START) else {
            panic!("not first")
        };
        let twice = Series {
            name: name.clone(),
            count: 2,
        };
        assert_eq!(ration.ask("a.1", START + 1), Verdict::Again(twice));
        assert_eq!(ration.ask("a.1", START + 2), Verdict::Silent);
        let later = Series { name, count: 4 };
        assert_eq!(
            ration.ask("a.1", START + 2 + COUNT_EVERY),
            Verdict::Again(later)
        );
        let long_after = START + 3 * FRESH;
        assert!(matches!(ration.ask("a.1", long_after), Verdict::First(_)));
    }

    #[test]
    fn a_flood_is_cut_and_a_little_later_there_is_room_again() {
        let mut ration = Ration::default();
        for number in 0..BURST {
            assert!(matches!(
                ration.ask(&format!("a.{number}"), START),
                Verdict::First(_)
            ));
        }
        assert_eq!(ration.ask("a.x", START), Verdict::TooMany);
        assert!(matches!(
            ration.ask("a.x", START + REFILL),
            Verdict::First(_)
        ));
        assert_eq!(ration.ask("a.y", START + REFILL), Verdict::TooMany);
    }
}
