//! A plugin is replaced while its objects are served.

use kube::api::{Patch, PatchParams};
use serde_json::json;

use crate::world::{World, component, condition, edited, until};

const OBJECTS: usize = 20;

#[tokio::test(flavor = "multi_thread")]
async fn every_object_is_served_by_the_new_version_and_none_is_lost() {
    let world = World::new().await;
    let old = world.push(&component(), "one", "1").await;
    let newer = edited(&component(), "version0.1.0purpose", "version0.2.0purpose");
    let new = world.push(&newer, "two", "1").await;
    assert_ne!(old, new);
    let host = world.host().await;
    world.apply("hostile", world.spec(":one")).await;
    world
        .condition("hostile", "Serving", "True", "Serving")
        .await;
    for number in 0..OBJECTS {
        world.make(&format!("v{number}"), "oneChild").await;
    }
    // In the middle of their first rounds.
    world.apply("hostile", world.spec(":two")).await;
    let plugin = world
        .until("hostile", |plugin| plugin["status"]["version"] == "0.2.0")
        .await;
    assert_eq!(plugin["status"]["digest"], new.to_string());
    for number in 0..OBJECTS {
        world.until_served(&format!("v{number}")).await;
    }
    // And each goes on under the new one: a child that somebody deletes comes back.
    let maps = world.config_maps();
    for number in 0..OBJECTS {
        maps.delete(&format!("v{number}-made"), &Default::default())
            .await
            .unwrap();
    }
    for number in 0..OBJECTS {
        world.until_served(&format!("v{number}")).await;
    }
    world.end(host).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_version_that_asks_for_more_waits_for_the_administrator() {
    let (world, host) = World::with_plugin().await;
    let more = edited(&component(), "v1/Secret", "v1/Endpoi");
    world.push(&more, "two", "1").await;
    world
        .condition("hostile", "Serving", "True", "Serving")
        .await;
    world.apply("hostile", world.spec(":two")).await;
    let told = world
        .condition("hostile", "Serving", "True", "PreviousVersion")
        .await;
    assert!(told.contains("own:v1/Endpoi"), "{told}");
    let mut agreed = world.spec(":two");
    agreed["grants"]
        .as_array_mut()
        .unwrap()
        .push(json!("own:v1/Endpoi"));
    world.apply("hostile", agreed).await;
    world
        .condition("hostile", "Serving", "True", "Serving")
        .await;
    world.end(host).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_version_that_drops_a_kind_waits_until_its_objects_are_gone() {
    let (world, host) = World::with_plugin().await;
    let other = edited(&component(), "Victim", "Wictim");
    world
        .push(&edited(&other, "victim", "wictim"), "two", "1")
        .await;
    world.make_served("a").await;
    world.apply("hostile", world.spec(":two")).await;
    let told = world
        .condition("hostile", "Serving", "True", "PreviousVersion")
        .await;
    assert!(
        told.contains("Victim") && told.contains("1 of them"),
        "{told}"
    );
    world
        .victims()
        .delete("a", &Default::default())
        .await
        .unwrap();
    until(&world.victims(), "a", |victim| victim.is_null()).await;
    world
        .until("hostile", |plugin| {
            plugin["status"]["kinds"] == json!(["Wictim.hostile.windlass.dev"])
        })
        .await;
    world.end(host).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_grant_that_is_taken_away_holds_at_once() {
    let (world, host) = World::with_plugin().await;
    world.make_served("a").await;
    let mut less = world.spec(":one");
    less["grants"] = json!(["own:v1/Secret"]);
    world.apply("hostile", less).await;
    world
        .condition("hostile", "Granted", "False", "GrantsMissing")
        .await;
    world
        .config_maps()
        .delete("a-made", &Default::default())
        .await
        .unwrap();
    let touched = json!({"metadata": {"annotations": {"example.com/touched": "yes"}}});
    let parameters = PatchParams::default();
    world
        .victims()
        .patch("a", &parameters, &Patch::Merge(touched))
        .await
        .unwrap();
    let victims = world.victims();
    let victim = until(&victims, "a", |victim| {
        condition(victim, "Synced")["message"]
            .as_str()
            .is_some_and(|message| message.contains("own:v1/ConfigMap"))
    });
    victim.await;
    assert!(
        world
            .config_maps()
            .get_opt("a-made")
            .await
            .unwrap()
            .is_none()
    );
    world.end(host).await;
}
