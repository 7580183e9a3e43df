//! What a host does while the API server is hard to reach, and after.

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;

use crate::operator::{GRANTS, Scripted, child, echo, name, plan};
use crate::wire::{Trouble, Wire};
use crate::world::{RunningHost, World, has_condition};

const GADGET: &str = "rounds.example.com/v1/Gadget";
const MAP: &str = "v1/ConfigMap";
/// How long the trouble lasts: several attempts of any loop that does not wait between them by much.
const WHILE: Duration = Duration::from_secs(8);
/// Requests in that time that are still no hot loop: a host of some ten watches that waits a second and more.
const PATIENT: usize = 120;

/// Two objects at rest, and their host.
async fn at_rest(test: &str, wire: &Wire) -> (World, RunningHost) {
    let mut world = World::new(test).await;
    world.reach_over(wire);
    let host = world.host(&Scripted::new(echo)).await;
    for name in ["one", "two"] {
        world.make("Gadget", name, json!({"say": "hello"})).await;
        world
            .until(GADGET, name, |gadget| {
                has_condition(gadget, "Synced", "True", "Applied")
            })
            .await;
    }
    host.settles().await;
    (world, host)
}

/// What happens while watches do not work is seen when they work again, and nobody asks all the time meanwhile.
async fn what_was_missed_is_seen_later(test: &str, trouble: Trouble, lasting: Duration) {
    let wire = Wire::whole();
    let (world, host) = at_rest(test, &wire).await;
    wire.has(trouble);
    world
        .edit(MAP, "one", json!({"data": {"say": "nonsense"}}))
        .await;
    world.delete(GADGET, "two").await;
    world.make("Gadget", "three", json!({"say": "new"})).await;
    tokio::time::sleep(lasting).await;
    let hit = wire.hit();
    assert!(hit > 0, "nothing was tried");
    assert!(hit < PATIENT, "{hit} requests in {lasting:?}");
    wire.has(Trouble::None);
    world
        .until(MAP, "one", |map| map["data"]["say"] == "hello")
        .await;
    world
        .until(GADGET, "three", |gadget| gadget["status"]["said"] == "new")
        .await;
    host.settles().await;
    assert!(
        host.rounds("gadget", "two").is_empty(),
        "what is gone is remembered"
    );
}

#[tokio::test]
async fn what_happened_while_watches_were_cut_is_seen_after() {
    what_was_missed_is_seen_later("watches-cut", Trouble::WatchesCut, WHILE).await;
}

#[tokio::test]
async fn what_happened_while_watches_were_too_old_is_seen_after() {
    what_was_missed_is_seen_later("watches-expired", Trouble::WatchesExpired, WHILE).await;
}

#[tokio::test]
async fn what_happened_while_nothing_got_through_for_half_a_minute_is_seen_after() {
    what_was_missed_is_seen_later(
        "everything-cut",
        Trouble::Everything,
        Duration::from_secs(30),
    )
    .await;
}

#[tokio::test]
async fn conflicts_on_every_write_delay_and_do_no_harm() {
    let wire = Wire::whole();
    let (world, host) = at_rest("conflicts", &wire).await;
    wire.has(Trouble::Conflicts);
    world
        .edit(GADGET, "one", json!({"spec": {"say": "bye"}}))
        .await;
    world.make("Gadget", "three", json!({"say": "new"})).await;
    tokio::time::sleep(WHILE).await;
    let hit = wire.hit();
    assert!(hit > 0, "nothing was written");
    assert!(hit < PATIENT, "{hit} writes were tried in {WHILE:?}");
    assert_eq!(
        world.json(GADGET, "one").await["status"]["said"],
        "hello",
        "the conflicts are none"
    );
    wire.has(Trouble::None);
    for (name, say) in [("one", "bye"), ("three", "new")] {
        world
            .until(GADGET, name, |gadget| {
                gadget["status"]["said"] == say
                    && has_condition(gadget, "Synced", "True", "Applied")
            })
            .await;
        assert_eq!(world.json(MAP, name).await["data"]["say"], say);
    }
    host.settles().await;
}

#[tokio::test]
async fn a_secret_value_that_an_answer_quotes_is_masked() {
    let wire = Wire::whole();
    let mut world = World::new("quotes").await;
    world.reach_over(&wire);
    let source = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "source"},
        "stringData": {"password": "canary-of-a-person"}});
    world.create("v1/Secret", source).await;
    wire.has(Trouble::Quotes);
    let operator = Scripted::new(|request| {
        let line = json!({"$parts": ["login ", {"secret": {"name": "source", "key": "password"}}]});
        let manifest = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name(request)},
            "stringData": {"line": line}});
        plan(vec![child(&manifest)], json!({}))
    });
    let grants = GRANTS
        .into_iter()
        .chain(["own:v1/Secret"])
        .collect::<Vec<_>>();
    let host = world.host_with(&operator, &grants).await;
    world.make("Gadget", "one", json!({})).await;
    let told = world
        .until(GADGET, "one", |gadget| {
            has_condition(gadget, "Synced", "False", "ApplyFailed")
        })
        .await
        .to_string();
    let round = host
        .until_round("gadget", "one", |round| !round.ended.is_empty())
        .await;
    for text in [told, format!("{round:?}")] {
        assert!(!text.contains("canary"), "{text}");
        assert!(text.contains("[masked]"), "{text}");
        assert!(
            !text.contains(&STANDARD.encode("login canary-of-a-person")),
            "{text}"
        );
    }
}

#[tokio::test]
async fn a_secret_value_that_a_refused_deletion_quotes_is_masked() {
    let wire = Wire::whole();
    let mut world = World::new("undeleted").await;
    world.reach_over(&wire);
    let source = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "source"},
        "stringData": {"password": "canary-of-a-person"}});
    world.create("v1/Secret", source).await;
    let operator = Scripted::new(|_| {
        let slot = json!({"$parts": [{"secret": {"name": "source", "key": "password"}}]});
        let manifest = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "copy"},
            "stringData": {"password": slot}});
        plan(vec![child(&manifest)], json!({}))
    });
    let grants = GRANTS
        .into_iter()
        .chain(["own:v1/Secret"])
        .collect::<Vec<_>>();
    let host = world.host_with(&operator, &grants).await;
    world.make("Gadget", "one", json!({})).await;
    world
        .until("v1/Secret", "copy", |secret| !secret.is_null())
        .await;
    wire.has(Trouble::Quotes);
    operator.decides(|_| plan(vec![], json!({})));
    world
        .edit(GADGET, "one", json!({"spec": {"next": true}}))
        .await;
    let round = host
        .until_round("gadget", "one", |round| round.ended.contains("denied"))
        .await;
    let told = format!("{round:?}");
    assert!(told.contains("[masked]"), "{told}");
    assert!(!told.contains("canary"), "{told}");
    assert!(
        !told.contains(&STANDARD.encode("canary-of-a-person")),
        "{told}"
    );
}
