//! A Plugin that is removed does not leave its objects behind without a word.

use kube::api::{Patch, PatchParams};
use serde_json::json;

use crate::world::{World, until};

#[tokio::test(flavor = "multi_thread")]
async fn a_plugin_with_objects_serves_on_until_they_are_gone() {
    let (world, host) = World::with_plugin().await;
    world.make_served("a").await;
    world
        .plugins()
        .delete("hostile", &Default::default())
        .await
        .unwrap();
    let plugin = world
        .until("hostile", |plugin| {
            plugin.to_string().contains("RemovalWaits")
        })
        .await;
    assert!(
        plugin.to_string().contains("windlass.dev/let-go=true"),
        "{plugin:#}"
    );
    world
        .config_maps()
        .delete("a-made", &Default::default())
        .await
        .unwrap();
    world.until_served("a").await;
    world
        .victims()
        .delete("a", &Default::default())
        .await
        .unwrap();
    until(&world.victims(), "a", |victim| victim.is_null()).await;
    world.until("hostile", |plugin| plugin.is_null()).await;
    world.end(host).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plugin_that_is_let_go_leaves_its_objects_to_themselves() {
    let (world, host) = World::with_plugin().await;
    world.make_served("a").await;
    let let_go = json!({"metadata": {"annotations": {"windlass.dev/let-go": "true"}}});
    let parameters = PatchParams::default();
    let patched = world
        .plugins()
        .patch("hostile", &parameters, &Patch::Merge(let_go))
        .await;
    patched.unwrap();
    world
        .plugins()
        .delete("hostile", &Default::default())
        .await
        .unwrap();
    world.until("hostile", |plugin| plugin.is_null()).await;
    let victim = world.victims().get("a").await.unwrap();
    assert_eq!(
        victim.metadata.finalizers.unwrap_or_default(),
        Vec::<String>::new()
    );
    assert!(
        world
            .config_maps()
            .get_opt("a-made")
            .await
            .unwrap()
            .is_some()
    );
    // Nothing of ours holds it: it goes although nobody serves it.
    world
        .victims()
        .delete("a", &Default::default())
        .await
        .unwrap();
    until(&world.victims(), "a", |victim| victim.is_null()).await;
    world.end(host).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plugin_that_is_applied_again_is_served_again() {
    let (world, host) = World::with_plugin().await;
    world.make_served("a").await;
    for _ in 0..2 {
        let victims = world.victims();
        victims.delete("a", &Default::default()).await.unwrap();
        until(&victims, "a", |victim| victim.is_null()).await;
        let plugins = world.plugins();
        plugins
            .delete("hostile", &Default::default())
            .await
            .unwrap();
        world.until("hostile", |plugin| plugin.is_null()).await;
        world.apply("hostile", world.spec(":one")).await;
        world
            .condition("hostile", "Serving", "True", "Serving")
            .await;
        world.make_served("a").await;
        let config_maps = world.config_maps();
        config_maps
            .delete("a-made", &Default::default())
            .await
            .unwrap();
        world.until_served("a").await;
    }
    world.end(host).await;
}
