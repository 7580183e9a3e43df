//! The Redis plugin as part of this process, to compare its component with.
//!
//! The contract's types exist twice, once for each side of the sandbox. What a component's boundary copies, this copies
//! too; what it costs beyond that is what the comparison shows.

use async_trait::async_trait;
use windlass::plugin::bindings as host;
use windlass::plugin::{CallError, Description, Operator};
use windlass_redis::component::describe;
use windlass_redis::reconcile::RedisController;
use windlass_sdk::controller::{finalize, reconcile};
use windlass_sdk::wire as guest;

/// The plugin for `Redis`, without a sandbox.
pub struct Native(Description);

impl Native {
    /// It, as it describes itself.
    ///
    /// # Errors
    /// When the host does not understand its description.
    pub fn new() -> anyhow::Result<Self> {
        Ok(Self(Description::parse(&describe().json())?))
    }
}

#[async_trait]
impl Operator for Native {
    fn name(&self) -> &str {
        "native"
    }

    fn description(&self) -> &Description {
        &self.0
    }

    async fn reconcile(&self, request: &host::Request) -> Result<host::Step, CallError> {
        answered(reconcile(&RedisController, &asked(request)))
    }

    async fn finalize(&self, request: &host::Request) -> Result<host::Step, CallError> {
        answered(finalize(&RedisController, &asked(request)))
    }
}

fn asked(request: &host::Request) -> guest::Request {
    let request = request.clone();
    guest::Request {
        object: request.object,
        children: request.children,
        facts: request.facts.into_iter().map(fact).collect(),
        outcomes: request.outcomes.into_iter().map(outcome).collect(),
        running: request.running.into_iter().map(running).collect(),
        available: request.available,
        now: request.now,
        config: request.config,
        deletion: request.deletion.map(|deletion| guest::Deletion {
            namespace_terminating: deletion.namespace_terminating,
            deadline: deletion.deadline,
        }),
    }
}

fn fact(fact: host::Fact) -> guest::Fact {
    let answer = match fact.answer {
        host::Answer::Object(object) => guest::Answer::Object(object),
        host::Answer::Objects(objects) => guest::Answer::Objects(objects),
        host::Answer::Reply(reply) => guest::Answer::Reply(guest::Reply {
            body: reply.body,
            password: reply.password,
        }),
        host::Answer::Unreachable(silent) => guest::Answer::Unreachable(guest::Unreachable {
            why: silent.why,
            answered: silent.answered,
            since: silent.since,
        }),
        host::Answer::Refused(grant) => guest::Answer::Refused(grant),
    };
    guest::Fact {
        id: fact.id,
        answer,
    }
}

fn outcome(outcome: host::Outcome) -> guest::Outcome {
    let ended = match outcome.ended {
        host::Ended::Done(replies) => guest::Ended::Done(replies),
        host::Ended::Failed(why) => guest::Ended::Failed(why),
        host::Ended::NotRun(why) => guest::Ended::NotRun(why),
        host::Ended::Unknown => guest::Ended::Unknown,
    };
    guest::Outcome {
        id: outcome.id,
        ended,
    }
}

fn running(running: host::Running) -> guest::Running {
    guest::Running {
        key: running.key,
        since: running.since,
    }
}

fn answered(answer: Result<guest::Step, guest::Failure>) -> Result<host::Step, CallError> {
    match answer {
        Ok(guest::Step::Need(needs)) => Ok(host::Step::Need(
            needs.into_iter().map(requirement).collect(),
        )),
        Ok(guest::Step::Plan(made)) => Ok(host::Step::Plan(plan(made))),
        Err(guest::Failure::Invalid(why)) => Err(CallError::Invalid(why)),
        Err(guest::Failure::Transient(why)) => Err(CallError::Transient(why)),
    }
}

fn requirement(requirement: guest::Requirement) -> host::Requirement {
    host::Requirement {
        id: requirement.id,
        stage: requirement.stage,
        question: question(requirement.question),
    }
}

/// # Panics
/// On what the Redis plugin does not ask.
#[allow(
    clippy::unimplemented,
    reason = "a benchmark of what does not happen would mean nothing"
)]
fn question(question: guest::Question) -> host::Question {
    match question {
        guest::Question::Object(object) => host::Question::Object(reference(object)),
        guest::Question::Objects(query) => host::Question::Objects(host::ObjectQuery {
            api_version: query.api_version,
            kind: query.kind,
            namespaces: match query.namespaces {
                guest::Namespaces::Same => host::Namespaces::Same,
                guest::Namespaces::Every => host::Namespaces::Every,
                guest::Namespaces::Named(names) => host::Namespaces::Named(names),
                guest::Namespaces::Labelled(selector) => host::Namespaces::Labelled(selector),
            },
            selector: query.selector,
            detail: match query.detail {
                guest::Detail::Whole => host::Detail::Whole,
                guest::Detail::Metadata => host::Detail::Metadata,
            },
        }),
        guest::Question::Redis(query) => host::Question::Redis(host::RedisQuery {
            target: pod(query.target),
            login: query.login.map(login),
            commands: query.commands,
            timeout: query.timeout,
        }),
        guest::Question::Sql(_) | guest::Question::Http(_) => {
            unimplemented!("the Redis plugin asks no other servers")
        }
    }
}

fn reference(object: guest::ObjectRef) -> host::ObjectRef {
    host::ObjectRef {
        api_version: object.api_version,
        kind: object.kind,
        namespace: object.namespace,
        name: object.name,
    }
}

fn pod(target: guest::PodPort) -> host::PodPort {
    host::PodPort {
        pod: target.pod,
        uid: target.uid,
        port: target.port,
    }
}

fn secret(key: guest::SecretKey) -> host::SecretKey {
    host::SecretKey {
        namespace: key.namespace,
        name: key.name,
        key: key.key,
    }
}

fn login(login: guest::Login) -> host::Login {
    host::Login {
        user: login.user,
        passwords: login.passwords.into_iter().map(secret).collect(),
    }
}

fn plan(plan: guest::Plan) -> host::Plan {
    host::Plan {
        children: plan.children.into_iter().map(child).collect(),
        status: plan.status,
        measurements: plan.measurements.into_iter().map(measurement).collect(),
        refusals: plan.refusals.into_iter().map(refusal).collect(),
        events: plan.events.into_iter().map(event).collect(),
        actions: plan.actions.into_iter().map(step).collect(),
        requeue_after: plan.requeue_after,
        finalized: plan.finalized,
    }
}

fn child(child: guest::Child) -> host::Child {
    host::Child {
        manifest: child.manifest,
        when_dropped: match child.when_dropped {
            guest::WhenDropped::Delete => host::WhenDropped::Delete,
            guest::WhenDropped::Keep => host::WhenDropped::Keep,
        },
        write: match child.write {
            guest::Write::Apply => host::Write::Apply,
            guest::Write::CreateOnly => host::Write::CreateOnly,
        },
        when_immutable: match child.when_immutable {
            guest::WhenImmutable::Report => host::WhenImmutable::Report,
            guest::WhenImmutable::Recreate => host::WhenImmutable::Recreate,
            guest::WhenImmutable::RecreateOrphaning => host::WhenImmutable::RecreateOrphaning,
        },
        shared: child.shared,
        gzip: child.gzip,
    }
}

fn measurement(measurement: guest::Measurement) -> host::Measurement {
    host::Measurement {
        status: measurement.status,
        metric: measurement.metric.map(|metric| host::Metric {
            name: metric.name,
            labels: metric.labels,
        }),
        value: measurement.value,
    }
}

fn refusal(refusal: guest::Refusal) -> host::Refusal {
    host::Refusal {
        field: refusal.field,
        text: refusal.text,
    }
}

fn event(event: guest::Event) -> host::Event {
    host::Event {
        about: reference(event.about),
        severity: match event.severity {
            guest::Severity::Normal => host::Severity::Normal,
            guest::Severity::Warning => host::Severity::Warning,
        },
        reason: event.reason,
        text: event.text,
    }
}

fn step(step: guest::ActionStep) -> host::ActionStep {
    host::ActionStep {
        actions: step.actions.into_iter().map(action).collect(),
        if_failed: match step.if_failed {
            guest::IfFailed::GoOn => host::IfFailed::GoOn,
            guest::IfFailed::Stop => host::IfFailed::Stop,
        },
    }
}

fn action(action: guest::Action) -> host::Action {
    host::Action {
        id: action.id,
        effect: effect(action.effect),
        timeout: action.timeout,
        long: None,
    }
}

/// # Panics
/// On what the Redis plugin does not do.
#[allow(
    clippy::unimplemented,
    reason = "a benchmark of what does not happen would mean nothing"
)]
fn effect(effect: guest::Effect) -> host::Effect {
    match effect {
        guest::Effect::Redis(redis) => host::Effect::Redis(host::RedisAction {
            target: pod(redis.target),
            login: redis.login.map(login),
            commands: redis
                .commands
                .into_iter()
                .map(|command| command.into_iter().map(argument).collect())
                .collect(),
            guard: redis.guard.map(|guard| host::RedisGuard {
                command: guard.command,
                field: guard.field,
                equals: guard.equals,
            }),
        }),
        guest::Effect::Patch(patch) => host::Effect::Patch(host::PatchAction {
            object: reference(patch.object),
            uid: patch.uid,
            patch: patch.patch,
        }),
        guest::Effect::Delete(delete) => host::Effect::Delete(host::DeleteAction {
            object: reference(delete.object),
            uid: delete.uid,
            grace_seconds: delete.grace_seconds,
            wait: delete.wait,
        }),
        guest::Effect::Sql(_) | guest::Effect::Http(_) | guest::Effect::Evict(_) => {
            unimplemented!("the Redis plugin drives no other servers")
        }
    }
}

fn argument(argument: guest::Argument) -> host::Argument {
    match argument {
        guest::Argument::Text(text) => host::Argument::Text(text),
        guest::Argument::Parts(parts) => {
            host::Argument::Parts(parts.into_iter().map(part).collect())
        }
    }
}

fn part(part: guest::Part) -> host::Part {
    match part {
        guest::Part::Text(text) => host::Part::Text(text),
        guest::Part::Secret(key) => host::Part::Secret(secret(key)),
    }
}
