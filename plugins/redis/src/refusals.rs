//! What of the spec is not followed: named on the object, never ignored.

use std::collections::BTreeMap;

use windlass_sdk::Context;
use windlass_sdk::wire::Ended;

use crate::names::SIZE;
use crate::settings::{Settings, every_minutes, field};
use crate::spec::RedisSpec;
use crate::status::{Record, Rejected};

/// Every field that is not followed, with why and what to do.
#[must_use]
pub fn refusals(spec: &RedisSpec, settings: &Settings, record: &Record) -> Vec<(String, String)> {
    let refused = settings
        .refused
        .iter()
        .map(|(name, why)| (field(name), why.clone()));
    unsupported(spec)
        .chain(refused)
        .chain(size(spec, record))
        .collect()
}

fn unsupported(spec: &RedisSpec) -> impl Iterator<Item = (String, String)> {
    let not_yet = [
        (
            spec.sentinel.as_ref().is_some_and(|it| it.enabled),
            "spec.sentinel.enabled",
            "Sentinels are not run yet; the operator fails over by itself. Set it to false",
        ),
        (
            spec.backup.is_some(),
            "spec.backup",
            "backups are not run yet; remove it",
        ),
        (
            spec.monitoring.as_ref().is_some_and(|it| it.enabled),
            "spec.monitoring.enabled",
            "the exporter is not run yet; set it to false",
        ),
        (
            spec.autoscaling.as_ref().is_some_and(|it| it.enabled),
            "spec.autoscaling.enabled",
            "autoscaling is not run yet; set it to false",
        ),
        (
            spec.persistence
                .rdb_schedule
                .as_ref()
                .is_some_and(|it| every_minutes(it).is_none()),
            "spec.persistence.rdbSchedule",
            "only */N * * * * is followed, every N minutes; Redis' default applies",
        ),
    ];
    let named = not_yet.into_iter().filter(|(asked, _, _)| *asked);
    named.map(|(_, field, why)| (field.to_owned(), why.to_owned()))
}

fn size(spec: &RedisSpec, record: &Record) -> Option<(String, String)> {
    let rejected = record.rejected.get(SIZE)?;
    (rejected.value == spec.persistence.size.text())
        .then(|| (SIZE.to_owned(), rejected.why.clone()))
}

/// Notes in the record what was tried and refused, and forgets what the spec no longer asks for.
pub fn remember_rejected(cx: &Context<'_>, spec: &RedisSpec, record: &mut Record) {
    let wanted = wanted(spec);
    for (id, ended) in cx.outcomes() {
        let Ended::Failed(why) = ended else { continue };
        let field = match id.split('/').collect::<Vec<_>>().as_slice() {
            ["set", _, name] if is_refusal(why) => field(name),
            ["grow", _] if is_forbidden(why) => SIZE.to_owned(),
            _ => continue,
        };
        if let Some(value) = wanted.get(&field) {
            let why = why.clone();
            record.rejected.insert(
                field,
                Rejected {
                    value: value.clone(),
                    why,
                },
            );
        }
    }
    record
        .rejected
        .retain(|field, rejected| wanted.get(field) == Some(&rejected.value));
}

/// The values of the fields that may be refused.
fn wanted(spec: &RedisSpec) -> BTreeMap<String, String> {
    let settings = spec.settings.iter();
    let mut wanted: BTreeMap<String, String> = settings
        .map(|(name, value)| (field(&name.to_ascii_lowercase()), value.clone()))
        .collect();
    wanted.insert(SIZE.to_owned(), spec.persistence.size.text());
    wanted
}

/// Redis' own words: anything else, such as a lost connection, may pass.
fn is_refusal(why: &str) -> bool {
    why.contains("CONFIG SET failed") || why.contains("Unknown option")
}

fn is_forbidden(why: &str) -> bool {
    why.to_ascii_lowercase().contains("forbidden")
}
