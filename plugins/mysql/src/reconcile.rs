//! One call: ask, observe, decide, plan.

use std::time::Duration;

use k8s_openapi::api::core::v1::PersistentVolumeClaim;
use windlass_sdk::sql::SqlReplies;
use windlass_sdk::wire::Ended;
use windlass_sdk::{Action, Context, Controller, Error, Login, Plan, Query, SecretKey, Step};

use crate::alias::Alias;
use crate::backup::JobView;
use crate::build::{Blueprint, add_children};
use crate::config::Config;
use crate::decide::{Command, Decision, State, Wish, decide};
use crate::grants::Missing;
use crate::names::{Names, OBSERVER, OPERATOR};
use crate::observe::{self, SeenPod, SeenSet, View};
use crate::plan::{Means, action, add_steps};
use crate::query;
use crate::refusals::refusals;
use crate::repair::COPY;
use crate::report;
use crate::serving::mark;
use crate::spec::{DeletionPolicy, MySQLCluster};
use crate::status::{BackupState, Record};

/// Between two looks while all is well.
const CALM: Duration = Duration::from_secs(2);
/// Between two looks while nobody takes writes for a moment.
const MOVING: Duration = Duration::from_millis(500);
/// Between two looks while something is under way.
const BUSY: Duration = Duration::from_secs(1);
/// Replicas are asked before their primary, whose position is then the newest.
const REPLICAS: u32 = 1;
const PRIMARY: u32 = 2;

/// Decides about objects of the kind `MySQLCluster` of the group `db.example.com`.
pub struct MySqlController;

/// Decides about those of the group `mysql.example.com`, in the same way.
pub struct AliasController;

impl Controller for AliasController {
    type Object = Alias;

    const FINALIZES: bool = true;

    fn reconcile(&self, cluster: &Alias, cx: &Context<'_>) -> Result<Plan, Error> {
        MySqlController.reconcile(&cluster.0, cx)
    }

    fn finalize(&self, cluster: &Alias, cx: &Context<'_>) -> Result<Plan, Error> {
        MySqlController.finalize(&cluster.0, cx)
    }
}

impl Controller for MySqlController {
    type Object = MySQLCluster;

    const FINALIZES: bool = true;

    fn reconcile(&self, cluster: &MySQLCluster, cx: &Context<'_>) -> Result<Plan, Error> {
        let missing = Missing::of(cx);
        if missing.is_fatal() {
            // A plan without children would have everything pruned.
            return Err(Error::Transient(missing.text()));
        }
        let names = names(cx);
        let received = cluster.status.clone().unwrap_or_default().record;
        let facts = Facts::ask(cx, &names, &received)?;
        let wish = Wish {
            names: &names,
            spec: &cluster.spec,
        };
        let view = facts.view(cx, received.clone());
        let decision = decide(&wish, &view);
        write(cluster, cx, &wish, &facts, &view, &decision)
    }

    fn finalize(&self, cluster: &MySQLCluster, cx: &Context<'_>) -> Result<Plan, Error> {
        let may_look = cx.available("read:v1/PersistentVolumeClaim");
        let deletion = cx.deletion();
        let Some(deletion) = deletion.filter(|it| may_look && !it.namespace_terminating) else {
            return Ok(Plan::finalized());
        };
        let names = names(cx);
        let claims: Vec<PersistentVolumeClaim> =
            cx.objects(Query::selector(&names.selector())).get()?;
        let actions = match cluster.spec.deletion_policy {
            DeletionPolicy::Delete => delete_volumes(cx, &claims),
            DeletionPolicy::Retain => mark_primary(cluster, cx, &names, &claims),
        };
        if actions.is_empty() || cx.now() > deletion.deadline {
            return Ok(Plan::finalized());
        }
        let mut plan = Plan::new();
        plan.step(Step::of(actions));
        plan.requeue_after(BUSY);
        Ok(plan)
    }
}

/// Names carry the group: an object of the same name in the other group never takes these Pods for its own.
fn names(cx: &Context<'_>) -> Names {
    let this = cx.this();
    let group = this.api_version.split('/').next().unwrap_or_default();
    Names::of(cx.name(), group)
}

/// What was asked.
struct Facts {
    pods: Vec<SeenPod>,
    claims: Vec<PersistentVolumeClaim>,
    set: Option<SeenSet>,
    job: JobView,
    replies: SqlReplies,
    operator: Login,
}

impl Facts {
    fn ask(cx: &Context<'_>, names: &Names, record: &Record) -> Result<Self, Error> {
        let selector = names.selector();
        let questions = (
            cx.objects(Query::selector(&selector)),
            cx.objects(Query::selector(&selector)),
        );
        let (pods, claims) = cx.all(questions)?;
        let pods: Vec<SeenPod> = pods;
        let pods: Vec<SeenPod> = pods
            .into_iter()
            .filter(|pod| is_member(names, pod))
            .collect();
        let job = ask_job(cx, names, record);
        let replies = ask_servers(cx, names, &pods, record)?;
        Ok(Self {
            set: cx.child(&names.set())?,
            job: job?,
            pods,
            claims,
            replies,
            operator: login(cx, names, OPERATOR),
        })
    }

    fn view(&self, cx: &Context<'_>, record: Record) -> View {
        let mut pods = observe::pods(&self.pods, self.set.as_ref());
        for (name, pod) in &mut pods {
            pod.server = query::server(self.replies.get(name), cx.now());
        }
        let outcomes = || cx.outcomes().map(|(id, ended)| (id.to_owned(), ended));
        let done = outcomes().filter(|(_, ended)| matches!(ended, Ended::Done(_)));
        let failed = outcomes().filter_map(|(id, ended)| match ended {
            Ended::Failed(why) => Some((id, why.clone())),
            _ => None,
        });
        View {
            now: cx.now(),
            created: observe::milliseconds(cx.metadata().creation_timestamp.as_ref()),
            record,
            pods,
            volumes: observe::volumes(&self.claims),
            annotations: cx.metadata().annotations.clone().unwrap_or_default(),
            unseen_template: self.set.as_ref().is_some_and(|set| !observe::is_seen(set)),
            done: done.map(|(id, _)| id).collect(),
            failed: failed.collect(),
            job: self.job.clone(),
            running: [COPY]
                .into_iter()
                .filter(|key| cx.running(key).is_some())
                .map(str::to_owned)
                .collect(),
        }
    }
}

/// The Pod of the backup that is being made.
fn ask_job(cx: &Context<'_>, names: &Names, record: &Record) -> Result<JobView, Error> {
    let running = record
        .backups
        .first()
        .filter(|it| it.state == BackupState::Running);
    let Some(running) = running else {
        return Ok(JobView::Absent);
    };
    let selector = format!(
        "batch.kubernetes.io/job-name={}",
        names.backup_job(&running.id)
    );
    let pods: Vec<SeenPod> = cx.objects(Query::selector(&selector)).get()?;
    Ok(observe::job(&pods))
}

fn login(cx: &Context<'_>, names: &Names, user: &str) -> Login {
    Login {
        user: user.to_owned(),
        passwords: vec![SecretKey {
            namespace: cx.namespace().to_owned(),
            name: names.auth(),
            key: user.to_owned(),
        }],
    }
}

/// Pods are known by name: one whose set is being made anew is still a member.
fn is_member(names: &Names, pod: &SeenPod) -> bool {
    let name = pod.metadata.name.as_deref().unwrap_or_default();
    names.ordinal(name).is_some()
}

/// All Pods with an address are asked: the replicas at once, then the primary.
fn ask_servers(
    cx: &Context<'_>,
    names: &Names,
    pods: &[SeenPod],
    record: &Record,
) -> Result<SqlReplies, Error> {
    let primary = record.primary.as_ref().map(|primary| primary.pod.as_str());
    let is_primary = |pod: &&SeenPod| pod.metadata.name.as_deref() == primary;
    let observer = login(cx, names, OBSERVER);
    let there = || pods.iter().filter(|pod| has_address(pod));
    let replicas = there().filter(|pod| !is_primary(pod));
    let replicas = query::ask(cx.sql(replicas, &observer).stage(REPLICAS)).ask();
    let primary = query::ask(cx.sql(there().filter(is_primary), &observer).stage(PRIMARY)).ask();
    let (mut replies, last) = cx.all((replicas, primary))?;
    replies.extend(last);
    Ok(replies)
}

fn has_address(pod: &SeenPod) -> bool {
    let ip = pod
        .status
        .as_ref()
        .and_then(|status| status.pod_ip.as_ref());
    ip.is_some_and(|ip| !ip.is_empty())
}

fn write(
    cluster: &MySQLCluster,
    cx: &Context<'_>,
    wish: &Wish<'_>,
    facts: &Facts,
    view: &View,
    decision: &Decision,
) -> Result<Plan, Error> {
    let mut plan = Plan::new();
    let config: Config = cx.config()?;
    let blueprint = Blueprint {
        names: wish.names,
        spec: wish.spec,
        record: &view.record,
        namespace: cx.namespace(),
        host_image: &config.host_image,
    };
    add_children(&mut plan, cx, &blueprint)?;
    plan.status(&report::status(cluster, cx, wish, view, decision))?;
    for (field, text) in refusals(wish.spec, &decision.record) {
        plan.refuse(field, text);
    }
    add_events(&mut plan, cx, decision);
    add_measurements(&mut plan, view, decision);
    let means = Means {
        wish,
        namespace: cx.namespace(),
        pods: &facts.pods,
        view,
        login: &facts.operator,
    };
    let commands = decision
        .commands
        .iter()
        .filter(|command| is_granted(cx, command));
    let commands: Vec<Command> = commands.cloned().collect();
    add_steps(&mut plan, &means, &commands);
    plan.requeue_after(next_look(decision));
    Ok(plan)
}

fn next_look(decision: &Decision) -> Duration {
    match (&decision.state, &decision.pending) {
        (State::Healthy, None) => CALM,
        (State::Healthy | State::Degraded(_) | State::Cloning(_), _) => BUSY,
        (State::Incomplete(_) | State::Lost(_) | State::Stuck(_), _) => BUSY,
        (State::Opening(_) | State::Switching(_) | State::Failed(_) | State::Doubtful(_), _) => {
            MOVING
        }
    }
}

fn is_granted(cx: &Context<'_>, command: &Command) -> bool {
    let grant = match command {
        Command::Replace(_) => "act:delete:v1/Pod",
        Command::Label(..) => "act:patch:v1/Pod",
        Command::Mark(..) | Command::Grow(_) => "act:patch:v1/PersistentVolumeClaim",
        _ => return true,
    };
    cx.available(grant)
}

fn add_events(plan: &mut Plan, cx: &Context<'_>, decision: &Decision) {
    for note in &decision.notes {
        match note.warning {
            true => plan.warning(cx.this(), note.reason, note.text.clone()),
            false => plan.event(cx.this(), note.reason, note.text.clone()),
        }
    }
}

fn add_measurements(plan: &mut Plan, view: &View, decision: &Decision) {
    let primary = decision.record.primary.as_ref();
    let primary = primary.and_then(|primary| view.of_primary(primary));
    for pod in view.pods.values() {
        let Some(server) = pod.answering() else {
            continue;
        };
        let labels = [("pod", pod.name.as_str())];
        let lag = server.channel.as_ref().and_then(|channel| channel.lag);
        if let Some(lag) = lag {
            plan.metric("replication_lag_seconds", &labels, lag);
        }
        if let Some(primary) = primary {
            let missing = primary.executed.minus(&server.executed).count();
            plan.metric("replication_lag_transactions", &labels, missing);
        }
    }
    plan.metric("voters", &[], decision.record.voters.len());
    plan.metric("wait_count", &[], decision.record.wait_count.unwrap_or(0));
}

fn delete_volumes(cx: &Context<'_>, claims: &[PersistentVolumeClaim]) -> Vec<Action> {
    if !cx.available("act:delete:v1/PersistentVolumeClaim") {
        return Vec::new();
    }
    let living = claims
        .iter()
        .filter(|claim| claim.metadata.deletion_timestamp.is_none());
    let delete = living.map(|claim| {
        let name = claim.metadata.name.as_deref().unwrap_or_default();
        Action::delete(format!("delete/{name}"), claim, None, Duration::ZERO)
    });
    delete.collect()
}

/// The primary's volume says which it is before the record goes.
fn mark_primary(
    cluster: &MySQLCluster,
    cx: &Context<'_>,
    names: &Names,
    claims: &[PersistentVolumeClaim],
) -> Vec<Action> {
    let record = cluster.status.clone().unwrap_or_default().record;
    let view = View {
        volumes: observe::volumes(claims),
        ..View::default()
    };
    let primary = record.primary.as_ref();
    let mark = primary.and_then(|primary| mark(&view, primary, &record));
    let means = Means {
        wish: &Wish {
            names,
            spec: &cluster.spec,
        },
        namespace: cx.namespace(),
        pods: &[],
        view: &view,
        login: &login(cx, names, OPERATOR),
    };
    let granted = mark.filter(|command| is_granted(cx, command));
    granted
        .iter()
        .filter_map(|command| action(&means, command))
        .collect()
}
