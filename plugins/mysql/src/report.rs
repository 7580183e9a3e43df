//! Status: what people read about a decision.

use windlass_sdk::{Conditions, Context};

use crate::decide::{Decision, State, Wish};
use crate::grants::Missing;
use crate::names::FORCE_PRIMARY;
use crate::observe::View;
use crate::serving;
use crate::spec::MySQLCluster;
use crate::status::{BackupRecord, BackupState, MySqlStatus, Phase};

/// A primary that is lost for longer has failed, in milliseconds: before, it may just be starting.
const FAILED: u64 = 60_000;

/// The status after this round.
#[must_use]
pub fn status(
    cluster: &MySQLCluster,
    cx: &Context<'_>,
    wish: &Wish<'_>,
    view: &View,
    decision: &Decision,
) -> MySqlStatus {
    let primary = decision
        .record
        .primary
        .as_ref()
        .map(|primary| primary.pod.clone());
    let mut conditions = received(cluster, cx);
    ready_condition(
        &mut conditions,
        primary.as_deref().unwrap_or_default(),
        &decision.state,
    );
    reconciled_condition(&mut conditions, decision);
    blocked_condition(&mut conditions, decision);
    forced_condition(&mut conditions, decision);
    backup_condition(&mut conditions, decision);
    complete_condition(&mut conditions, &Missing::of(cx));
    MySqlStatus {
        phase: Some(phase(view, decision)),
        ready_replicas: Some(ready_replicas(wish, view, decision)),
        master_node: primary,
        replicas: i32::try_from(view.pods.len()).ok(),
        selector: Some(wish.names.selector()),
        record: decision.record.clone(),
        observed_generation: None,
        conditions: conditions.into_list(),
        windlass: None,
    }
}

fn received(cluster: &MySQLCluster, cx: &Context<'_>) -> Conditions {
    let status = cluster.status.as_ref();
    let known = status.map_or(&[][..], |status| &status.conditions);
    Conditions::received(known, cx.metadata().generation, cx.time())
}

fn phase(view: &View, decision: &Decision) -> Phase {
    let was_ever_ready = decision.record.epoch > 1
        || view
            .record
            .primary
            .as_ref()
            .is_some_and(|it| it.writable_since.is_some());
    let missed = decision.record.missed_since;
    match &decision.state {
        State::Healthy | State::Degraded(_) | State::Cloning(_) | State::Switching(_) => {
            Phase::Running
        }
        State::Stuck(_) => Phase::Failed,
        State::Lost(_) if missed.is_some_and(|since| view.now >= since + FAILED) => Phase::Failed,
        _ if was_ever_ready => Phase::Pending,
        _ => Phase::Initializing,
    }
}

/// The primary while it takes writes, and the replicas that follow it closely.
fn ready_replicas(wish: &Wish<'_>, view: &View, decision: &Decision) -> i32 {
    let Some(primary) = decision
        .record
        .primary
        .as_ref()
        .filter(|_| decision.state.takes_writes())
    else {
        return 0;
    };
    let Some(server) = view.of_primary(primary) else {
        return 0;
    };
    let close = |pod: &&crate::observe::PodView| {
        let known = &decision.record.errant;
        !known.contains_key(&pod.name) && serving::is_close(wish, &primary.pod, server, pod)
    };
    let replicas = view.others(&primary.pod).filter(close).count();
    i32::try_from(replicas + 1).unwrap_or(i32::MAX)
}

fn ready_condition(conditions: &mut Conditions, primary: &str, state: &State) {
    let (status, reason, message) = match state {
        State::Healthy => ("True", "Healthy", format!("{primary} takes writes")),
        State::Degraded(what) => (
            "True",
            "Degraded",
            format!("{primary} takes writes; waits for {what}"),
        ),
        State::Cloning(what) => ("True", "Cloning", format!("{primary} takes writes; {what}")),
        State::Switching(to) => ("True", "Switching", format!("{primary} hands over to {to}")),
        State::Incomplete(what) => ("False", "Incomplete", format!("waits for {what}")),
        State::Opening(why) => ("False", "Opening", why.clone()),
        State::Doubtful(why) => ("Unknown", "Doubtful", why.clone()),
        State::Failed(why) => ("False", "Failed", why.clone()),
        State::Lost(why) => ("False", "Lost", why.clone()),
        State::Stuck(why) => ("False", "Stuck", why.clone()),
    };
    conditions.set("Ready", status, reason, message);
}

fn reconciled_condition(conditions: &mut Conditions, decision: &Decision) {
    match (&decision.state, &decision.pending) {
        (State::Healthy, None) => conditions.set("Reconciled", "True", "AsSpecified", ""),
        (state, Some(what)) if state.takes_writes() => {
            conditions.set(
                "Reconciled",
                "False",
                "InProgress",
                format!("waits for {what}"),
            );
        }
        (state, None) if state.takes_writes() => {
            conditions.set("Reconciled", "False", "InProgress", "");
        }
        _ => {
            let text = "waits for a primary that takes writes";
            conditions.set("Reconciled", "False", "NoPrimary", text);
        }
    }
}

/// There only while writes wait.
fn blocked_condition(conditions: &mut Conditions, decision: &Decision) {
    match &decision.blocked {
        Some(why) => conditions.set("WritesBlocked", "True", "TooFewVoters", why),
        None => conditions.clear("WritesBlocked"),
    }
}

/// There only while a person's choice of primary is.
fn forced_condition(conditions: &mut Conditions, decision: &Decision) {
    let record = &decision.record;
    let refused = record.refused.get(FORCE_PRIMARY);
    let followed = record.followed.get(FORCE_PRIMARY);
    match (&decision.unanswered, refused, followed) {
        (Some(why), _, _) => conditions.set("PrimaryForced", "False", "Waiting", why),
        (None, Some(why), _) => conditions.set("PrimaryForced", "False", "Refused", why),
        (None, None, Some(pod)) => {
            let text = format!("{FORCE_PRIMARY}: {pod} was followed: take the annotation off");
            conditions.set("PrimaryForced", "True", "Followed", text);
        }
        (None, None, None) => conditions.clear("PrimaryForced"),
    }
}

/// The newest backup that ended.
fn backup_condition(conditions: &mut Conditions, decision: &Decision) {
    let backups = decision.record.backups.iter();
    let ended = backups
        .clone()
        .find(|backup| backup.state != BackupState::Running);
    match ended {
        None => conditions.clear("BackupSucceeded"),
        Some(BackupRecord {
            id,
            state: BackupState::Failed,
            why,
            ..
        }) => {
            let why = why.as_deref().unwrap_or("nobody knows why");
            conditions.set(
                "BackupSucceeded",
                "False",
                "Failed",
                format!("{id}: {why}; it is made again"),
            );
        }
        Some(BackupRecord { id, location, .. }) => {
            let place = location.as_deref().unwrap_or_default();
            conditions.set(
                "BackupSucceeded",
                "True",
                "Stored",
                format!("{id} is at {place}"),
            );
        }
    }
}

fn complete_condition(conditions: &mut Conditions, missing: &Missing) {
    if missing.names.is_empty() {
        conditions.clear("Complete");
    } else {
        conditions.set("Complete", "False", "GrantMissing", missing.text());
    }
}
