//! Plugins are installed, refused, replaced and removed as an administrator sees it, on an API server with real
//! components.
//!
//! They want the kubeconfig of a control plane in `WINDLASS_TEST_KUBECONFIG`; `cargo xtask test` makes one.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that cannot go on fails"
)]

#[path = "../api_server/mod.rs"]
mod api_server;
#[path = "../plugin/guest.rs"]
mod guest;
mod refusal;
mod removal;
mod replacement;
mod unserved;
mod world;

use serde_json::json;
use world::{World, component, condition};

#[tokio::test(flavor = "multi_thread")]
async fn a_plugin_is_installed_and_tells_what_it_is() {
    let world = World::new().await;
    let digest = world.push(&component(), "hostile", "1").await;
    let host = world.host().await;
    world.make("early", "oneChild").await;
    let mut spec = world.spec(":hostile");
    spec["grants"]
        .as_array_mut()
        .unwrap()
        .push(json!("act:evict"));
    world.apply("hostile", spec).await;
    world.until_served("early").await;
    let plugin = world
        .until("hostile", |plugin| plugin["status"]["objects"] == 1)
        .await;
    let status = &plugin["status"];
    assert_eq!(status["digest"], digest.to_string());
    assert_eq!(status["version"], "0.1.0");
    assert_eq!(status["kinds"], json!(["Victim.hostile.windlass.dev"]));
    assert_eq!(
        status["unaskedGrants"],
        json!(["act:evict", "slots-from:elsewhere"])
    );
    for step in ["Fetched", "Verified", "Compiled", "Granted", "Serving"] {
        assert_eq!(condition(&plugin, step)["status"], "True", "{step}");
    }
    world.end(host).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_granted_is_named_and_done_without() {
    let world = World::new().await;
    world.push(&component(), "hostile", "1").await;
    let host = world.host().await;
    let mut spec = world.spec(":hostile");
    spec["grants"] = json!(["own:v1/ConfigMap"]);
    world.apply("hostile", spec).await;
    let told = world
        .condition("hostile", "Granted", "False", "GrantsMissing")
        .await;
    assert!(
        told.contains("own:v1/Secret") && told.contains("act:redis:6379"),
        "{told}"
    );
    world.make_served("a").await;
    world.end(host).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_that_starts_again_writes_nothing_and_needs_no_registry() {
    let world = World::new().await;
    world.push(&component(), "hostile", "1").await;
    let host = world.host().await;
    world.apply("hostile", world.spec(":hostile")).await;
    let serving = world
        .condition("hostile", "Serving", "True", "Serving")
        .await;
    let before = world
        .until("hostile", |plugin| plugin["status"]["objects"] == 0)
        .await;
    host.stop().await;
    let host = world.host().await;
    world.make_served("a").await;
    let after = world
        .until("hostile", |plugin| plugin["status"]["objects"] == 1)
        .await;
    assert_eq!(condition(&after, "Serving")["message"], serving);
    assert_eq!(
        condition(&after, "Serving")["lastTransitionTime"],
        condition(&before, "Serving")["lastTransitionTime"]
    );
    world.end(host).await;
}
