//! From commands to actions, in the order in which they are safe.

use std::time::Duration;

use k8s_openapi::api::core::v1::PersistentVolumeClaim;
use serde_json::json;
use windlass_sdk::redis::{REDIS_PORT, pod_port};
use windlass_sdk::{Action, Login, Plan, RedisAction, Step};

use crate::decide::{Command, Target, Wish};
use crate::names::{AOF, EPOCH, ROLE, Role};
use crate::observe::{SeenPod, View};
use crate::serving::MIN_REPLICAS;

/// What a fenced Pod gets to end, in seconds, and how long the new primary waits for it.
const FENCE_GRACE: u32 = 1;
const FENCE_WAIT: Duration = Duration::from_secs(2);
/// Opening a primary may wait a moment for a busy Redis.
const OPEN: Duration = Duration::from_secs(2);
/// Redis gives up a hand-over by itself after so many milliseconds.
const HAND_OVER: &str = "5000";

/// What actions are made from.
pub struct Means<'a> {
    /// The spec and its names.
    pub wish: &'a Wish<'a>,
    /// The Pods as they are.
    pub pods: &'a [SeenPod],
    /// What is known about them and their volumes.
    pub view: &'a View,
    /// The operator's login.
    pub login: &'a Login,
}

/// Adds the steps. The dead are fenced before anybody is opened, an opened primary comes before those who follow
/// it, labels and notes come after, and Pods are replaced last.
pub fn add_steps(plan: &mut Plan, means: &Means<'_>, commands: &[Command]) {
    let step = |order: u8| {
        let of_step = commands.iter().filter(|command| order_of(command) == order);
        Step::of(of_step.filter_map(|command| action(means, command)))
    };
    plan.step(step(0));
    plan.step(step(1).stopping());
    for order in 2..=5 {
        plan.step(step(order));
    }
}

fn order_of(command: &Command) -> u8 {
    match command {
        Command::Fence(_) => 0,
        Command::Open(..) => 1,
        Command::Follow(..) | Command::Guard(..) | Command::AbandonHandOver(_) => 2,
        Command::HandOver(..) => 3,
        Command::Label(..)
        | Command::Mark { .. }
        | Command::Set(..)
        | Command::SwitchAof(..)
        | Command::Grow(_) => 4,
        Command::Replace(_) => 5,
    }
}

/// The action of a command; `None` when its Pod or volume is gone by now.
#[must_use]
pub fn action(means: &Means<'_>, command: &Command) -> Option<Action> {
    match command {
        Command::Fence(pod) => fence(means, pod),
        Command::Open(target, guarded) => open(means, target, *guarded),
        Command::Follow(target, ip) => {
            let words = ["REPLICAOF", ip, &REDIS_PORT.to_string()].map(str::to_owned);
            Some(redis(means, "follow", target)?.command(words).into())
        }
        Command::Guard(target, guarded) => Some(
            redis(means, "guard", target)?
                .command(min_replicas(*guarded))
                .into(),
        ),
        Command::HandOver(target, ip) => {
            let port = REDIS_PORT.to_string();
            let words = ["FAILOVER", "TO", ip, &port, "TIMEOUT", HAND_OVER].map(str::to_owned);
            Some(redis(means, "hand-over", target)?.command(words).into())
        }
        Command::AbandonHandOver(target) => Some(
            redis(means, "abandon", target)?
                .command(["FAILOVER", "ABORT"])
                .into(),
        ),
        Command::Label(pod, role) => label(means, pod, *role),
        Command::Mark { pod, epoch, aof } => mark(means, pod, *epoch, *aof),
        Command::Set(target, name, value) => set(means, target, name, value),
        Command::SwitchAof(target, on) => switch_aof(means, target, *on),
        Command::Grow(pod) => grow(means, pod),
        Command::Replace(pod) => {
            let found = find(means, pod)?;
            Some(Action::delete(
                format!("replace/{pod}"),
                found,
                None,
                Duration::ZERO,
            ))
        }
    }
}

fn redis(means: &Means<'_>, verb: &str, target: &Target) -> Option<RedisAction> {
    let pod = find(means, &target.pod)?;
    let id = format!("{verb}/{}", target.pod);
    let action = Action::redis(id, pod_port(pod, REDIS_PORT));
    Some(action.login(means.login).only_run(&target.run_id))
}

fn min_replicas(guarded: u8) -> [String; 4] {
    ["CONFIG", "SET", MIN_REPLICAS, &guarded.to_string()].map(str::to_owned)
}

fn open(means: &Means<'_>, target: &Target, guarded: u8) -> Option<Action> {
    let action = redis(means, "open", target)?.timeout(OPEN);
    let action = action
        .command(min_replicas(guarded))
        .command(["REPLICAOF", "NO", "ONE"]);
    Some(action.into())
}

fn fence(means: &Means<'_>, pod: &str) -> Option<Action> {
    let found = find(means, pod)?;
    Some(Action::delete(
        format!("fence/{pod}"),
        found,
        Some(FENCE_GRACE),
        FENCE_WAIT,
    ))
}

fn set(means: &Means<'_>, target: &Target, name: &str, value: &str) -> Option<Action> {
    let pod = find(means, &target.pod)?;
    let id = format!("set/{}/{name}", target.pod);
    let action = Action::redis(id, pod_port(pod, REDIS_PORT)).login(means.login);
    Some(
        action
            .only_run(&target.run_id)
            .command(["CONFIG", "SET", name, value])
            .into(),
    )
}

/// Before the log is turned off a snapshot is asked for, where snapshots are written at all: it then holds the data.
fn switch_aof(means: &Means<'_>, target: &Target, on: bool) -> Option<Action> {
    let action = redis(means, "aof", target)?;
    let snapshot = !on && means.wish.spec.persistence.enable_rdb;
    let action = if snapshot {
        action.command(["BGSAVE", "SCHEDULE"])
    } else {
        action
    };
    let value = if on { "yes" } else { "no" };
    Some(
        action
            .command(["CONFIG", "SET", "appendonly", value])
            .into(),
    )
}

fn label(means: &Means<'_>, pod: &str, role: Role) -> Option<Action> {
    let patch = json!({"metadata": {"labels": {ROLE: role.label()}}});
    Some(Action::patch(
        format!("label/{pod}"),
        find(means, pod)?,
        &patch,
    ))
}

fn mark(means: &Means<'_>, pod: &str, epoch: i64, aof: bool) -> Option<Action> {
    let patch = json!({"metadata": {"annotations": {
        EPOCH: epoch.to_string(),
        AOF: aof.to_string(),
    }}});
    Some(Action::patch(
        format!("mark/{pod}"),
        claim(means, pod)?,
        &patch,
    ))
}

fn grow(means: &Means<'_>, pod: &str) -> Option<Action> {
    let size = means.wish.spec.persistence.size.text();
    let patch = json!({"spec": {"resources": {"requests": {"storage": size}}}});
    Some(Action::patch(
        format!("grow/{pod}"),
        claim(means, pod)?,
        &patch,
    ))
}

fn find<'a>(means: &Means<'a>, pod: &str) -> Option<&'a SeenPod> {
    means
        .pods
        .iter()
        .find(|found| found.metadata.name.as_deref() == Some(pod))
}

fn claim<'a>(means: &Means<'a>, pod: &str) -> Option<&'a PersistentVolumeClaim> {
    means.view.volumes.get(pod).map(|volume| &volume.claim)
}
