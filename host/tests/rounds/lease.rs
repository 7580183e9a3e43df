//! Two hosts never act on one object at once.

use std::sync::Arc;

use serde_json::json;

use crate::operator::{Scripted, object, plan};
use crate::wire::{Trouble, Wire};
use crate::world::World;

const GADGET: &str = "rounds.example.com/v1/Gadget";

/// Repeats the spec's `say` in status.
fn operator() -> Arc<Scripted> {
    Scripted::new(|request| plan(vec![], json!({"said": object(request)["spec"]["say"]})))
}

#[tokio::test]
async fn a_stand_by_is_silent_and_takes_over_when_the_holder_stops() {
    let world = World::new("standby").await;
    let connected = Wire::whole();
    let (first, second) = (operator(), operator());
    let holder = world.led_host(&first, "first", &connected).await;
    world.make("Gadget", "one", json!({"say": "hello"})).await;
    world
        .until(GADGET, "one", |gadget| gadget["status"]["said"] == "hello")
        .await;
    let stand_by = world.led_host(&second, "second", &connected).await;
    world
        .edit(GADGET, "one", json!({"spec": {"say": "again"}}))
        .await;
    world
        .until(GADGET, "one", |gadget| gadget["status"]["said"] == "again")
        .await;
    assert!(second.requests().is_empty() && stand_by.writes().is_empty());
    holder.stop().await;
    first.requests();
    world
        .edit(GADGET, "one", json!({"spec": {"say": "bye"}}))
        .await;
    world
        .until(GADGET, "one", |gadget| gadget["status"]["said"] == "bye")
        .await;
    assert!(first.requests().is_empty());
}

#[tokio::test]
async fn a_holder_that_cannot_renew_its_lease_writes_nothing_any_more_and_another_takes_over() {
    let world = World::new("cut").await;
    let (cut, connected) = (Wire::whole(), Wire::whole());
    let (first, second) = (operator(), operator());
    let holder = world.led_host(&first, "first", &cut).await;
    world.make("Gadget", "one", json!({"say": "hello"})).await;
    world
        .until(GADGET, "one", |gadget| gadget["status"]["said"] == "hello")
        .await;
    let stand_by = world.led_host(&second, "second", &connected).await;
    cut.has(Trouble::Everything);
    stand_by.until_round("gadget", "one", |_| true).await;
    holder.writes();
    world
        .edit(GADGET, "one", json!({"spec": {"say": "bye"}}))
        .await;
    world
        .until(GADGET, "one", |gadget| gadget["status"]["said"] == "bye")
        .await;
    stand_by.settles().await;
    assert_eq!(holder.writes(), [""; 0]);
}
