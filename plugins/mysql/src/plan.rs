//! From commands to actions, in the order in which they are safe.

use std::time::Duration;

use k8s_openapi::api::core::v1::PersistentVolumeClaim;
use serde_json::json;
use windlass_sdk::redis::pod_port;
use windlass_sdk::sql::{SQL_PORT, SqlAction};
use windlass_sdk::{Action, Login, Plan, SecretKey, Step};

use crate::decide::{Command, Following, Setup, Target, Wish};
use crate::names::{APP, CLONE, EPOCH, REPLICATION, ROLE, Role};
use crate::observe::{SeenPod, View};
use crate::repair::COPY;
use crate::statements;

/// One statement after another on a server that answers.
const BRIEF: Duration = Duration::from_secs(5);
/// Stopping an applier waits for the transaction that it is at.
const PATIENT: Duration = Duration::from_secs(15);
/// A copy of a large instance takes its time.
const COPYING: Duration = Duration::from_secs(6 * 3600);

/// What actions are made from.
pub struct Means<'a> {
    /// The spec and its names.
    pub wish: &'a Wish<'a>,
    /// The object's namespace.
    pub namespace: &'a str,
    /// The Pods as they are.
    pub pods: &'a [SeenPod],
    /// What is known about them and their volumes.
    pub view: &'a View,
    /// The operator's login.
    pub login: &'a Login,
}

/// Adds the steps. Who must not take writes is shut before anybody is cut off or opened; replicas are pointed at a
/// primary before it is opened; labels and notes come after, and Pods are replaced last.
pub fn add_steps(plan: &mut Plan, means: &Means<'_>, commands: &[Command]) {
    for order in 0..=5 {
        let of_step = commands.iter().filter(|command| order_of(command) == order);
        plan.step(Step::of(
            of_step.filter_map(|command| action(means, command)),
        ));
    }
}

fn order_of(command: &Command) -> u8 {
    match command {
        Command::Shut(_) | Command::Freeze(_) => 0,
        Command::Cut(_) | Command::Dismiss(_) | Command::MakeAccounts(_) => 1,
        Command::Apply(_) | Command::Follow(..) | Command::Acknowledge(_) => 2,
        Command::Open(..) | Command::Wait(..) => 3,
        Command::Label(..) | Command::Mark(..) | Command::Grow(_) | Command::Clone(..) => 4,
        Command::Replace(_) => 5,
    }
}

/// The action of a command; `None` when its Pod or volume is gone by now.
#[must_use]
pub fn action(means: &Means<'_>, command: &Command) -> Option<Action> {
    let sql = match command {
        Command::Shut(target) => statements::shut(sql(means, "shut", target)?),
        Command::Freeze(target) => statements::freeze(sql(means, "freeze", target)?),
        Command::Cut(target) => statements::cut(sql(means, "cut", target)?),
        Command::Apply(target) => statements::apply(sql(means, "apply", target)?),
        Command::Open(target, count, holds) => {
            let action = sql(means, "open", target)?.timeout(PATIENT);
            statements::open(action, &target.uuid, *count, holds)
        }
        Command::Wait(target, count) => statements::wait(sql(means, "wait", target)?, *count),
        Command::Follow(target, following) => follow(means, target, following)?,
        Command::Acknowledge(target) => statements::acknowledge(sql(means, "acknowledge", target)?),
        Command::Dismiss(target) => statements::dismiss(sql(means, "dismiss", target)?),
        Command::Clone(target, donor) => clone(means, target, donor)?,
        Command::MakeAccounts(target) => {
            let action = sql(means, "accounts", target)?;
            statements::make_accounts(action, |user| secret(means, user))
        }
        Command::Label(pod, role) => return label(means, pod, *role),
        Command::Mark(pod, epoch) => return mark(means, pod, *epoch),
        Command::Grow(pod) => return grow(means, pod),
        Command::Replace(pod) => {
            let found = find(means, pod)?;
            let id = format!("replace/{pod}");
            return Some(Action::delete(id, found, None, Duration::ZERO));
        }
    };
    Some(sql.into())
}

/// Statements for this data directory alone: a Pod's uid does not notice a container that was started again.
fn sql(means: &Means<'_>, verb: &str, target: &Target) -> Option<SqlAction> {
    let pod = find(means, &target.pod)?;
    let id = format!("{verb}/{}", target.pod);
    let action = Action::sql(id, pod_port(pod, SQL_PORT))
        .login(means.login)
        .timeout(BRIEF);
    match target.uuid.is_empty() {
        true => Some(action),
        false => Some(action.only_if("SELECT @@global.server_uuid", [target.uuid.as_str()])),
    }
}

fn follow(means: &Means<'_>, target: &Target, following: &Following) -> Option<SqlAction> {
    let verb = match following.setup {
        Setup::Start => "start",
        Setup::Point | Setup::Anew => "follow",
    };
    let host = means.wish.names.host(&following.primary);
    let password = secret(means, REPLICATION);
    let action = sql(means, verb, target)?.timeout(PATIENT);
    let Following {
        acknowledges,
        setup,
        ..
    } = following;
    Some(statements::follow(
        action,
        &host,
        password,
        *acknowledges,
        *setup,
    ))
}

fn clone(means: &Means<'_>, target: &Target, donor: &str) -> Option<SqlAction> {
    let host = means.wish.names.host(donor);
    let action = statements::clone(sql(means, "clone", target)?, &host, secret(means, CLONE));
    Some(action.long(COPY, COPYING))
}

/// Where the password of an account stands.
fn secret(means: &Means<'_>, user: &str) -> SecretKey {
    let names = means.wish.names;
    let (name, key) = match user {
        APP => (names.app(), "password"),
        user => (names.auth(), user),
    };
    SecretKey {
        namespace: means.namespace.to_owned(),
        name,
        key: key.to_owned(),
    }
}

fn label(means: &Means<'_>, pod: &str, role: Option<Role>) -> Option<Action> {
    let patch = json!({"metadata": {"labels": {ROLE: role.map(Role::label)}}});
    Some(Action::patch(
        format!("label/{pod}"),
        find(means, pod)?,
        &patch,
    ))
}

fn mark(means: &Means<'_>, pod: &str, epoch: i64) -> Option<Action> {
    let patch = json!({"metadata": {"annotations": {EPOCH: epoch.to_string()}}});
    Some(Action::patch(
        format!("mark/{pod}"),
        claim(means, pod)?,
        &patch,
    ))
}

fn grow(means: &Means<'_>, pod: &str) -> Option<Action> {
    let size = &means.wish.spec.storage_size;
    let patch = json!({"spec": {"resources": {"requests": {"storage": size}}}});
    Some(Action::patch(
        format!("grow/{pod}"),
        claim(means, pod)?,
        &patch,
    ))
}

fn find<'a>(means: &Means<'a>, pod: &str) -> Option<&'a SeenPod> {
    let mut pods = means.pods.iter();
    pods.find(|found| found.metadata.name.as_deref() == Some(pod))
}

fn claim<'a>(means: &Means<'a>, pod: &str) -> Option<&'a PersistentVolumeClaim> {
    means.view.volumes.get(pod).map(|volume| &volume.claim)
}
