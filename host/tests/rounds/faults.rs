//! What goes wrong harms only its own object, and is told on it.

use serde_json::json;
use windlass::plugin::bindings::{ObjectRef, Question, Request, Requirement, Step};
use windlass::plugin::{CallError, Fault};

use crate::operator::{Scripted, child, config_map, name, plan};
use crate::world::{World, has_condition};

const GADGET: &str = "rounds.example.com/v1/Gadget";

/// Decides well for all but the object `bad`.
fn well_but_for_bad(
    request: &Request,
    bad: impl Fn(&Request) -> Result<Step, CallError>,
) -> Result<Step, CallError> {
    match name(request).as_str() {
        "bad" => bad(request),
        other => plan(vec![config_map(other, json!({}))], json!({"phase": "fine"})),
    }
}

/// A bad and a good object; waits until the bad one says this and the good one is well.
async fn only_the_bad_one_suffers(
    test: &str,
    bad: impl Fn(&Request) -> Result<Step, CallError> + Send + Sync + 'static,
    reason: &str,
) -> serde_json::Value {
    let world = World::new(test).await;
    let _host = world
        .host(&Scripted::new(move |request| {
            well_but_for_bad(request, &bad)
        }))
        .await;
    world.make("Gadget", "bad", json!({})).await;
    world.make("Gadget", "good", json!({})).await;
    world
        .until(GADGET, "good", |gadget| {
            has_condition(gadget, "Synced", "True", "Applied")
        })
        .await;
    world
        .until(GADGET, "bad", |gadget| {
            has_condition(gadget, "Synced", "False", reason)
        })
        .await
}

#[tokio::test]
async fn a_crash_is_told_without_what_the_plugin_said() {
    let crash = |_: &Request| {
        Err(CallError::Fault(Fault::Trapped {
            trap: "unreachable".into(),
            printed: "canary".into(),
        }))
    };
    let told = only_the_bad_one_suffers("crash", crash, "PluginFailed").await;
    assert!(!told.to_string().contains("canary"), "{told}");
}

#[tokio::test]
async fn a_spec_that_can_never_work_is_told() {
    let invalid = |_: &Request| Err(CallError::Invalid("replicas is odd".into()));
    let told = only_the_bad_one_suffers("invalid", invalid, "SpecInvalid").await;
    assert!(told.to_string().contains("replicas is odd"), "{told}");
}

#[tokio::test]
async fn what_does_not_pass_is_told() {
    let transient = |_: &Request| Err(CallError::Transient("no quorum yet".into()));
    only_the_bad_one_suffers("transient", transient, "Retrying").await;
}

#[tokio::test]
async fn a_plan_that_breaks_the_contract_is_refused() {
    let garbage = |_: &Request| {
        let elsewhere = json!({"apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": "x", "namespace": "kube-system"}});
        plan(vec![child(&elsewhere)], json!({}))
    };
    only_the_bad_one_suffers("garbage", garbage, "PlanRefused").await;
}

#[tokio::test]
async fn one_that_asks_for_ever_is_stopped() {
    let greedy = |request: &Request| {
        let number = request.facts.len();
        let about = ObjectRef {
            api_version: "v1".into(),
            kind: "Pod".into(),
            namespace: Some("default".into()),
            name: format!("p{number}"),
        };
        let id = format!("p{number}");
        Ok(Step::Need(vec![Requirement {
            id,
            stage: 0,
            question: Question::Object(about),
        }]))
    };
    only_the_bad_one_suffers("greedy", greedy, "PluginFailed").await;
}

#[tokio::test]
async fn a_child_in_trouble_does_not_stop_the_others_nor_the_status() {
    let world = World::new("child").await;
    let host = world
        .host(&Scripted::new(|_: &Request| {
            let children = vec![
                config_map("Not_A_Name", json!({})),
                config_map("fine", json!({})),
            ];
            plan(children, json!({"phase": "x"}))
        }))
        .await;
    world.make("Gadget", "one", json!({})).await;
    world
        .until("v1/ConfigMap", "fine", |map| !map.is_null())
        .await;
    world
        .until(GADGET, "one", |gadget| {
            gadget["status"]["phase"] == "x"
                && has_condition(gadget, "Synced", "False", "ApplyFailed")
        })
        .await;
    host.until_round("gadget", "one", |round| {
        round.reason.contains("again after a failure")
    })
    .await;
}
