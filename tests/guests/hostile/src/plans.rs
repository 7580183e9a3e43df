//! The steps that it answers with.

use serde_json::{Value, json};

use crate::bindings::exports::windlass::plugin::operator::{Request, Step};
use crate::bindings::windlass::plugin::facts::{Question, Requirement};
use crate::bindings::windlass::plugin::plans::{
    Action, ActionStep, Argument, Child, DeleteAction, Effect, IfFailed, Plan, RedisAction,
    WhenDropped, WhenImmutable, Write,
};
use crate::bindings::windlass::plugin::types::{ObjectRef, PodPort};

pub(crate) fn empty() -> Step {
    Step::Plan(nothing())
}

pub(crate) fn finalized() -> Step {
    Step::Plan(Plan {
        finalized: true,
        ..nothing()
    })
}

pub(crate) fn with_status(text: String) -> Step {
    Step::Plan(Plan {
        status: Some(json!({ "text": text }).to_string()),
        ..nothing()
    })
}

pub(crate) fn one_child(request: &Request) -> Step {
    let Names { name, .. } = names(request);
    with_child(config_map(json!({"name": format!("{name}-made")})))
}

pub(crate) fn many_children() -> Step {
    let text = "x".repeat(1 << 20);
    let children = (0..40).map(|_| child(text.clone())).collect();
    Step::Plan(Plan {
        children,
        ..nothing()
    })
}

pub(crate) fn garbage() -> Step {
    let children = vec![child("{ this is no JSON".into())];
    Step::Plan(Plan {
        children,
        status: Some("neither is this".into()),
        ..nothing()
    })
}

pub(crate) fn child_elsewhere(request: &Request) -> Step {
    let Names { name, .. } = names(request);
    with_child(config_map(
        json!({"name": name, "namespace": "kube-system"}),
    ))
}

pub(crate) fn child_of_another_kind(request: &Request) -> Step {
    let Names { name, .. } = names(request);
    with_child(json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name}}))
}

pub(crate) fn secret_from_elsewhere(request: &Request) -> Step {
    let Names { name, .. } = names(request);
    let slot = json!({"$parts": [{"secret": {
        "name": "canary", "namespace": "kube-system", "key": "password"
    }}]});
    with_child(json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "stringData": {"stolen": slot}
    }))
}

pub(crate) fn command_to_another_port() -> Step {
    let target = PodPort {
        pod: "victim-0".into(),
        uid: "0".into(),
        port: 22,
    };
    let commands = vec![vec![Argument::Text("PING".into())]];
    with_action(Effect::Redis(RedisAction {
        target,
        login: None,
        commands,
        guard: None,
    }))
}

pub(crate) fn delete_pod(request: &Request) -> Step {
    let Names { namespace, .. } = names(request);
    let object = ObjectRef {
        api_version: "v1".into(),
        kind: "Pod".into(),
        namespace: Some(namespace),
        name: "bystander".into(),
    };
    let uid = "0".into();
    with_action(Effect::Delete(DeleteAction {
        object,
        uid,
        grace_seconds: None,
        wait: 0,
    }))
}

pub(crate) fn one_more_question(request: &Request) -> Step {
    Step::Need((0..=request.facts.len()).map(question).collect())
}

pub(crate) fn question_twice() -> Step {
    Step::Need(vec![question(0), question(0)])
}

struct Names {
    namespace: String,
    name: String,
}

fn names(request: &Request) -> Names {
    let object: Value = serde_json::from_str(&request.object).unwrap_or_default();
    let text = |field: &str| {
        object["metadata"][field]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    };
    Names {
        namespace: text("namespace"),
        name: text("name"),
    }
}

fn question(number: usize) -> Requirement {
    Requirement {
        id: format!("pod-{number}"),
        stage: 0,
        question: Question::Object(ObjectRef {
            api_version: "v1".into(),
            kind: "Pod".into(),
            namespace: Some("default".into()),
            name: format!("pod-{number}"),
        }),
    }
}

fn config_map(metadata: Value) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"made": "by hostile"}})
}

fn with_child(manifest: Value) -> Step {
    Step::Plan(Plan {
        children: vec![child(manifest.to_string())],
        ..nothing()
    })
}

fn child(manifest: String) -> Child {
    Child {
        manifest,
        when_dropped: WhenDropped::Delete,
        write: Write::Apply,
        when_immutable: WhenImmutable::Report,
        shared: false,
        gzip: Vec::new(),
    }
}

fn with_action(effect: Effect) -> Step {
    let actions = vec![Action {
        id: "one".into(),
        effect,
        timeout: 1_000,
        long: None,
    }];
    let actions = vec![ActionStep {
        actions,
        if_failed: IfFailed::Stop,
    }];
    Step::Plan(Plan {
        actions,
        ..nothing()
    })
}

fn nothing() -> Plan {
    Plan {
        children: Vec::new(),
        status: None,
        measurements: Vec::new(),
        refusals: Vec::new(),
        events: Vec::new(),
        actions: Vec::new(),
        requeue_after: None,
        finalized: false,
    }
}
