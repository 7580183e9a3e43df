//! A plugin asks and does no more at a time than its Plugin allows.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use serde_json::{Value, json};
use tokio::sync::watch;
use windlass::plugin::CallError;
use windlass::plugin::bindings::{
    Action, ActionStep, DeleteAction, Effect, IfFailed, ObjectRef, Plan, PodPort, Question,
    RedisQuery, Request, Requirement, Step,
};
use windlass::query::{Credentials, RedisReplies};

use crate::operator::{Scripted, empty, fact, object, plan};
use crate::servers::Server;
use crate::world::{World, has_condition};

const GADGET: &str = "rounds.example.com/v1/Gadget";

/// A Redis server that answers nothing until it is told to.
#[derive(Default)]
struct Slow {
    asked: AtomicUsize,
    most: AtomicUsize,
    answers: watch::Sender<bool>,
}

#[async_trait]
impl Server for Slow {
    async fn redis(&self, _: Option<&Credentials>) -> RedisReplies {
        let asked = self.asked.fetch_add(1, Ordering::SeqCst) + 1;
        self.most.fetch_max(asked, Ordering::SeqCst);
        let mut answers = self.answers.subscribe();
        answers.wait_for(|answers| *answers).await.unwrap();
        self.asked.fetch_sub(1, Ordering::SeqCst);
        RedisReplies {
            replies: vec![json!({"ok": "PONG"})],
            password: None,
        }
    }
}

/// Asks the Pod `db` three times over, once its uid stands in spec.
fn asks(request: &Request) -> Result<Step, CallError> {
    let gadget = object(request);
    let Some(uid) = gadget["spec"]["pod"].as_str() else {
        return Ok(Step::Plan(empty()));
    };
    let question = Question::Redis(RedisQuery {
        target: PodPort {
            pod: "db".into(),
            uid: uid.into(),
            port: 6379,
        },
        login: None,
        commands: vec![vec!["PING".into()]],
        timeout: 1000,
    });
    let asked: Vec<_> = ["a", "b", "c"]
        .map(|id| Requirement {
            id: id.into(),
            stage: 0,
            question: question.clone(),
        })
        .into();
    match asked.iter().all(|asked| fact(request, asked).is_ok()) {
        true => plan(vec![], json!({"told": true})),
        false => Ok(Step::Need(asked)),
    }
}

#[tokio::test]
async fn no_more_is_asked_at_once_than_the_plugin_is_allowed() {
    let server = Arc::new(Slow::default());
    let world = World::new("at-once").await.with_server(&server);
    let world = world.with_limits(json!({"queriesAtOnce": 2}));
    let grants = ["read:v1/Pod", "query:redis:6379"];
    let _host = world.host_with(&Scripted::new(asks), &grants).await;
    world.make("Gadget", "one", json!({})).await;
    world.make_pod("db", GADGET, "one").await;
    let uid = world.json("v1/Pod", "db").await["metadata"]["uid"].clone();
    world
        .edit(GADGET, "one", json!({"spec": {"pod": uid}}))
        .await;
    let two = async {
        while server.asked.load(Ordering::SeqCst) < 2 {
            tokio::task::yield_now().await;
        }
    };
    let two = tokio::time::timeout(Duration::from_secs(60), two).await;
    two.expect("it is not asked");
    server.answers.send_replace(true);
    world
        .until(GADGET, "one", |gadget| gadget["status"]["told"] == true)
        .await;
    assert_eq!(server.most.load(Ordering::SeqCst), 2);
}

/// Deletes the ConfigMap that spec names.
fn deletes(request: &Request) -> Result<Step, CallError> {
    let gadget = object(request);
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let delete = Action {
        id: "delete".into(),
        effect: Effect::Delete(DeleteAction {
            object: ObjectRef {
                api_version: "v1".into(),
                kind: "ConfigMap".into(),
                namespace: gadget["metadata"]["namespace"].as_str().map(str::to_owned),
                name: text(&gadget["spec"]["map"]),
            },
            uid: text(&gadget["spec"]["uid"]),
            grace_seconds: None,
            wait: 0,
        }),
        timeout: 5000,
        long: None,
    };
    let did = gadget["status"]["did"] == true || !request.outcomes.is_empty();
    let actions = match did {
        true => Vec::new(),
        false => vec![delete],
    };
    Ok(Step::Plan(Plan {
        status: Some(json!({"did": did}).to_string()),
        actions: vec![ActionStep {
            actions,
            if_failed: IfFailed::Stop,
        }],
        ..empty()
    }))
}

/// A Gadget that deletes a ConfigMap of its name.
async fn make_deleting(world: &World, name: &str) {
    let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}});
    world.create("v1/ConfigMap", map).await;
    let uid = world.json("v1/ConfigMap", name).await["metadata"]["uid"].clone();
    let spec = json!({"map": name, "uid": uid});
    world.make("Gadget", name, spec).await;
}

#[tokio::test]
async fn a_plan_that_deletes_more_than_is_allowed_in_a_minute_waits_and_says_so() {
    let world = World::new("rate").await;
    let world = world.with_limits(json!({"deletesPerMinute": 1}));
    let grants = ["act:delete:v1/ConfigMap"];
    let _host = world.host_with(&Scripted::new(deletes), &grants).await;
    make_deleting(&world, "one").await;
    world.until("v1/ConfigMap", "one", Value::is_null).await;
    make_deleting(&world, "two").await;
    let gadget = world
        .until(GADGET, "two", |gadget| {
            has_condition(gadget, "Synced", "False", "RateLimited")
        })
        .await;
    let told = gadget["status"]["conditions"].to_string();
    assert!(told.contains("deletesPerMinute of 1"), "{told}");
    assert!(!world.json("v1/ConfigMap", "two").await.is_null());
}
