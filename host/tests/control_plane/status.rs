//! Status: written when it differs, under the version that was seen, and proof of it.

use serde_json::{Value, json};
use windlass::object::Object;
use windlass::plan::Checked;
use windlass::plugin::bindings::{Measurement, Plan, Refusal};
use windlass::status::{Draft, Need, StatusError, Unsynced};

use crate::world::{World, config_map, empty};

async fn says(world: &World, status: Value) -> Checked {
    world
        .planned(Plan {
            status: Some(status.to_string()),
            ..empty()
        })
        .await
}

async fn draft(world: &mut World, plan: &Checked) -> (Object, Draft) {
    let applied = world.apply(plan).await;
    (world.owner().await, Draft::planned(plan, &applied))
}

async fn status(world: &World) -> Value {
    world.json("effects.example.com/v1/Thing", "one").await["status"].clone()
}

fn condition<'a>(status: &'a Value, kind: &str) -> &'a Value {
    let conditions = status["conditions"].as_array().unwrap();
    conditions
        .iter()
        .find(|condition| condition["type"] == kind)
        .expect("no such condition")
}

#[tokio::test]
async fn a_status_is_written_once_also_when_the_schema_changes_it() {
    let mut world = World::new("once").await;
    let ready = json!({"type": "Ready", "status": "True", "reason": "R", "message": ""});
    let plan = says(
        &world,
        json!({"phase": "Running", "unknown": 1, "lag": 1, "conditions": [ready]}),
    )
    .await;
    let (seen, first) = draft(&mut world, &plan).await;
    let stored = world.store(&seen, &first, Need::Nothing).await.unwrap();
    assert!(stored.changed() && stored.fence().is_some());
    assert_eq!(world.writes(), ["PUT things/one/status"]);
    let told = status(&world).await;
    assert_eq!(told["phase"], "Running");
    assert_eq!(told["mode"], "auto");
    assert_eq!(told["observedGeneration"], 1);
    assert_eq!(condition(&told, "Synced")["status"], "True");
    assert_eq!(condition(&told, "SpecAccepted")["status"], "True");
    assert_eq!(
        condition(&told, "Ready")["lastTransitionTime"],
        "2023-11-14T22:13:20Z"
    );

    world.turn_to("one");
    let (seen, second) = draft(&mut world, &plan).await;
    let later = 1_800_000_000_000;
    let stored = world
        .store_at(&seen, &second, Need::Nothing, later)
        .await
        .unwrap();
    assert!(!stored.changed() && stored.fence().is_none());
    assert_eq!(world.writes(), [""; 0]);
}

#[tokio::test]
async fn a_decision_about_something_old_is_discarded() {
    let mut world = World::new("conflict").await;
    let plan = says(&world, json!({"phase": "Running"})).await;
    let (seen, decided) = draft(&mut world, &plan).await;
    world
        .edit(
            "effects.example.com/v1/Thing",
            "one",
            json!({"spec": {"a": 1}}),
        )
        .await;
    let answer = world.store(&seen, &decided, Need::Fence).await;
    assert!(matches!(answer, Err(StatusError::Conflict)));
    assert_eq!(status(&world).await, Value::Null);
}

#[tokio::test]
async fn an_unchanged_status_is_a_fence_only_when_it_is_shown_to_be_current() {
    let mut world = World::new("fence").await;
    let plan = says(&world, json!({"phase": "Running"})).await;
    let (seen, decided) = draft(&mut world, &plan).await;
    world.store(&seen, &decided, Need::Fence).await.unwrap();
    let seen = world.owner().await;
    let stored = world.store(&seen, &decided, Need::Fence).await.unwrap();
    assert!(!stored.changed());
    assert_eq!(
        stored.fence().unwrap().resource_version(),
        seen.resource_version
    );

    world
        .edit(
            "effects.example.com/v1/Thing",
            "one",
            json!({"metadata": {"labels": {"a": "b"}}}),
        )
        .await;
    assert!(matches!(
        world.store(&seen, &decided, Need::Fence).await,
        Err(StatusError::Conflict)
    ));
    world.delete("effects.example.com/v1/Thing", "one").await;
    assert!(matches!(
        world.store(&seen, &decided, Need::Fence).await,
        Err(StatusError::Gone)
    ));
}

#[tokio::test]
async fn what_goes_wrong_is_told_on_the_object() {
    let mut world = World::new("told").await;
    let refusal = Refusal {
        field: "spec.backup".into(),
        text: "not yet".into(),
    };
    let plan = Plan {
        children: vec![config_map("Bad_Name", json!({}))],
        refusals: vec![refusal],
        ..empty()
    };
    let plan = world.planned(plan).await;
    world.round(&plan).await;
    let told = status(&world).await;
    let synced = condition(&told, "Synced");
    assert_eq!(
        (synced["status"].as_str(), synced["reason"].as_str()),
        (Some("False"), Some("ApplyFailed"))
    );
    assert!(
        synced["message"].as_str().unwrap().contains("Bad_Name"),
        "{synced}"
    );
    let accepted = condition(&told, "SpecAccepted");
    assert_eq!(accepted["status"], "False");
    assert_eq!(accepted["message"], "spec.backup: not yet");

    let seen = world.owner().await;
    let failed = Draft::failed(&Unsynced::Plugin("it failed".into()));
    world.store(&seen, &failed, Need::Nothing).await.unwrap();
    let told = status(&world).await;
    assert_eq!(condition(&told, "Synced")["reason"], "PluginFailed");
    assert_eq!(
        condition(&told, "SpecAccepted"),
        accepted,
        "what a failure knows nothing about stays"
    );
}

#[tokio::test]
async fn measurements_are_written_beside_a_change_or_once_a_minute() {
    let mut world = World::new("measured").await;
    let start = 1_700_000_000_000;
    let mut stored = Vec::new();
    for (at, phase, lag) in [
        (0, "A", 1),
        (1, "A", 2),
        (2, "B", 3),
        (30, "B", 4),
        (63, "B", 5),
        (64, "B", 6),
    ] {
        let measured = Measurement {
            status: Some("/lag".into()),
            metric: None,
            value: lag.to_string(),
        };
        let plan = Plan {
            status: Some(json!({"phase": phase}).to_string()),
            measurements: vec![measured],
            ..empty()
        };
        let plan = world.planned(plan).await;
        let (seen, decided) = draft(&mut world, &plan).await;
        world
            .store_at(&seen, &decided, Need::Nothing, start + at * 1000)
            .await
            .unwrap();
        stored.push(status(&world).await["lag"].as_u64().unwrap());
    }
    assert_eq!(stored, [1, 1, 3, 3, 5, 5]);
}
