//! Cron's five fields, in UTC.

use croner::Cron;
use croner::parser::{CronParser, Seconds, Year};
use k8s_openapi::jiff::Timestamp;
use k8s_openapi::jiff::tz::TimeZone;

/// The first time after `after` that the schedule names, in milliseconds since 1970.
///
/// # Errors
/// What is wrong with the schedule, in words.
pub fn next(schedule: &str, after: u64) -> Result<u64, String> {
    let cron = parse(schedule)?;
    let after = i64::try_from(after).map_err(|why| why.to_string())?;
    let after = Timestamp::from_millisecond(after).map_err(|why| why.to_string())?;
    let next = cron
        .find_next_occurrence(&after.to_zoned(TimeZone::UTC), false)
        .map_err(|why| format!("{schedule:?} names no time: {why}"))?;
    u64::try_from(next.timestamp().as_millisecond()).map_err(|why| why.to_string())
}

fn parse(schedule: &str) -> Result<Cron, String> {
    let parser = CronParser::builder()
        .seconds(Seconds::Disallowed)
        .year(Year::Disallowed)
        .build();
    parser
        .parse(schedule)
        .map_err(|why| format!("{schedule:?} is no schedule of five fields: {why}"))
}

/// A moment as a name: `20261130-020000`.
#[must_use]
pub fn name(moment: u64) -> String {
    let moment = i64::try_from(moment).unwrap_or(0);
    let moment = Timestamp::from_millisecond(moment).unwrap_or_default();
    moment.strftime("%Y%m%d-%H%M%S").to_string()
}

#[cfg(test)]
mod tests {
    use super::{name, next};

    const DAY: u64 = 24 * 3600 * 1000;

    #[test]
    fn the_next_time_is_after_the_given_one() {
        for (schedule, after, expected) in [
            ("0 2 * * *", 0, 2 * 3_600_000),
            ("0 2 * * *", 2 * 3_600_000, DAY + 2 * 3_600_000),
            ("*/15 * * * *", 1, 900_000),
            ("30 4 1 * *", DAY, 31 * DAY + 4 * 3_600_000 + 1_800_000),
        ] {
            assert_eq!(
                next(schedule, after),
                Ok(expected),
                "{schedule} after {after}"
            );
        }
    }

    #[test]
    fn what_is_no_schedule_is_said_to_be_none() {
        for schedule in ["", "0 2 * *", "0 0 2 * * *", "61 * * * *", "0 2 30 2 *"] {
            assert!(next(schedule, 0).is_err(), "{schedule}");
        }
    }

    #[test]
    fn a_moment_is_named_by_its_date_and_time() {
        assert_eq!(name(1_796_004_000_000), "20261130-020000");
    }
}
