//! Objects whose Plugin is suspended, failed or removed say so, once, and what to do about it.

use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};
use windlass::reconcile::{FINALIZER, LET_GO};

use crate::world::{RunningHost, World, condition, until};

/// Waits until a Victim says that nothing serves it, and returns it.
async fn until_told(world: &World, victim: &str) -> Value {
    until(&world.victims(), victim, |victim| {
        let synced = condition(victim, "Synced");
        synced["status"] == "False" && synced["reason"] == "PluginUnavailable"
    })
    .await
}

async fn until_synced(world: &World, victim: &str) {
    until(&world.victims(), victim, |victim| {
        condition(victim, "Synced")["status"] == "True"
    })
    .await;
}

fn message(victim: &Value) -> String {
    condition(victim, "Synced")["message"].to_string()
}

/// The Victim `told` stays as it is while another one is told.
async fn is_told_once(world: &World, told: &Value) {
    world.make("later", "oneChild").await;
    until_told(world, "later").await;
    let name = told["metadata"]["name"].as_str().unwrap();
    let after = until(&world.victims(), name, |_| true).await;
    assert_eq!(
        after["metadata"]["resourceVersion"],
        told["metadata"]["resourceVersion"]
    );
}

async fn suspend(world: &World) {
    let mut suspended = world.spec(":one");
    suspended["suspended"] = json!(true);
    world.apply("hostile", suspended).await;
    world
        .condition("hostile", "Serving", "False", "Suspended")
        .await;
}

async fn patch(world: &World, victim: &str, patch: Value) {
    let (parameters, patch) = (PatchParams::default(), Patch::Merge(patch));
    let patched = world.victims().patch(victim, &parameters, &patch).await;
    patched.unwrap();
}

/// A host that serves `a`, stopped; the Plugin then asks for what is not there, and another host begins.
async fn with_failing_plugin() -> (World, RunningHost) {
    let (world, host) = World::with_plugin().await;
    world.make_served("a").await;
    until_synced(&world, "a").await;
    host.stop().await;
    world.apply("hostile", world.spec(":none")).await;
    let host = world.host().await;
    (world, host)
}

#[tokio::test(flavor = "multi_thread")]
async fn objects_of_a_suspended_plugin_are_told_once_and_left_alone_until_it_goes_on() {
    let (world, host) = World::with_plugin().await;
    world.make_served("a").await;
    until_synced(&world, "a").await;
    suspend(&world).await;
    let told = until_told(&world, "a").await;
    assert!(message(&told).contains("spec.suspended"), "{told:#}");
    is_told_once(&world, &told).await;
    let map = world.config_maps().get_opt("later-made").await.unwrap();
    assert!(map.is_none());
    world.apply("hostile", world.spec(":one")).await;
    world.until_served("later").await;
    until_synced(&world, "a").await;
    world.end(host).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn objects_of_a_plugin_that_is_not_served_are_told_once_until_it_is() {
    let (world, host) = with_failing_plugin().await;
    let told = until_told(&world, "a").await;
    assert!(
        message(&told).contains("kubectl describe plugin hostile"),
        "{told:#}"
    );
    is_told_once(&world, &told).await;
    world.apply("hostile", world.spec(":one")).await;
    until_synced(&world, "a").await;
    world.until_served("later").await;
    world.end(host).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_object_that_nothing_serves_goes_when_a_person_lets_it_go() {
    let (world, host) = with_failing_plugin().await;
    let held = json!({"metadata": {"finalizers": [FINALIZER], "annotations": {LET_GO: "true"}}});
    patch(&world, "a", held).await;
    let victims = world.victims();
    victims.delete("a", &Default::default()).await.unwrap();
    until(&victims, "a", |victim| victim.is_null()).await;
    world.end(host).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn objects_of_a_removed_plugin_are_told() {
    let (world, host) = World::with_plugin().await;
    world.make_served("a").await;
    let let_go = json!({"metadata": {"annotations": {LET_GO: "true"}}});
    let plugins = world.plugins();
    let parameters = PatchParams::default();
    let patched = plugins
        .patch("hostile", &parameters, &Patch::Merge(let_go))
        .await;
    patched.unwrap();
    plugins
        .delete("hostile", &Default::default())
        .await
        .unwrap();
    world.until("hostile", |plugin| plugin.is_null()).await;
    let told = until_told(&world, "a").await;
    assert!(message(&told).contains("was removed"), "{told:#}");
    world.end(host).await;
}
