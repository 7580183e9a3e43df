//! For how long scenarios saw writes stop, and what was lost: read from what they print, told over all runs.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Mutex, PoisonError};

/// What one scenario saw happen to a client that writes.
#[derive(Clone, Debug, PartialEq)]
struct Pause {
    story: String,
    seconds: f64,
    lost: usize,
    acknowledged: usize,
}

impl Pause {
    /// Reads `STORY: no commit for 3.1 s; 0 of 512 acknowledged commits lost`.
    fn read(line: &str) -> Option<Self> {
        let (story, rest) = line.split_once(": no ")?;
        let (what, rest) = rest.split_once(" for ")?;
        let (seconds, rest) = rest.split_once(" s; ")?;
        let mut words = rest.split(' ');
        let lost = words.next()?.parse().ok()?;
        let acknowledged = words.nth(1)?.parse().ok()?;
        Some(Self {
            // Redis' clients write and MySQL's commit, in stories of one name.
            story: format!("{story}, no {what}"),
            seconds: seconds.parse().ok()?,
            lost,
            acknowledged,
        })
    }
}

/// All pauses of a run of tests.
#[derive(Debug, Default)]
pub(super) struct Pauses(Mutex<Vec<Pause>>);

impl Pauses {
    /// Takes in what a test program printed.
    pub(super) fn take(&self, output: &str) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.extend(output.lines().filter_map(Pause::read));
    }
}

/// Stands above the stories.
const HEADING: &str = "for how long";

/// A table of the stories that happened several times; nothing where none did.
impl fmt::Display for Pauses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut stories: BTreeMap<&str, Vec<&Pause>> = BTreeMap::new();
        for pause in &*all {
            stories.entry(&pause.story).or_default().push(pause);
        }
        stories.retain(|_, pauses| pauses.len() > 1);
        if stories.is_empty() {
            return Ok(());
        }
        let widest = stories.keys().map(|story| story.len()).max();
        let width = widest.unwrap_or_default().max(HEADING.len());
        writeln!(
            f,
            "{:<width$}  {:>4}  {:>8}  {:>8}  lost of acknowledged",
            HEADING, "runs", "median", "worst"
        )?;
        for (story, pauses) in stories {
            let mut seconds: Vec<f64> = pauses.iter().map(|pause| pause.seconds).collect();
            seconds.sort_by(f64::total_cmp);
            let count =
                |of: fn(&Pause) -> usize| pauses.iter().map(|pause| of(pause)).sum::<usize>();
            writeln!(
                f,
                "{story:<width$}  {:>4}  {:>6.1} s  {:>6.1} s  {} of {}",
                pauses.len(),
                seconds[seconds.len() / 2],
                seconds[seconds.len() - 1],
                count(|pause| pause.lost),
                count(|pause| pause.acknowledged),
            )?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::Pauses;

    #[test]
    fn stories_that_happened_several_times_are_summed_up() {
        let pauses = Pauses::default();
        pauses.take(
            "running 2 tests\n\
             primary killed: no commit for 3.0 s; 0 of 400 acknowledged commits lost\n\
             primary killed: no write for 1.0 s; 0 of 10 acknowledged writes lost\n",
        );
        pauses.take("primary killed: no commit for 5.5 s; 2 of 100 acknowledged commits lost\n");
        pauses.take("primary killed: no commit for 4.0 s; 0 of 200 acknowledged commits lost\n");
        let table = pauses.to_string();
        assert_eq!(
            table.lines().last(),
            Some("primary killed, no commit     3     4.0 s     5.5 s  2 of 700")
        );
        assert!(!table.contains("no write"), "{table}");
    }

    #[test]
    fn where_nothing_was_repeated_nothing_is_told() {
        let pauses = Pauses::default();
        pauses.take("one: no write for 1.0 s; 0 of 10 acknowledged writes lost\ntest x ... ok: no commit for y");
        assert_eq!(pauses.to_string(), "");
    }
}
