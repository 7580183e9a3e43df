//! Which backups there are, and which have expired.

use std::time::Duration;

use anyhow::Context;
use jiff::Timestamp;

use super::manifest::{BEGUN, Begun, COMPLETE, Manifest};
use super::place::Place;

/// How long a broken attempt may still be under way.
const ATTEMPT: Duration = Duration::from_secs(24 * 3600);

/// What lies at a place.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Found {
    /// Complete backups, oldest first.
    pub(super) complete: Vec<Manifest>,
    /// Attempts that did not come to their end: name, and when they were begun.
    pub(super) broken: Vec<(String, Timestamp)>,
}

/// Looks at every folder of the place; one without `begun.json` is not ours.
///
/// # Errors
/// When the place does not answer, or a manifest cannot be read.
pub(super) async fn found(place: &Place) -> anyhow::Result<Found> {
    let mut found = Found::default();
    for name in place.names().await? {
        let Some(begun) = place.read(&place.key(&name, [BEGUN])).await? else {
            continue;
        };
        let unread = |file: &str| format!("failed to read {}/{file}", place.shown(&name));
        match place.read(&place.key(&name, [COMPLETE])).await? {
            Some(text) => {
                let manifest = serde_json::from_slice(&text);
                found
                    .complete
                    .push(manifest.with_context(|| unread(COMPLETE))?);
            }
            None => {
                let begun: Begun = serde_json::from_slice(&begun).with_context(|| unread(BEGUN))?;
                found.broken.push((name, begun.begun));
            }
        }
    }
    found.complete.sort_by_key(|manifest| manifest.finished);
    Ok(found)
}

/// Removes what has expired; returns the names.
///
/// # Errors
/// When the place does not answer or does not let something go. What was removed so far stays removed.
pub(super) async fn prune(place: &Place, keep: Duration, now: u64) -> anyhow::Result<Vec<String>> {
    let now = Timestamp::from_millisecond(i64::try_from(now)?)?;
    let expired = expired(&found(place).await?, keep, now);
    for name in &expired {
        remove(place, name).await?;
    }
    Ok(expired)
}

/// Removes all of one backup. What makes it complete goes first, what makes it ours last: cut short, it is a
/// broken attempt.
pub(super) async fn remove(place: &Place, name: &str) -> anyhow::Result<()> {
    let (complete, begun) = (place.key(name, [COMPLETE]), place.key(name, [BEGUN]));
    place.remove(&complete).await?;
    for object in place.objects(name).await? {
        if object.location != begun {
            place.remove(&object.location).await?;
        }
    }
    place.remove(&begun).await
}

/// The names of what has expired. The newest complete backup never has: where backups fail, the last good one
/// stays.
fn expired(found: &Found, keep: Duration, now: Timestamp) -> Vec<String> {
    let Found { complete, broken } = found;
    let older = |when: Timestamp, age: Duration| {
        Duration::try_from(now.duration_since(when)).is_ok_and(|since| since > age)
    };
    let all_but_newest = &complete[..complete.len().saturating_sub(1)];
    let complete = all_but_newest
        .iter()
        .filter(|manifest| older(manifest.finished, keep))
        .map(|manifest| &manifest.name);
    let broken = broken
        .iter()
        .filter(|(_, begun)| older(*begun, ATTEMPT))
        .map(|(name, _)| name);
    complete.chain(broken).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: u32 = 24;

    fn at(hours: u32) -> Timestamp {
        Timestamp::from_second(i64::from(hours) * 3600).unwrap()
    }

    fn backup(name: &str, hours: u32) -> Manifest {
        Manifest {
            name: name.into(),
            begun: at(hours),
            finished: at(hours),
            bytes: 0,
            sha256: String::new(),
            files: Vec::new(),
            facts: Default::default(),
        }
    }

    #[test]
    fn what_is_older_than_it_is_kept_has_expired_but_the_newest_never() {
        let week = Duration::from_secs(7 * 24 * 3600);
        let now = at(30 * DAY);
        for (name, complete, expected) in [
            ("nothing there", vec![], vec![]),
            ("one, and old", vec![backup("a", 0)], vec![]),
            (
                "two old ones",
                vec![backup("a", 0), backup("b", 1)],
                vec!["a"],
            ),
            (
                "old and new",
                vec![
                    backup("a", 0),
                    backup("b", 22 * DAY),
                    backup("c", 23 * DAY),
                    backup("d", 29 * DAY),
                ],
                vec!["a", "b"],
            ),
            (
                "from the future",
                vec![backup("a", 60 * DAY), backup("b", 61 * DAY)],
                vec![],
            ),
        ] {
            let found = Found {
                complete,
                broken: Vec::new(),
            };
            assert_eq!(expired(&found, week, now), expected, "{name}");
        }
    }

    #[test]
    fn a_broken_attempt_goes_after_a_day_and_is_no_newest_backup() {
        let found = Found {
            complete: vec![backup("a", 0)],
            broken: vec![("b".into(), at(1)), ("c".into(), at(47))],
        };
        let expired = expired(&found, Duration::from_secs(3600), at(2 * DAY));
        assert_eq!(expired, ["b"]);
    }
}
