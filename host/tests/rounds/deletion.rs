//! Deletion progresses, or says what it waits for.

use serde_json::json;
use windlass::plugin::bindings::{Plan, Request, Step};
use windlass::plugin::{CallError, Fault};
use windlass::reconcile::{FINALIZER, LET_GO};

use crate::operator::{Scripted, empty, plan};
use crate::world::{World, has_condition};

const KEEPER: &str = "rounds.example.com/v1/Keeper";
const GADGET: &str = "rounds.example.com/v1/Gadget";

fn nothing(_: &Request) -> Result<Step, CallError> {
    plan(vec![], json!({}))
}

fn held(object: &serde_json::Value) -> bool {
    object["metadata"]["finalizers"] == json!([FINALIZER])
}

#[tokio::test]
async fn an_object_is_held_until_its_plugin_has_finished_with_it() {
    let world = World::new("held").await;
    let operator = Scripted::new(nothing);
    operator.finalizes(|_| plan(vec![], json!({"phase": "Leaving"})));
    let host = world.host(&operator).await;
    world.make("Keeper", "one", json!({})).await;
    world.until(KEEPER, "one", held).await;
    world
        .until(KEEPER, "one", |keeper| {
            has_condition(keeper, "Synced", "True", "Applied")
        })
        .await;
    host.settles().await;
    world.delete(KEEPER, "one").await;
    world
        .until(KEEPER, "one", |keeper| {
            keeper["status"]["phase"] == "Leaving"
        })
        .await;
    let asked = operator.requests();
    let deletion = asked
        .last()
        .unwrap()
        .deletion
        .expect("finalize is told about the deletion");
    assert!(!deletion.namespace_terminating);
    operator.finalizes(|_| {
        Ok(Step::Plan(Plan {
            finalized: true,
            ..empty()
        }))
    });
    world
        .edit(
            KEEPER,
            "one",
            json!({"metadata": {"annotations": {"any": "thing"}}}),
        )
        .await;
    world.until(KEEPER, "one", |keeper| keeper.is_null()).await;
}

#[tokio::test]
async fn an_object_whose_plugin_does_not_finalize_goes_at_once() {
    let world = World::new("atonce").await;
    let _host = world.host(&Scripted::new(nothing)).await;
    world.make("Gadget", "one", json!({})).await;
    let gadget = world
        .until(GADGET, "one", |gadget| {
            has_condition(gadget, "Synced", "True", "Applied")
        })
        .await;
    assert_eq!(gadget["metadata"]["finalizers"], json!(null));
    world.delete(GADGET, "one").await;
    world.until(GADGET, "one", |gadget| gadget.is_null()).await;
}

#[tokio::test]
async fn a_broken_plugin_says_so_on_the_object_and_a_person_can_let_it_go() {
    let world = World::new("letgo").await;
    let operator = Scripted::new(nothing);
    operator.finalizes(|_| {
        Err(CallError::Fault(Fault::Trapped {
            trap: "unreachable".into(),
            printed: String::new(),
        }))
    });
    let _host = world.host(&operator).await;
    world.make("Keeper", "one", json!({})).await;
    world.until(KEEPER, "one", held).await;
    world.delete(KEEPER, "one").await;
    world
        .until(KEEPER, "one", |keeper| {
            has_condition(keeper, "Synced", "False", "PluginFailed")
        })
        .await;
    world
        .edit(
            KEEPER,
            "one",
            json!({"metadata": {"annotations": {LET_GO: "true"}}}),
        )
        .await;
    world.until(KEEPER, "one", |keeper| keeper.is_null()).await;
}

#[tokio::test]
async fn a_deletion_asked_for_while_no_host_ran_is_finished_by_the_next() {
    let world = World::new("while").await;
    let operator = Scripted::new(nothing);
    let host = world.host(&operator).await;
    world.make("Keeper", "one", json!({})).await;
    world.until(KEEPER, "one", held).await;
    host.stop().await;
    world.delete(KEEPER, "one").await;
    assert!(held(&world.json(KEEPER, "one").await));
    let _host = world.host(&operator).await;
    world.until(KEEPER, "one", |keeper| keeper.is_null()).await;
}

#[tokio::test]
async fn other_finalizers_are_left_to_others() {
    let world = World::new("theirs").await;
    let _host = world.host(&Scripted::new(nothing)).await;
    world.make("Keeper", "one", json!({})).await;
    world.until(KEEPER, "one", held).await;
    world
        .edit(
            KEEPER,
            "one",
            json!({"metadata": {"finalizers": [FINALIZER, "example.com/theirs"]}}),
        )
        .await;
    world.delete(KEEPER, "one").await;
    world
        .until(KEEPER, "one", |keeper| {
            keeper["metadata"]["finalizers"] == json!(["example.com/theirs"])
        })
        .await;
}
