//! One call: ask, observe, decide, plan.

use std::time::Duration;

use k8s_openapi::api::core::v1::PersistentVolumeClaim;
use windlass_sdk::redis::RedisReplies;
use windlass_sdk::{Action, Context, Controller, Error, Login, Plan, Query, SecretKey, Step};

use crate::build::{Blueprint, add_children};
use crate::decide::{Command, Decision, State, Wish, decide};
use crate::forming;
use crate::grants::Missing;
use crate::names::{FORCE_PRIMARY, Names, OPERATOR};
use crate::observe::{self, Objects, SeenPod, SeenSet, View};
use crate::plan::{Means, add_steps};
use crate::refusals::{refusals, remember_rejected};
use crate::report;
use crate::serving::MIN_REPLICAS;
use crate::settings::Settings;
use crate::spec::{DeletionPolicy, PasswordSecret, Redis};
use crate::status::Record;

/// Between two looks while all is well.
const CALM: Duration = Duration::from_secs(2);
/// Between two looks while nobody takes writes for a moment.
const MOVING: Duration = Duration::from_millis(500);
/// Between two looks while something is under way.
const BUSY: Duration = Duration::from_secs(1);

/// Decides about objects of the kind `Redis`.
pub struct RedisController;

impl Controller for RedisController {
    type Object = Redis;

    const FINALIZES: bool = true;

    fn reconcile(&self, redis: &Redis, cx: &Context<'_>) -> Result<Plan, Error> {
        let missing = Missing::of(cx);
        if missing.is_fatal() {
            // A plan without children would have everything pruned.
            return Err(Error::Transient(missing.text()));
        }
        let names = Names::of(cx.name());
        let received = redis.status.clone().unwrap_or_default().record;
        let facts = Facts::ask(redis, cx, &names, &received)?;
        let mut record = received.clone();
        remember_rejected(cx, &redis.spec, &mut record);
        let settings = Settings::of(&redis.spec, &record.rejected);
        let wish = Wish {
            names: &names,
            spec: &redis.spec,
            settings: &settings,
        };
        let view = facts.view(redis, cx, record);
        let decision = decide(&wish, &view);
        write(redis, cx, &wish, &facts, &view, &received, &decision)
    }

    fn finalize(&self, redis: &Redis, cx: &Context<'_>) -> Result<Plan, Error> {
        let may_look = cx.available("read:v1/PersistentVolumeClaim");
        let Some(deletion) = cx
            .deletion()
            .filter(|deletion| may_look && !deletion.namespace_terminating)
        else {
            return Ok(Plan::finalized());
        };
        let names = Names::of(cx.name());
        let claims: Vec<PersistentVolumeClaim> =
            cx.objects(Query::selector(&names.selector())).get()?;
        let actions = match redis.spec.deletion_policy {
            DeletionPolicy::Delete => delete_volumes(cx, &claims),
            DeletionPolicy::Retain => mark_primary(redis, cx, &names, &claims),
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

/// What was asked.
struct Facts {
    pods: Vec<SeenPod>,
    claims: Vec<PersistentVolumeClaim>,
    sets: Vec<SeenSet>,
    replies: RedisReplies,
    login: Login,
    password: Password,
}

/// The password that the user named.
enum Password {
    /// None was named.
    Generated,
    /// It stands there.
    Named { digest: String },
    /// It does not.
    Missing(PasswordSecret),
}

impl Facts {
    fn ask(redis: &Redis, cx: &Context<'_>, names: &Names, record: &Record) -> Result<Self, Error> {
        let selector = names.selector();
        let questions = (
            cx.objects(Query::selector(&selector)),
            cx.objects(Query::selector(&selector)),
        );
        let named = redis.spec.auth.password_secret.as_ref();
        let password = named.map(|named| password(cx, named));
        let (pods, claims) = cx.all(questions)?;
        let password = password.transpose()?.unwrap_or(Password::Generated);
        let pods: Vec<SeenPod> = pods
            .into_iter()
            .filter(|pod| is_member(names, pod))
            .collect();
        let login = Login {
            user: OPERATOR.to_owned(),
            passwords: vec![SecretKey {
                namespace: cx.namespace().to_owned(),
                name: names.auth(),
                key: OPERATOR.to_owned(),
            }],
        };
        let replies = ask_servers(redis, cx, &pods, &login, record)?;
        let sets = [names.master_set(), names.replica_set()];
        let sets = sets.iter().filter_map(|name| cx.child(name).transpose());
        Ok(Self {
            sets: sets.collect::<Result<_, _>>()?,
            pods,
            claims,
            replies,
            login,
            password,
        })
    }

    fn view(&self, redis: &Redis, cx: &Context<'_>, record: Record) -> View {
        let objects = Objects {
            pods: &self.pods,
            sets: &self.sets,
        };
        let annotations = redis.metadata.annotations.as_ref();
        View {
            now: cx.now(),
            created: observe::milliseconds(cx.metadata().creation_timestamp.as_ref()),
            record,
            pods: observe::pods(&objects, &self.replies, cx.now()),
            volumes: observe::volumes(&self.claims),
            unseen_template: observe::has_unseen_template(&self.sets),
            force: annotations.and_then(|annotations| annotations.get(FORCE_PRIMARY).cloned()),
        }
    }
}

fn password(cx: &Context<'_>, named: &PasswordSecret) -> Result<Password, Error> {
    let secret = cx.secret(&named.name).get()?;
    let value = secret.and_then(|secret| secret.data.get(&named.key).cloned());
    Ok(
        value.map_or(Password::Missing(named.clone()), |value| Password::Named {
            digest: value.digest,
        }),
    )
}

/// Pods are known by name: one whose owner is being made anew is still a member.
fn is_member(names: &Names, pod: &SeenPod) -> bool {
    let name = pod.metadata.name.as_deref().unwrap_or_default();
    name == names.first_primary() || names.ordinal(name).is_some()
}

/// All Pods with an address are asked at once, whatever their role: one that does not answer costs one wait.
fn ask_servers(
    redis: &Redis,
    cx: &Context<'_>,
    pods: &[SeenPod],
    login: &Login,
    record: &Record,
) -> Result<RedisReplies, Error> {
    let settings = Settings::of(&redis.spec, &record.rejected);
    let mut wanted: Vec<&str> = settings.live.keys().map(String::as_str).collect();
    wanted.push(MIN_REPLICAS);
    let has_address = |pod: &&SeenPod| {
        let status = pod.status.as_ref();
        status
            .and_then(|status| status.pod_ip.as_ref())
            .is_some_and(|ip| !ip.is_empty())
    };
    let query = cx.redis(pods.iter().filter(has_address), login).stage(1);
    let sections = ["server", "replication", "persistence", "keyspace", "memory"];
    sections
        .iter()
        .fold(query.config_get(&wanted), |query, section| {
            query.info(section)
        })
        .get()
}

fn write(
    redis: &Redis,
    cx: &Context<'_>,
    wish: &Wish<'_>,
    facts: &Facts,
    view: &View,
    received: &Record,
    decision: &Decision,
) -> Result<Plan, Error> {
    let mut plan = Plan::new();
    let digest = match &facts.password {
        Password::Named { digest } => Some(digest.as_str()),
        Password::Generated | Password::Missing(_) => None,
    };
    let blueprint = Blueprint {
        names: wish.names,
        spec: wish.spec,
        settings: wish.settings,
        record: received,
        boots_with_aof: received
            .boots_with_aof
            .unwrap_or(forming::boots_with_aof(wish, view)),
        password_digest: digest,
    };
    add_children(&mut plan, cx, &blueprint)?;
    plan.status(&report::status(redis, cx, wish.names, view, decision))?;
    add_refusals(&mut plan, wish, facts, &decision.record);
    add_events(&mut plan, cx, decision);
    add_measurements(&mut plan, view);
    let means = Means {
        wish,
        pods: &facts.pods,
        view,
        login: &facts.login,
    };
    let granted: Vec<Command> = decision
        .commands
        .iter()
        .filter(|command| is_granted(cx, command))
        .cloned()
        .collect();
    add_steps(&mut plan, &means, &granted);
    plan.requeue_after(next_look(decision));
    Ok(plan)
}

fn next_look(decision: &Decision) -> Duration {
    match (&decision.state, &decision.pending) {
        (State::Moving(_) | State::Opening, _) => MOVING,
        (State::Serving, None) => CALM,
        _ => BUSY,
    }
}

fn is_granted(cx: &Context<'_>, command: &Command) -> bool {
    let grant = match command {
        Command::Fence(_) | Command::Replace(_) => "act:delete:v1/Pod",
        Command::Label(..) => "act:patch:v1/Pod",
        Command::Mark { .. } | Command::Grow(_) => "act:patch:v1/PersistentVolumeClaim",
        _ => return true,
    };
    cx.available(grant)
}

fn add_refusals(plan: &mut Plan, wish: &Wish<'_>, facts: &Facts, record: &Record) {
    for (field, text) in refusals(wish.spec, wish.settings, record) {
        plan.refuse(field, text);
    }
    if let Password::Missing(PasswordSecret { name, key }) = &facts.password {
        plan.refuse(
            "spec.auth.passwordSecret",
            format!("there is no Secret {name} with the key {key}; make it, or remove the field"),
        );
    }
}

fn add_events(plan: &mut Plan, cx: &Context<'_>, decision: &Decision) {
    for note in &decision.notes {
        match note.warning {
            true => plan.warning(cx.this(), note.reason, note.text.clone()),
            false => plan.event(cx.this(), note.reason, note.text.clone()),
        }
    }
}

fn add_measurements(plan: &mut Plan, view: &View) {
    let primary = view
        .record
        .primary
        .as_ref()
        .and_then(|it| view.server(&it.pod));
    for pod in view.pods.values() {
        let Some(server) = pod.answering() else {
            continue;
        };
        let labels = [("pod", pod.name.as_str())];
        plan.metric("memory_used_bytes", &labels, server.memory);
        plan.metric("keys", &labels, server.keys);
        if let Some(primary) = primary.filter(|primary| primary.replid == server.replid) {
            plan.metric(
                "replication_lag_bytes",
                &labels,
                (primary.offset - server.offset).max(0),
            );
        }
    }
    plan.metric("in_sync_replicas", &[], view.record.in_sync.len());
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
    redis: &Redis,
    cx: &Context<'_>,
    names: &Names,
    claims: &[PersistentVolumeClaim],
) -> Vec<Action> {
    let record = redis.status.clone().unwrap_or_default().record;
    let settings = Settings::of(&redis.spec, &record.rejected);
    let view = View {
        volumes: observe::volumes(claims),
        ..View::default()
    };
    let wish = Wish {
        names,
        spec: &redis.spec,
        settings: &settings,
    };
    let mark = mark_if_needed(&view, &record).filter(|command| is_granted(cx, command));
    let means = Means {
        wish: &wish,
        pods: &[],
        view: &view,
        login: &Login {
            user: String::new(),
            passwords: Vec::new(),
        },
    };
    mark.iter()
        .filter_map(|command| crate::plan::action(&means, command))
        .collect()
}

fn mark_if_needed(view: &View, record: &Record) -> Option<Command> {
    crate::serving::mark(view, record.primary.as_ref()?, record)
}
