//! Status: what people read about a decision.

use std::collections::BTreeMap;

use windlass_sdk::{Conditions, Context};

use crate::decide::{Decision, State};
use crate::grants::Missing;
use crate::names::Names;
use crate::observe::View;
use crate::spec::Redis;
use crate::status::{MasterStatus, Phase, RedisStatus, ReplicaStatus};

/// The status after this round.
#[must_use]
pub fn status(
    redis: &Redis,
    cx: &Context<'_>,
    names: &Names,
    view: &View,
    decision: &Decision,
) -> RedisStatus {
    let primary = decision
        .record
        .primary
        .as_ref()
        .map_or("", |primary| primary.pod.as_str());
    let replicas = replicas(view, primary, decision);
    let ready = replicas
        .values()
        .filter(|status| **status == ReplicaStatus::Ready)
        .count();
    let mut conditions = received(redis, cx);
    ready_condition(&mut conditions, primary, &decision.state);
    reconciled_condition(&mut conditions, decision);
    complete_condition(&mut conditions, &Missing::of(cx));
    RedisStatus {
        phase: Some(phase(&decision.state)),
        master_status: Some(master_status(&decision.state)),
        master_ip: view.pods.get(primary).and_then(|pod| pod.ip.clone()),
        replicas: i32::try_from(replicas.len()).ok(),
        ready_replicas: i32::try_from(ready).ok(),
        replica_status: replicas,
        selector: Some(names.selector()),
        record: decision.record.clone(),
        observed_generation: None,
        conditions: conditions.into_list(),
        windlass: None,
    }
}

fn received(redis: &Redis, cx: &Context<'_>) -> Conditions {
    let known = redis
        .status
        .as_ref()
        .map_or(&[][..], |status| &status.conditions);
    Conditions::received(known, cx.metadata().generation, cx.time())
}

fn phase(state: &State) -> Phase {
    match state {
        State::Serving | State::Moving(_) => Phase::Running,
        State::Stuck(_) => Phase::Failed,
        State::Forming(_) | State::Opening | State::Doubtful(_) | State::Waiting(_) => {
            Phase::Pending
        }
    }
}

fn master_status(state: &State) -> MasterStatus {
    match state {
        State::Serving | State::Moving(_) => MasterStatus::Ready,
        _ => MasterStatus::NotReady,
    }
}

fn replicas(view: &View, primary: &str, decision: &Decision) -> BTreeMap<String, ReplicaStatus> {
    let others = view.others(primary).map(|pod| {
        let in_sync = decision
            .record
            .in_sync
            .iter()
            .any(|member| member.pod == pod.name);
        let status = match pod.staying() {
            None => ReplicaStatus::NotReady,
            Some(_) if in_sync => ReplicaStatus::Ready,
            Some(_) => ReplicaStatus::Syncing,
        };
        (pod.name.clone(), status)
    });
    others.collect()
}

fn ready_condition(conditions: &mut Conditions, primary: &str, state: &State) {
    let (status, reason, message) = match state {
        State::Serving => ("True", "Serving", format!("{primary} takes writes")),
        State::Moving(to) => ("True", "Moving", format!("{primary} hands over to {to}")),
        State::Forming(why) => ("False", "Forming", why.clone()),
        State::Opening => ("False", "Opening", format!("{primary} is to take writes")),
        State::Doubtful(why) => ("Unknown", "PrimarySilent", why.clone()),
        State::Waiting(why) => ("False", "PrimaryLost", why.clone()),
        State::Stuck(why) => ("False", "NeedsHelp", why.clone()),
    };
    conditions.set("Ready", status, reason, message);
}

fn reconciled_condition(conditions: &mut Conditions, decision: &Decision) {
    match (&decision.state, &decision.pending) {
        (State::Serving, None) => conditions.set("Reconciled", "True", "AsSpecified", ""),
        (State::Serving | State::Moving(_), Some(what)) => {
            conditions.set("Reconciled", "False", "InProgress", what);
        }
        _ => conditions.set(
            "Reconciled",
            "False",
            "NoPrimary",
            "waits for a primary that takes writes",
        ),
    }
}

fn complete_condition(conditions: &mut Conditions, missing: &Missing) {
    if missing.names.is_empty() {
        conditions.clear("Complete");
    } else {
        conditions.set("Complete", "False", "GrantMissing", missing.text());
    }
}
