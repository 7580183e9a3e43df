//! Slots: values made once, kept, carried over, and reported when lost.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use windlass::object::Kind;
use windlass::plugin::bindings::{Child, WhenDropped, WhenImmutable};

use crate::world::{World, child};

fn generated() -> Child {
    let slot = json!({"$parts": [{"random": {"id": "password", "length": 32}}]});
    let line =
        json!({"$parts": ["requirepass ", {"random": {"id": "password", "length": 32}}, "\n"]});
    secret(
        "auth",
        json!({"password": slot, "line": line, "plain": "text"}),
    )
}

fn composed() -> Child {
    let slot =
        json!({"$parts": ["user ", {"secret": {"name": "auth", "key": "password"}}, " end"]});
    secret("composed", json!({"conf": slot}))
}

fn secret(name: &str, data: Value) -> Child {
    child(
        json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "stringData": data}),
    )
}

async fn value(world: &World, name: &str, key: &str) -> String {
    let live = world.json("v1/Secret", name).await;
    let value = live["data"][key].as_str().expect("no such key").to_owned();
    String::from_utf8(STANDARD.decode(value).unwrap()).unwrap()
}

async fn recorded(world: &World) -> Value {
    world.json("effects.example.com/v1/Thing", "one").await["status"]["windlass"]["generated"]
        .clone()
}

#[tokio::test]
async fn a_random_value_is_made_once_and_recorded() {
    let mut world = World::new("random").await;
    let plan = world.plan(vec![generated(), composed()]).await;
    let (applied, _) = world.round(&plan).await;
    assert!(applied.settled(), "{:?}", applied.children);
    let password = value(&world, "auth", "password").await;
    assert_eq!(password.len(), 32);
    assert_eq!(
        value(&world, "auth", "line").await,
        format!("requirepass {password}\n")
    );
    assert_eq!(value(&world, "auth", "plain").await, "text");
    assert_eq!(
        value(&world, "composed", "conf").await,
        format!("user {password} end")
    );
    assert_eq!(recorded(&world).await, json!(["auth/password"]));

    world.turn_to("one");
    world.writes();
    let (applied, _) = world.round(&plan).await;
    assert!(applied.settled() && !applied.changed());
    assert_eq!(world.writes(), [""; 0]);
    // It is known from then on, and blotted out wherever it would be shown.
    let owner = world.owner().await;
    let told = world.secrets.mask(&owner.key, &format!("it is {password}"));
    assert_eq!(told, "it is [masked]");
}

#[tokio::test]
async fn a_changed_value_changes_what_takes_it() {
    let mut world = World::new("rotated").await;
    let plan = world.plan(vec![generated(), composed()]).await;
    world.round(&plan).await;
    let rotated = STANDARD.encode("rotated-by-a-person");
    world
        .edit("v1/Secret", "auth", json!({"data": {"password": rotated}}))
        .await;
    let (applied, _) = world.round(&plan).await;
    assert!(applied.settled(), "{:?}", applied.children);
    assert_eq!(
        value(&world, "auth", "password").await,
        "rotated-by-a-person"
    );
    assert_eq!(
        value(&world, "auth", "line").await,
        "requirepass rotated-by-a-person\n"
    );
    assert_eq!(
        value(&world, "composed", "conf").await,
        "user rotated-by-a-person end"
    );
    world.writes();
    world.round(&plan).await;
    assert_eq!(world.writes(), [""; 0]);
}

#[tokio::test]
async fn a_lost_value_is_reported_and_not_made_again() {
    let mut world = World::new("lost").await;
    let plan = world.plan(vec![generated()]).await;
    world.round(&plan).await;
    let password = value(&world, "auth", "password").await;
    world.delete("v1/Secret", "auth").await;
    for _ in 0..2 {
        let (applied, _) = world.round(&plan).await;
        let (_, trouble) = applied.troubles().next().expect("no trouble");
        assert_eq!(trouble.reason(), "SecretLost");
        assert!(
            trouble.to_string().contains("put Secret auth back"),
            "{trouble}"
        );
    }
    assert_eq!(recorded(&world).await, json!(["auth/password"]));

    let label = windlass::object::owner_label(&world.owner().await.key);
    let back = json!({"apiVersion": "v1", "kind": "Secret", "stringData": {"password": password},
        "metadata": {"name": "auth", "labels": {"windlass.dev/owner": label}}});
    world.create(&Kind::new("v1", "Secret"), back).await;
    let (applied, _) = world.round(&plan).await;
    assert!(applied.settled(), "{:?}", applied.children);
    assert_eq!(
        value(&world, "auth", "line").await,
        format!("requirepass {password}\n")
    );
}

#[tokio::test]
async fn a_kept_secret_keeps_its_value_for_the_next_owner_of_that_name() {
    let mut world = World::new("keptsecret").await;
    let kept = Child {
        when_dropped: WhenDropped::Keep,
        ..generated()
    };
    let plan = world.plan(vec![kept.clone()]).await;
    world.round(&plan).await;
    let password = value(&world, "auth", "password").await;
    world.delete("effects.example.com/v1/Thing", "one").await;
    world.make_owner("one").await;
    let plan = world.plan(vec![kept]).await;
    let (applied, _) = world.round(&plan).await;
    assert!(applied.settled(), "{:?}", applied.children);
    assert_eq!(value(&world, "auth", "password").await, password);
    assert_eq!(recorded(&world).await, json!(["auth/password"]));
}

#[tokio::test]
async fn a_value_that_is_not_there_fails_that_child_alone() {
    let mut world = World::new("missing").await;
    let plan = world.plan(vec![composed(), generated()]).await;
    let (applied, _) = world.round(&plan).await;
    let troubles: Vec<_> = applied.troubles().collect();
    assert_eq!(troubles.len(), 1);
    assert_eq!(troubles[0].1.reason(), "SecretMissing");
    let (applied, _) = world.round(&plan).await;
    assert!(applied.settled(), "{:?}", applied.children);
}

#[tokio::test]
async fn a_secret_that_is_made_again_keeps_what_was_generated_for_it() {
    let mut world = World::new("carried").await;
    let plan = world.plan(vec![generated()]).await;
    world.round(&plan).await;
    let password = value(&world, "auth", "password").await;
    let mut other_type = Child {
        when_immutable: WhenImmutable::Recreate,
        ..generated()
    };
    other_type.manifest = other_type
        .manifest
        .replace("\"kind\"", "\"type\":\"example.com/other\",\"kind\"");
    let plan = world.plan(vec![other_type]).await;
    world.round(&plan).await;
    world.edit_finalizers_away("v1/Secret", "auth").await;
    let (applied, _) = world.round(&plan).await;
    assert!(applied.settled(), "{:?}", applied.children);
    let live = world.json("v1/Secret", "auth").await;
    assert_eq!(live["type"], "example.com/other");
    assert_eq!(value(&world, "auth", "password").await, password);
    for _ in 0..2 {
        world.round(&plan).await;
    }
    assert!(
        world
            .get(&Kind::new("v1", "Secret"), "auth-carried")
            .await
            .is_none(),
        "the copy stayed"
    );
}
