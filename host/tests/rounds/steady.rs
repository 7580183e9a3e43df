//! An object comes to be, stays as it should be, and nothing is written when nothing differs.

use serde_json::json;

use crate::operator::{Scripted, config_map, echo, object, plan};
use crate::world::{World, has_condition};

const GADGET: &str = "rounds.example.com/v1/Gadget";

#[tokio::test]
async fn an_object_gets_its_children_and_status_and_then_there_is_silence() {
    let world = World::new("silence").await;
    let host = world.host(&Scripted::new(echo)).await;
    world.make("Gadget", "one", json!({"say": "hello"})).await;
    let gadget = world
        .until(GADGET, "one", |gadget| {
            has_condition(gadget, "Synced", "True", "Applied")
        })
        .await;
    assert_eq!(gadget["status"]["said"], "hello");
    assert_eq!(gadget["status"]["observedGeneration"], 1);
    assert_eq!(
        world.json("v1/ConfigMap", "one").await["data"]["say"],
        "hello"
    );
    host.settles().await;
}

#[tokio::test]
async fn a_host_that_starts_anew_writes_nothing() {
    let world = World::new("anew").await;
    let operator = Scripted::new(echo);
    let host = world.host(&operator).await;
    world.make("Gadget", "one", json!({"say": "hello"})).await;
    world
        .until(GADGET, "one", |gadget| {
            has_condition(gadget, "Synced", "True", "Applied")
        })
        .await;
    host.settles().await;
    host.stop().await;
    let host = world.host(&operator).await;
    host.until_round("gadget", "one", |round| round.ended == "in step")
        .await;
    assert_eq!(host.writes(), [""; 0]);
    host.settles().await;
}

#[tokio::test]
async fn a_changed_spec_changes_what_follows_from_it() {
    let world = World::new("changed").await;
    let _host = world.host(&Scripted::new(echo)).await;
    world.make("Gadget", "one", json!({"say": "hello"})).await;
    world
        .until("v1/ConfigMap", "one", |map| map["data"]["say"] == "hello")
        .await;
    world
        .edit(GADGET, "one", json!({"spec": {"say": "bye"}}))
        .await;
    world
        .until("v1/ConfigMap", "one", |map| map["data"]["say"] == "bye")
        .await;
    world
        .until(GADGET, "one", |gadget| {
            gadget["status"]["observedGeneration"] == 2
        })
        .await;
}

#[tokio::test]
async fn what_somebody_changes_or_deletes_is_put_right() {
    let world = World::new("right").await;
    let _host = world.host(&Scripted::new(echo)).await;
    world.make("Gadget", "one", json!({"say": "hello"})).await;
    let map = world
        .until("v1/ConfigMap", "one", |map| map["data"]["say"] == "hello")
        .await;
    world
        .edit("v1/ConfigMap", "one", json!({"data": {"say": "nonsense"}}))
        .await;
    world
        .until("v1/ConfigMap", "one", |map| map["data"]["say"] == "hello")
        .await;
    world.delete("v1/ConfigMap", "one").await;
    world
        .until("v1/ConfigMap", "one", |again| {
            again["data"]["say"] == "hello" && again["metadata"]["uid"] != map["metadata"]["uid"]
        })
        .await;
}

#[tokio::test]
async fn a_child_that_is_no_longer_wanted_goes() {
    let world = World::new("pruned").await;
    let operator = Scripted::new(|request| {
        let children = vec![config_map("a", json!({})), config_map("b", json!({}))];
        plan(children, json!({"seen": object(request)["spec"]}))
    });
    let host = world.host(&operator).await;
    world.make("Gadget", "one", json!({})).await;
    world.until("v1/ConfigMap", "b", |map| !map.is_null()).await;
    operator.decides(|_| plan(vec![config_map("a", json!({}))], json!({})));
    world
        .edit(GADGET, "one", json!({"spec": {"next": true}}))
        .await;
    world.until("v1/ConfigMap", "b", |map| map.is_null()).await;
    assert!(!world.json("v1/ConfigMap", "a").await.is_null());
    host.settles().await;
}

#[tokio::test]
async fn a_paused_object_is_left_alone_and_says_so() {
    let world = World::new("paused").await;
    let operator = Scripted::new(echo);
    let _host = world.host(&operator).await;
    world.make("Gadget", "one", json!({"say": "hello"})).await;
    world
        .until(GADGET, "one", |gadget| {
            has_condition(gadget, "Synced", "True", "Applied")
        })
        .await;
    world
        .edit(
            GADGET,
            "one",
            json!({"metadata": {"annotations": {"windlass.dev/paused": "true"}}}),
        )
        .await;
    world
        .until(GADGET, "one", |gadget| {
            has_condition(gadget, "Synced", "False", "Paused")
        })
        .await;
    operator.requests();
    world
        .edit(GADGET, "one", json!({"spec": {"say": "bye"}}))
        .await;
    world
        .until(GADGET, "one", |gadget| {
            gadget["status"]["observedGeneration"] == 2
        })
        .await;
    assert!(operator.requests().is_empty());
    world
        .edit(
            GADGET,
            "one",
            json!({"metadata": {"annotations": {"windlass.dev/paused": null}}}),
        )
        .await;
    world
        .until("v1/ConfigMap", "one", |map| map["data"]["say"] == "bye")
        .await;
}
