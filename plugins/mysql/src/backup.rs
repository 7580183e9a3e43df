//! Backups: when one is due, of which instance, and what became of it.

use serde::Deserialize;

use crate::decide::{Decision, Wish};
use crate::names::BACKUP_NOW;
use crate::observe::{PodView, ServerView, View};
use crate::schedule;
use crate::serving;
use crate::spec::Backup;
use crate::status::{BackupRecord, BackupState, Primary};

/// A failed one is tried again after so long, in milliseconds.
const AGAIN: u64 = 10 * 60_000;
/// A Job whose Pod is nowhere to be seen for so long, or does not start, has failed, in milliseconds.
const VANISHED: u64 = 5 * 60_000;
/// How many are told in status.
const TOLD: usize = 20;
const DAY: u64 = 24 * 3_600_000;

/// What is known about the Pod of the backup that is being made.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum JobView {
    /// There is none.
    #[default]
    Absent,
    /// None of its containers has started, and why.
    Waiting(String),
    /// It has not ended.
    Running,
    /// It ended well, and says so.
    Succeeded(Told),
    /// It failed, and why.
    Failed(String),
}

/// What `windlass backup store` says in its termination message.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Told {
    /// Where the backup lies.
    pub at: String,
    /// Its size.
    pub bytes: u64,
    /// What the dump says of itself.
    pub facts: Facts,
    /// Why there is none.
    pub error: Option<String>,
}

/// What the dump says of itself.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Facts {
    /// The transactions that it holds.
    pub gtid: String,
}

/// Follows the backup that is being made, or begins one that is due.
pub fn keep(
    wish: &Wish<'_>,
    view: &View,
    primary: &Primary,
    server: &ServerView,
    decision: &mut Decision,
) {
    let Some(backup) = &wish.spec.backup else {
        return;
    };
    if is_running(decision) {
        return follow(view, decision);
    }
    forget(view, backup, decision);
    let Some(why) = due(view, backup, decision) else {
        return;
    };
    let Some(source) = source(wish, view, primary, server) else {
        return;
    };
    if let Some(asked) = view.annotations.get(BACKUP_NOW) {
        decision
            .record
            .followed
            .insert(BACKUP_NOW.to_owned(), asked.clone());
    }
    let id = schedule::name(view.now);
    decision.note(
        "BackupStarted",
        format!("{why}: {source} is dumped as {id}"),
    );
    decision
        .record
        .backups
        .insert(0, BackupRecord::begun(id, view.now, source));
}

/// Whether one is being made.
#[must_use]
pub fn is_running(decision: &Decision) -> bool {
    let newest = decision.record.backups.first();
    newest.is_some_and(|backup| backup.state == BackupState::Running)
}

/// Why one is due.
fn due(view: &View, backup: &Backup, decision: &Decision) -> Option<String> {
    let asked = view.annotations.get(BACKUP_NOW);
    if asked.is_some() && decision.record.followed.get(BACKUP_NOW) != asked {
        return Some(format!("the annotation {BACKUP_NOW} asks for a backup"));
    }
    let last = decision.record.backups.first();
    if let Some(last) = last.filter(|last| last.state == BackupState::Failed) {
        let ended = last.started + last.duration.unwrap_or(0);
        return (view.now >= ended + AGAIN)
            .then(|| format!("the backup {} failed and is made again", last.id));
    }
    let since = last.map_or(view.created, |last| last.started);
    let next = schedule::next(backup.schedule.as_ref()?, since).ok()?;
    (view.now >= next).then(|| "a backup is due".to_owned())
}

/// A replica that follows closely, the last by number; the primary where there is none to be.
fn source(wish: &Wish<'_>, view: &View, primary: &Primary, server: &ServerView) -> Option<String> {
    let fit = |pod: &&PodView| {
        serving::is_close(wish, &primary.pod, server, pod)
            && !view.record.errant.contains_key(&pod.name)
            && !wish.leaves(&pod.name)
    };
    let mut replicas: Vec<&PodView> = view.others(&primary.pod).filter(fit).collect();
    replicas.sort_by_key(|pod| wish.names.ordinal(&pod.name));
    match replicas.pop() {
        Some(pod) => Some(pod.name.clone()),
        None => (wish.spec.replicas == 1).then(|| primary.pod.clone()),
    }
}

fn follow(view: &View, decision: &mut Decision) {
    let Some(running) = decision.record.backups.first_mut() else {
        return;
    };
    running.duration = Some(view.now.saturating_sub(running.started));
    let id = running.id.clone();
    let is_young = view.now < running.started + VANISHED;
    let failed = match &view.job {
        JobView::Running => None,
        JobView::Absent | JobView::Waiting(_) if is_young => None,
        JobView::Absent => Some("its Pod is nowhere to be seen".to_owned()),
        JobView::Waiting(why) => Some(format!("its Pod does not start: {why}")),
        JobView::Failed(why) => Some(why.clone()),
        JobView::Succeeded(told) => {
            running.state = BackupState::Succeeded;
            running.location = Some(told.at.clone());
            running.size = Some(told.bytes);
            running.gtid_set = Some(told.facts.gtid.clone());
            let text = format!("the backup {id} of {} bytes is at {}", told.bytes, told.at);
            return decision.note("BackupSucceeded", text);
        }
    };
    let Some(why) = failed else {
        running.duration = None;
        return;
    };
    running.state = BackupState::Failed;
    running.why = Some(why.clone());
    decision.warn("BackupFailed", format!("the backup {id} failed: {why}"));
}

/// Status tells what is still there: what expired is removed where it lies by the next backup that succeeds.
fn forget(view: &View, backup: &Backup, decision: &mut Decision) {
    let keep = u64::try_from(backup.retention_days).unwrap_or(1) * DAY;
    let mut seen_success = false;
    decision.record.backups.retain(|backup| {
        let is_newest_success = backup.state == BackupState::Succeeded && !seen_success;
        seen_success |= is_newest_success;
        is_newest_success || view.now < backup.started + keep
    });
    decision.record.backups.truncate(TOLD);
}

impl BackupRecord {
    fn begun(id: String, now: u64, source: String) -> Self {
        Self {
            id,
            state: BackupState::Running,
            started: now,
            duration: None,
            source,
            location: None,
            size: None,
            gtid_set: None,
            why: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{AGAIN, DAY, Facts, JobView, Told, VANISHED};
    use crate::names::BACKUP_NOW;
    use crate::spec::Backup;
    use crate::status::BackupState;
    use crate::testing::{R2, Scene};

    fn scene() -> Scene {
        let mut scene = Scene::healthy();
        let backup = r#"{"schedule": "0 2 * * *"}"#;
        scene.spec.backup = Some(serde_json::from_str::<Backup>(backup).unwrap());
        scene
    }

    fn state(scene: &Scene) -> Option<BackupState> {
        scene.view.record.backups.first().map(|backup| backup.state)
    }

    #[test]
    fn one_is_made_from_a_replica_when_it_is_due() {
        let mut scene = scene();
        scene.step();
        assert_eq!(state(&scene), None);
        scene.view.now = 2 * 3_600_000;
        scene.view.created = scene.view.now - 10_000;
        scene.step();
        let backup = &scene.view.record.backups[0];
        assert_eq!(
            (backup.source.as_str(), backup.id.as_str()),
            (R2, "19700101-020000")
        );
    }

    #[test]
    fn one_is_made_once_for_each_value_of_the_annotation() {
        let mut scene = scene();
        scene.annotate(BACKUP_NOW, "before the upgrade");
        scene.step();
        scene.view.job = JobView::Succeeded(Told::default());
        scene.step();
        scene.step();
        assert_eq!(scene.view.record.backups.len(), 1);
        scene.annotate(BACKUP_NOW, "after it");
        scene.step();
        assert_eq!(scene.view.record.backups.len(), 2);
    }

    #[test]
    fn what_became_of_it_stands_in_status() {
        let mut scene = scene();
        scene.annotate(BACKUP_NOW, "1");
        scene.step();
        scene.view.now += 9_000;
        scene.view.job = JobView::Succeeded(Told {
            at: "s3://b/x".to_owned(),
            bytes: 7,
            facts: Facts {
                gtid: "u:1-3".to_owned(),
            },
            error: None,
        });
        assert!(scene.step().reasons().contains(&"BackupSucceeded"));
        let backup = &scene.view.record.backups[0];
        assert_eq!((backup.size, backup.duration), (Some(7), Some(9_000)));
        assert_eq!(backup.gtid_set.as_deref(), Some("u:1-3"));
    }

    #[test]
    fn a_failed_one_says_why_and_is_made_again() {
        let mut scene = scene();
        scene.annotate(BACKUP_NOW, "1");
        scene.step();
        scene.view.job = JobView::Failed("no such bucket".to_owned());
        let decision = scene.step();
        assert!(decision.reasons().contains(&"BackupFailed"));
        assert_eq!(
            scene.view.record.backups[0].why.as_deref(),
            Some("no such bucket")
        );
        scene.step();
        assert_eq!(state(&scene), Some(BackupState::Failed));
        scene.view.now += AGAIN;
        scene.step();
        assert_eq!(state(&scene), Some(BackupState::Running));
    }

    #[test]
    fn one_whose_pod_does_not_start_has_failed_after_five_minutes() {
        let mut scene = scene();
        scene.annotate(BACKUP_NOW, "1");
        scene.step();
        scene.view.job = JobView::Waiting("no such Secret".to_owned());
        scene.step();
        assert_eq!(state(&scene), Some(BackupState::Running));
        scene.view.now += VANISHED;
        scene.step();
        let why = scene.view.record.backups[0].why.as_deref();
        assert_eq!(why, Some("its Pod does not start: no such Secret"));
    }

    #[test]
    fn the_newest_that_succeeded_is_kept_however_old() {
        let mut scene = scene();
        scene.spec.backup.as_mut().unwrap().schedule = None;
        for value in ["1", "2"] {
            scene.annotate(BACKUP_NOW, value);
            scene.view.now += 60_000;
            scene.step();
            scene.view.job = JobView::Succeeded(Told::default());
            scene.step();
        }
        assert_eq!(scene.view.record.backups.len(), 2);
        scene.view.now += 8 * DAY;
        scene.step();
        assert_eq!(scene.view.record.backups.len(), 1);
    }
}
