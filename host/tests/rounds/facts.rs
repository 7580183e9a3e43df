//! What a plugin asks for, it is told, and a change of it wakes the object.

use serde_json::{Value, json};
use windlass::plugin::CallError;
use windlass::plugin::bindings::{
    Answer, Detail, Namespaces, ObjectQuery, Question, Request, Requirement, Step,
};

use crate::operator::{Scripted, crd, fact, name, plan};
use crate::world::{World, has_condition, names};

const GADGET: &str = "rounds.example.com/v1/Gadget";

fn objects(kind: &str, selector: &str, stage: u32) -> Requirement {
    let (api_version, kind) = kind.rsplit_once('/').unwrap();
    let question = Question::Objects(ObjectQuery {
        api_version: api_version.into(),
        kind: kind.into(),
        namespaces: Namespaces::Same,
        selector: selector.into(),
        detail: Detail::Whole,
    });
    Requirement {
        id: format!("{stage}-{kind}-{selector}"),
        stage,
        question,
    }
}

/// Says in status which Pods of its own it is told of.
fn count_pods(request: &Request) -> Result<Step, CallError> {
    let asked = objects("v1/Pod", &format!("gadget={}", name(request)), 0);
    match fact(request, &asked) {
        Err(need) => Ok(need),
        Ok(Answer::Objects(pods)) => plan(vec![], json!({"pods": names(pods)})),
        Ok(Answer::Refused(grant)) => plan(vec![], json!({"pods": grant})),
        Ok(other) => panic!("{other:?}"),
    }
}

fn pod(pod: &str, gadget: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": pod, "labels": {"gadget": gadget}},
        "spec": {"containers": [{"name": "c", "image": "none"}]}})
}

#[tokio::test]
async fn what_begins_or_ceases_to_match_wakes_the_object_that_asked() {
    let world = World::new("matches").await;
    let _host = world.host(&Scripted::new(count_pods)).await;
    world.make("Gadget", "one", json!({})).await;
    world
        .until(GADGET, "one", |gadget| {
            gadget["status"]["pods"] == json!([])
        })
        .await;
    world.create("v1/Pod", pod("p", "one")).await;
    world
        .until(GADGET, "one", |gadget| {
            gadget["status"]["pods"] == json!(["p"])
        })
        .await;
    world
        .edit(
            "v1/Pod",
            "p",
            json!({"metadata": {"labels": {"gadget": "other"}}}),
        )
        .await;
    world
        .until(GADGET, "one", |gadget| {
            gadget["status"]["pods"] == json!([])
        })
        .await;
    world
        .edit(
            "v1/Pod",
            "p",
            json!({"metadata": {"labels": {"gadget": "one"}}}),
        )
        .await;
    world
        .until(GADGET, "one", |gadget| {
            gadget["status"]["pods"] == json!(["p"])
        })
        .await;
}

#[tokio::test]
async fn in_steady_state_a_round_is_one_call() {
    let world = World::new("onecall").await;
    let operator = Scripted::new(count_pods);
    let host = world.host(&operator).await;
    world.make("Gadget", "one", json!({})).await;
    world
        .until(GADGET, "one", |gadget| {
            gadget["status"]["pods"] == json!([])
        })
        .await;
    host.settles().await;
    operator.requests();
    world.create("v1/Pod", pod("p", "one")).await;
    world
        .until(GADGET, "one", |gadget| {
            gadget["status"]["pods"] == json!(["p"])
        })
        .await;
    let rounds = host.rounds("gadget", "one");
    assert_eq!(rounds.last().unwrap().calls, 1, "{rounds:#?}");
}

#[tokio::test]
async fn other_objects_are_not_woken() {
    let world = World::new("others").await;
    let operator = Scripted::new(count_pods);
    let host = world.host(&operator).await;
    for gadget in ["one", "two"] {
        world.make("Gadget", gadget, json!({})).await;
        world
            .until(GADGET, gadget, |gadget| {
                gadget["status"]["pods"] == json!([])
            })
            .await;
    }
    host.settles().await;
    operator.requests();
    world.create("v1/Pod", pod("p", "one")).await;
    world
        .until(GADGET, "one", |gadget| {
            gadget["status"]["pods"] == json!(["p"])
        })
        .await;
    host.settles().await;
    assert!(
        operator
            .requests()
            .iter()
            .all(|request| name(request) == "one")
    );
}

#[tokio::test]
async fn without_the_grant_a_fact_is_refused_by_its_name() {
    let world = World::new("refused").await;
    let _host = world
        .host_with(&Scripted::new(count_pods), &["own:v1/ConfigMap"])
        .await;
    world.make("Gadget", "one", json!({})).await;
    let refused = json!("read:v1/Pod");
    world
        .until(GADGET, "one", |gadget| gadget["status"]["pods"] == refused)
        .await;
}

#[tokio::test]
async fn a_kind_that_is_not_served_is_left_out_of_what_is_available() {
    let world = World::new("absent").await;
    let operator =
        Scripted::new(|request: &Request| plan(vec![], json!({"available": request.available})));
    let _host = world.host(&operator).await;
    world.make("Gadget", "one", json!({})).await;
    let expected = json!(["own:v1/ConfigMap", "own:v1/Service", "read:v1/Pod"]);
    world
        .until(GADGET, "one", |gadget| {
            gadget["status"]["available"] == expected
        })
        .await;
}

#[tokio::test]
async fn a_kind_that_is_installed_or_removed_later_is_noticed() {
    let world = World::new("late").await;
    world.uninstall("lates.rounds.example.com").await;
    let operator =
        Scripted::new(|request: &Request| plan(vec![], json!({"available": request.available})));
    let _host = world
        .host_with(&operator, &["read:rounds.example.com/v1/Late"])
        .await;
    world.make("Gadget", "one", json!({})).await;
    let available = |kinds: Value| move |gadget: &Value| gadget["status"]["available"] == kinds;
    world.until(GADGET, "one", available(json!([]))).await;
    world.install(crd("Late")).await;
    world
        .until(
            GADGET,
            "one",
            available(json!(["read:rounds.example.com/v1/Late"])),
        )
        .await;
    world.uninstall("lates.rounds.example.com").await;
    world.until(GADGET, "one", available(json!([]))).await;
}

#[tokio::test]
async fn a_plan_without_the_grant_is_refused_as_a_whole() {
    let world = World::new("whole").await;
    let operator = Scripted::new(|_: &Request| {
        let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}});
        let fine = crate::operator::config_map("fine", json!({}));
        plan(
            vec![fine, crate::operator::child(&secret)],
            json!({"phase": "x"}),
        )
    });
    let _host = world.host(&operator).await;
    world.make("Gadget", "one", json!({})).await;
    let gadget = world
        .until(GADGET, "one", |gadget| {
            has_condition(gadget, "Synced", "False", "GrantMissing")
        })
        .await;
    let text = gadget["status"]["conditions"].to_string();
    assert!(text.contains("own:v1/Secret"), "{text}");
    assert_eq!(gadget["status"]["phase"], Value::Null);
    assert!(world.json("v1/ConfigMap", "fine").await.is_null());
}
