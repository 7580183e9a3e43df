//! What a plan may hold, and by which name it is refused.

use serde_json::{Value, json};

use super::*;
use crate::object::Kind;
use crate::plugin::bindings::{
    Action, ActionStep, Argument, Child, DeleteAction, Effect, Event, EvictAction, IfFailed, Login,
    Measurement, Metric, ObjectRef, Part, PatchAction, PodPort, RedisAction, RedisGuard, SecretKey,
    Severity, WhenDropped, WhenImmutable, Write,
};

const GRANTS: [&str; 6] = [
    "own:v1/Secret",
    "own:v1/ConfigMap",
    "own:v1/Service",
    "act:redis:6379",
    "act:patch:v1/Pod",
    "slots-from:shared",
];

fn owner() -> Object {
    let live = serde_json::from_value(
        json!({"metadata": {"name": "a", "namespace": "default", "uid": "u"}}),
    );
    Object::new(&Kind::new("redis.example.com/v1", "Redis"), live.unwrap()).unwrap()
}

fn grants() -> Grants {
    GRANTS.iter().map(|name| name.parse().unwrap()).collect()
}

fn empty() -> Plan {
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

fn child(manifest: Value) -> Child {
    Child {
        manifest: manifest.to_string(),
        when_dropped: WhenDropped::Delete,
        write: Write::Apply,
        when_immutable: WhenImmutable::Report,
        shared: false,
        gzip: Vec::new(),
    }
}

fn config_map(rest: Value) -> Value {
    let mut manifest = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}});
    for (key, value) in rest.as_object().unwrap() {
        manifest[key] = value.clone();
    }
    manifest
}

fn secret(rest: Value) -> Value {
    let mut manifest = config_map(rest);
    manifest["kind"] = "Secret".into();
    manifest
}

fn refused(plan: Plan) -> String {
    check(plan, Call::Reconcile, &owner(), &grants())
        .expect_err("it was accepted")
        .to_string()
}

fn refused_child(child: Child) -> String {
    refused(Plan {
        children: vec![child],
        ..empty()
    })
}

fn checked(manifest: Value) -> WantedChild {
    let plan = Plan {
        children: vec![child(manifest)],
        ..empty()
    };
    let checked = check(plan, Call::Reconcile, &owner(), &grants()).unwrap();
    checked.children()[0].clone()
}

fn refused_effect(effect: Effect) -> String {
    refused(with_action(Action {
        id: "one".into(),
        effect,
        timeout: 1000,
        long: None,
    }))
}

fn with_action(action: Action) -> Plan {
    let actions = vec![ActionStep {
        actions: vec![action],
        if_failed: IfFailed::Stop,
    }];
    Plan { actions, ..empty() }
}

fn pod() -> ObjectRef {
    ObjectRef {
        api_version: "v1".into(),
        kind: "Pod".into(),
        namespace: Some("default".into()),
        name: "p".into(),
    }
}

fn redis(command: Vec<Argument>) -> Effect {
    let target = PodPort {
        pod: "p".into(),
        uid: "u".into(),
        port: 6379,
    };
    Effect::Redis(RedisAction {
        target,
        login: None,
        commands: vec![command],
        guard: None,
    })
}

fn text(text: &str) -> Argument {
    Argument::Text(text.into())
}

fn password(prefix: &str) -> Argument {
    let key = SecretKey {
        namespace: "default".into(),
        name: "s".into(),
        key: "k".into(),
    };
    Argument::Parts(vec![Part::Text(prefix.into()), Part::Secret(key)])
}

#[test]
fn each_violation_of_a_grant_is_refused_by_its_name() {
    let patch = |object| {
        Effect::Patch(PatchAction {
            object,
            uid: "u".into(),
            patch: "{}".into(),
        })
    };
    let delete = DeleteAction {
        object: pod(),
        uid: "u".into(),
        grace_seconds: None,
        wait: 0,
    };
    let evict = EvictAction {
        pod: "p".into(),
        uid: "u".into(),
    };
    let service = ObjectRef {
        kind: "Service".into(),
        ..pod()
    };
    let elsewhere = PodPort {
        pod: "p".into(),
        uid: "u".into(),
        port: 6380,
    };
    let redis_elsewhere = RedisAction {
        target: elsewhere,
        login: None,
        commands: vec![vec![text("PING")]],
        guard: None,
    };
    let from = |namespace: &str| {
        child(secret(json!({"data": {"k": {"$parts": [
            {"secret": {"namespace": namespace, "name": "s", "key": "k"}}]}}})))
    };
    let login = Login {
        user: "u".into(),
        passwords: vec![SecretKey {
            namespace: "other".into(),
            name: "s".into(),
            key: "k".into(),
        }],
    };
    let with_login = RedisAction {
        target: PodPort {
            pod: "p".into(),
            uid: "u".into(),
            port: 6379,
        },
        login: Some(login),
        commands: vec![vec![text("PING")]],
        guard: None,
    };
    let stateful_set =
        json!({"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "s"}});
    for (grant, message) in [
        (
            "own:apps/v1/StatefulSet",
            refused_child(child(stateful_set)),
        ),
        ("slots-from:other", refused_child(from("other"))),
        (
            "slots-from:other",
            refused_effect(Effect::Redis(with_login)),
        ),
        (
            "act:redis:6380",
            refused_effect(Effect::Redis(redis_elsewhere)),
        ),
        ("act:patch:v1/Service", refused_effect(patch(service))),
        ("act:delete:v1/Pod", refused_effect(Effect::Delete(delete))),
        ("act:evict", refused_effect(Effect::Evict(evict))),
    ] {
        assert!(
            message.contains(&format!("needs the grant {grant}")),
            "{grant}: {message}"
        );
    }
    let allowed = Plan {
        children: vec![from("shared")],
        ..empty()
    };
    assert!(check(allowed, Call::Reconcile, &owner(), &grants()).is_ok());
}

#[test]
fn a_child_that_breaks_a_rule_refuses_the_plan_and_says_which() {
    let with = |change: fn(&mut Child)| {
        let mut child = child(secret(
            json!({"stringData": {"k": {"$parts": [{"random": {"id": "p", "length": 16}}]}}}),
        ));
        change(&mut child);
        child
    };
    for (hint, child) in [
        (
            "not a JSON object",
            Child {
                manifest: "[]".into(),
                ..child(json!({}))
            },
        ),
        (
            "lacks apiVersion",
            child(json!({"metadata": {"name": "c"}})),
        ),
        (
            "lacks apiVersion",
            child(json!({"apiVersion": "v1", "kind": "ConfigMap"})),
        ),
        (
            "own namespace only",
            child(config_map(
                json!({"metadata": {"name": "c", "namespace": "kube-system"}}),
            )),
        ),
        (
            "without / and %",
            child(config_map(json!({"metadata": {"name": "../c"}}))),
        ),
        (
            "metadata.ownerReferences",
            child(config_map(
                json!({"metadata": {"name": "c", "ownerReferences": []}}),
            )),
        ),
        (
            "is the host's",
            child(config_map(
                json!({"metadata": {"name": "c", "labels": {"windlass.dev/owner": "x"}}}),
            )),
        ),
        (
            "status is its controller's",
            child(config_map(json!({"status": {}}))),
        ),
        (
            "data.k is a slot",
            child(config_map(json!({"data": {"k": {"$parts": []}}}))),
        ),
        (
            "metadata.annotations.x is a slot",
            child(secret(
                json!({"metadata": {"name": "c", "annotations": {"x": {"$parts": []}}}}),
            )),
        ),
        ("not base64", child(secret(json!({"data": {"k": "~"}})))),
        (
            "neither a string nor a slot",
            child(secret(json!({"data": {"k": {"$parts": [], "x": 1}}}))),
        ),
        ("a shared child may not", with(|child| child.shared = true)),
        (
            "gzip names \"x\"",
            with(|child| child.gzip = vec!["x".into()]),
        ),
        (
            "stand alone",
            child(secret(
                json!({"data": {"k": {"$parts": ["a", {"random": {"id": "p", "length": 16}}]}}}),
            )),
        ),
    ] {
        let message = refused_child(child);
        assert!(message.contains(hint), "{hint}: {message}");
    }
    let twice = vec![
        child(config_map(json!({}))),
        child(config_map(json!({"data": {}}))),
    ];
    assert!(
        refused(Plan {
            children: twice,
            ..empty()
        })
        .contains("named twice")
    );
}

#[test]
fn a_child_is_normalised() {
    let child = checked(secret(json!({
        "metadata": {"name": "c", "creationTimestamp": null, "labels": {"a": "b"}},
        "data": {"both": "eA==", "base64": "eA=="},
        "stringData": {"both": "y", "slot": {"$parts": ["z"]}},
    })));
    assert_eq!(
        Value::Object(child.manifest),
        secret(json!({
            "metadata": {"name": "c", "namespace": "default", "labels": {"a": "b"}},
            "data": {"both": "eQ==", "base64": "eA=="},
        }))
    );
    assert_eq!(child.slots.keys().collect::<Vec<_>>(), ["slot"]);
}

#[test]
fn secrets_stand_only_where_redis_takes_a_password() {
    for command in [
        vec![text("AUTH"), password("")],
        vec![text("auth"), text("user"), password("")],
        vec![
            text("ACL"),
            text("SETUSER"),
            text("u"),
            text("on"),
            password(">"),
        ],
        vec![
            text("CONFIG"),
            text("SET"),
            text("masteruser"),
            text("u"),
            text("masterauth"),
            password(""),
        ],
    ] {
        let plan = with_action(Action {
            id: "one".into(),
            effect: redis(command),
            timeout: 1,
            long: None,
        });
        assert!(check(plan, Call::Reconcile, &owner(), &grants()).is_ok());
    }
    for command in [
        vec![text("SET"), text("k"), password("")],
        vec![text("AUTH"), password(""), text("x")],
        vec![text("ACL"), text("SETUSER"), password(">")],
        vec![text("ACL"), text("SETUSER"), text("u"), password("~")],
        vec![
            text("CONFIG"),
            text("SET"),
            text("masterauth"),
            text("x"),
            text("dir"),
            password(""),
        ],
        vec![text("CONFIG"), text("SET"), password("")],
    ] {
        let message = refused_effect(redis(command.clone()));
        assert!(
            message.contains("where a password does"),
            "{command:?}: {message}"
        );
    }
    assert!(refused_effect(redis(vec![password("")])).contains("begins with its name"));
}

#[test]
fn an_action_that_breaks_a_rule_refuses_the_plan_and_says_which() {
    let patch = |patch: Value| {
        Effect::Patch(PatchAction {
            object: pod(),
            uid: "u".into(),
            patch: patch.to_string(),
        })
    };
    let elsewhere = ObjectRef {
        namespace: Some("kube-system".into()),
        ..pod()
    };
    for (hint, effect) in [
        (
            "stay in the object's own",
            Effect::Patch(PatchAction {
                object: elsewhere,
                uid: "u".into(),
                patch: "{}".into(),
            }),
        ),
        (
            "names no uid",
            Effect::Patch(PatchAction {
                object: pod(),
                uid: String::new(),
                patch: "{}".into(),
            }),
        ),
        ("not a JSON object", patch(json!([]))),
        ("may not change kind", patch(json!({"kind": "X"}))),
        (
            "metadata.ownerReferences",
            patch(json!({"metadata": {"ownerReferences": []}})),
        ),
        (
            "metadata.finalizers",
            patch(json!({"metadata": {"finalizers": null}})),
        ),
        (
            "replaces all metadata.labels",
            patch(json!({"metadata": {"labels": null}})),
        ),
        ("replaces all of metadata", patch(json!({"metadata": null}))),
        (
            "is the host's",
            patch(json!({"metadata": {"labels": {"windlass.dev/owner": "x"}}})),
        ),
    ] {
        let message = refused_effect(effect);
        assert!(message.contains(hint), "{hint}: {message}");
    }
    let mut guarded = redis(vec![text("PING")]);
    if let Effect::Redis(action) = &mut guarded {
        let command = ["SET", "a", "b"].map(String::from).to_vec();
        action.guard = Some(RedisGuard {
            command,
            field: None,
            equals: String::new(),
        });
    }
    assert!(refused_effect(guarded).contains("its guard"));
    let ping = || redis(vec![text("PING")]);
    let slow = with_action(Action {
        id: "one".into(),
        effect: ping(),
        timeout: 30_001,
        long: None,
    });
    assert!(refused(slow).contains("30001 ms"));
    let mut twice = with_action(Action {
        id: "one".into(),
        effect: ping(),
        timeout: 1,
        long: None,
    });
    twice.actions.extend(twice.actions.clone());
    assert!(refused(twice).contains("another action has this id"));
}

/// An Event that is too long once had every round of a cluster refused, its failover included.
#[test]
fn a_text_for_people_that_is_too_long_refuses_nothing() {
    let text = "ü".repeat(1000);
    let event = Event {
        about: pod(),
        severity: Severity::Normal,
        reason: "Long".into(),
        text: text.clone(),
    };
    let refusal = Refusal {
        field: "spec.backup".into(),
        text,
    };
    let plan = Plan {
        events: vec![event],
        refusals: vec![refusal],
        ..empty()
    };
    let checked = check(plan, Call::Reconcile, &owner(), &grants()).unwrap();
    assert_eq!(checked.events.len(), 1);
    assert_eq!(checked.refusals[0].text.len(), 1024);
}

#[test]
fn what_is_told_to_people_is_limited() {
    let event = |about, reason: &str, text: &str| Event {
        about,
        severity: Severity::Normal,
        reason: reason.into(),
        text: text.into(),
    };
    let elsewhere = ObjectRef {
        namespace: Some("kube-system".into()),
        ..pod()
    };
    for (hint, event) in [
        ("CamelCase", event(pod(), "not camel", "x")),
        (
            "not in the object's namespace",
            event(elsewhere, "Elsewhere", "x"),
        ),
    ] {
        let message = refused(Plan {
            events: vec![event],
            ..empty()
        });
        assert!(message.contains(hint), "{hint}: {message}");
    }
    let figure = |status: Option<&str>, name: &str, value: &str| Measurement {
        status: status.map(Into::into),
        metric: Some(Metric {
            name: name.into(),
            labels: Vec::new(),
        }),
        value: value.into(),
    };
    for (hint, figure) in [
        ("JSON pointer", figure(Some("lag"), "lag", "1")),
        ("a-z, 0-9 and _", figure(None, "Lag", "1")),
        ("not JSON", figure(None, "lag", "one")),
    ] {
        let message = refused(Plan {
            measurements: vec![figure],
            ..empty()
        });
        assert!(message.contains(hint), "{hint}: {message}");
    }
    assert!(
        refused(Plan {
            status: Some("[]".into()),
            ..empty()
        })
        .contains("JSON object")
    );
    assert!(
        refused(Plan {
            status: Some(r#"{"conditions": [{}]}"#.into()),
            ..empty()
        })
        .contains("lacks type")
    );
    assert!(
        refused(Plan {
            requeue_after: Some(499),
            ..empty()
        })
        .contains("at least 500")
    );
    assert!(
        refused(Plan {
            finalized: true,
            ..empty()
        })
        .contains("only finalize")
    );
}

#[test]
fn the_secrets_that_children_take_are_known() {
    let manifest =
        secret(json!({"data": {"k": {"$parts": [{"secret": {"name": "s", "key": "k"}}]}}}));
    let plan = Plan {
        children: vec![child(manifest)],
        ..empty()
    };
    let checked = check(plan, Call::Reconcile, &owner(), &grants()).unwrap();
    let sources: Vec<_> = checked
        .slot_sources()
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(sources, ["Secret default/s"]);
}
