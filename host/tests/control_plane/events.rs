//! Events: written for people, counted when repeated, free of secrets.

use k8s_openapi::api::core::v1::Event as Written;
use kube::api::{Api, ListParams};
use windlass::plugin::bindings::{Event, ObjectRef, Severity};
use windlass::secrets::SecretValue;

use crate::world::World;

fn event(world: &World, text: &str) -> Event {
    let about = ObjectRef {
        api_version: "effects.example.com/v1".into(),
        kind: "Thing".into(),
        namespace: Some(world.namespace.clone()),
        name: "one".into(),
    };
    Event {
        about,
        severity: Severity::Warning,
        reason: "FailoverStarted".into(),
        text: text.into(),
    }
}

async fn written(world: &World) -> Vec<Written> {
    let api: Api<Written> = Api::namespaced(world.client.clone(), &world.namespace);
    api.list(&ListParams::default()).await.unwrap().items
}

#[tokio::test]
async fn an_event_is_written_once_and_then_counted() {
    let world = World::new("event").await;
    let owner = world.owner().await;
    world
        .recorder
        .publish(&owner, &[event(&world, "a replica takes over")])
        .await;
    world
        .recorder
        .publish(&owner, &[event(&world, "a replica takes over")])
        .await;
    let events = written(&world).await;
    assert_eq!(events.len(), 1);
    let event = &events[0];
    assert_eq!(event.message.as_deref(), Some("a replica takes over"));
    assert_eq!(event.type_.as_deref(), Some("Warning"));
    assert_eq!(event.involved_object.uid.as_ref(), Some(&owner.uid));
    assert_eq!(event.count, Some(2));
    assert!(event.first_timestamp <= event.last_timestamp);
}

/// kubectl sorts by `lastTimestamp`, and within a second keeps the order of the list.
#[tokio::test]
async fn what_happened_first_is_listed_first() {
    let world = World::new("order").await;
    let owner = world.owner().await;
    let story = [
        "lost",
        "a replica takes over",
        "it takes writes",
        "well again",
    ];
    world
        .recorder
        .publish(&owner, &story.map(|text| event(&world, text)))
        .await;
    let mut events = written(&world).await;
    events.sort_by_key(|event| event.last_timestamp.clone().map(|time| time.0));
    let told: Vec<_> = events
        .iter()
        .filter_map(|event| event.message.as_deref())
        .collect();
    assert_eq!(told, story);
}

#[tokio::test]
async fn a_secret_value_is_masked() {
    let world = World::new("masked").await;
    let owner = world.owner().await;
    let value = SecretValue::new(b"canary-canary".to_vec());
    world.secrets.remember(&owner.key, &value);
    world
        .recorder
        .publish(&owner, &[event(&world, "AUTH canary-canary failed")])
        .await;
    assert_eq!(
        written(&world).await[0].message.as_deref(),
        Some("AUTH [masked] failed")
    );
}
