//! What of the spec is not followed: named on the object, never ignored.

use crate::schedule;
use crate::spec::MySQLClusterSpec;
use crate::status::Record;
use crate::version;

/// Every field that is not followed, with why and what to do.
#[must_use]
pub fn refusals(spec: &MySQLClusterSpec, record: &Record) -> Vec<(String, String)> {
    let mut refused: Vec<(String, String)> = unsupported(spec)
        .map(|(field, why)| (field.to_owned(), why.to_owned()))
        .collect();
    if spec.image.is_none() && !version::is_supported(&spec.version) {
        refused.push(("spec.version".to_owned(), version::TOO_OLD.to_owned()));
    }
    let runs = record.version.as_ref();
    if let Some(runs) = runs.filter(|runs| spec.image.is_none() && **runs != spec.version) {
        let why = format!("upgrades are not run yet: instances stay at {runs}; set it back");
        refused.push(("spec.version".to_owned(), why));
    }
    let schedule = spec
        .backup
        .as_ref()
        .and_then(|backup| backup.schedule.as_ref());
    if let Some(why) = schedule.and_then(|schedule| schedule::next(schedule, 0).err()) {
        refused.push(("spec.backup.schedule".to_owned(), why));
    }
    refused
}

fn unsupported(spec: &MySQLClusterSpec) -> impl Iterator<Item = (&'static str, &'static str)> {
    let backup = spec.backup.as_ref();
    let not_yet = [
        (
            backup.is_some_and(|backup| backup.verify),
            "spec.backup.verify",
            "backups are not verified yet; set it to false",
        ),
        (
            backup.is_some_and(|backup| backup.before_deletion),
            "spec.backup.beforeDeletion",
            "no last backup is made yet; set it to false",
        ),
        (
            spec.restore.is_some(),
            "spec.restore",
            "restoring is not run yet; remove it and load the backup by hand",
        ),
        (
            spec.tls.is_some(),
            "spec.tls",
            "instances use certificates of their own making; remove it",
        ),
        (
            spec.password_rotation.is_some(),
            "spec.passwordRotation",
            "passwords are not rotated yet; remove it",
        ),
        (
            spec.monitoring.as_ref().is_some_and(|it| it.enabled),
            "spec.monitoring.enabled",
            "the exporter is not run yet; set it to false",
        ),
    ];
    let named = not_yet.into_iter().filter(|(asked, _, _)| *asked);
    named.map(|(_, field, why)| (field, why))
}
