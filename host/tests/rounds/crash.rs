//! Law 3: a crash between any two effects changes nothing about where the object ends up.
//!
//! The host dies after its first write, after its second, and so on; another goes on where it stands.

use std::sync::Arc;
use std::time::Duration;

use futures::future::join_all;
use serde_json::{Value, json};
use windlass::plugin::CallError;
use windlass::plugin::bindings::{
    Action, ActionStep, Answer, Effect, Ended, IfFailed, ObjectRef, PatchAction, Plan, Question,
    Request, Requirement, Step,
};

use crate::operator::{GRANTS, Scripted, child, config_map, empty, fact, name, object};
use crate::wire::Wire;
use crate::world::{RunningHost, World, has_condition};

const KEEPER: &str = "rounds.example.com/v1/Keeper";
const MAP: &str = "v1/ConfigMap";
const SECRET: &str = "v1/Secret";
const POD: &str = "v1/Pod";
/// More writes than any of the three chapters has.
const MOST: usize = 16;
/// A host that has not died by then has nothing left to write.
const QUIET: Duration = Duration::from_secs(10);

/// Wants a generated password, a map that repeats `say`, a second one unless told otherwise, and marks an object that
/// is not its own by an action whose begin and end are in status.
fn decide(request: &Request) -> Result<Step, CallError> {
    let (me, name) = (object(request), name(request));
    let target = ObjectRef {
        api_version: "v1".into(),
        kind: "Pod".into(),
        namespace: me["metadata"]["namespace"].as_str().map(str::to_owned),
        name: format!("{name}-target"),
    };
    let question = Requirement {
        id: "target".into(),
        stage: 0,
        question: Question::Object(target.clone()),
    };
    let answer = match fact(request, &question) {
        Ok(answer) => answer,
        Err(need) => return Ok(need),
    };
    let Answer::Object(Some(live)) = answer else {
        return Err(CallError::Transient("there is no target".into()));
    };
    let live: Value = serde_json::from_str(live).unwrap();
    let say = me["spec"]["say"].clone();
    let was_marked = request
        .outcomes
        .iter()
        .any(|outcome| outcome.id == "mark" && matches!(outcome.ended, Ended::Done(_)));
    let (status, actions) = match me["status"]["marked"] == say || was_marked {
        true => (json!({"marked": say}), Vec::new()),
        false => (json!({"marking": say}), vec![mark(target, &live, &say)]),
    };
    let slot = json!({"$parts": [{"random": {"id": "password", "length": 32}}]});
    let secret = json!({"apiVersion": "v1", "kind": "Secret",
        "metadata": {"name": format!("{name}-auth")}, "stringData": {"password": slot}});
    let mut children = vec![
        child(&secret),
        config_map(&format!("{name}-a"), json!({"say": say})),
    ];
    if me["spec"]["both"] == true {
        children.push(config_map(&format!("{name}-b"), json!({})));
    }
    Ok(Step::Plan(Plan {
        children,
        status: Some(status.to_string()),
        actions,
        ..empty()
    }))
}

fn mark(target: ObjectRef, live: &Value, say: &Value) -> ActionStep {
    let patch = json!({"metadata": {"annotations": {"mark": say}}});
    let action = Action {
        id: "mark".into(),
        effect: Effect::Patch(PatchAction {
            object: target,
            uid: live["metadata"]["uid"].as_str().unwrap().into(),
            patch: patch.to_string(),
        }),
        timeout: 5_000,
        long: None,
    };
    ActionStep {
        actions: vec![action],
        if_failed: IfFailed::Stop,
    }
}

/// An object whose hosts die.
struct Story {
    world: World,
    operator: Arc<Scripted>,
}

impl Story {
    async fn host(&mut self) -> (RunningHost, Wire) {
        let wire = Wire::whole();
        self.world.reach_over(&wire);
        let grants: Vec<&str> = GRANTS
            .into_iter()
            .chain(["own:v1/Secret", "act:patch:v1/Pod"])
            .collect();
        (self.world.host_with(&self.operator, &grants).await, wire)
    }

    /// Lets `host` die after so many writes, and another begin. Says whether it died.
    async fn died(&mut self, host: RunningHost, wire: &Wire) -> (bool, RunningHost, Wire) {
        let died = wire.died(QUIET).await;
        host.crash().await;
        let (host, wire) = self.host().await;
        (died, host, wire)
    }

    /// Waits until all is as the spec says.
    async fn comes_out(&self, say: &str, both: bool) {
        self.world
            .until(KEEPER, "one", |keeper| {
                has_condition(keeper, "Synced", "True", "Applied")
                    && keeper["status"]["marked"] == say
                    && keeper["status"]["marking"].is_null()
            })
            .await;
        self.world
            .until(MAP, "one-b", |map| map.is_null() != both)
            .await;
        let first = self.world.json(MAP, "one-a").await;
        assert_eq!(first["data"]["say"], say);
        let target = self.world.json(POD, "one-target").await;
        assert_eq!(target["metadata"]["annotations"]["mark"], say);
    }

    async fn password(&self) -> Value {
        self.world.json(SECRET, "one-auth").await["data"]["password"].clone()
    }
}

/// One object is made, changed and deleted, and in each of the three its host dies after so many writes.
async fn chapters(writes: usize) -> [bool; 3] {
    let mut story = Story {
        world: World::new("crash").await,
        operator: Scripted::new(decide),
    };
    let target = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "one-target"},
        "spec": {"containers": [{"name": "c", "image": "none"}]}});
    story.world.create(POD, target).await;
    let (host, wire) = story.host().await;
    wire.dies_after(writes);
    let spec = json!({"say": "hello", "both": true});
    story.world.make("Keeper", "one", spec).await;
    wire.died(QUIET).await;
    let early = story.password().await;
    let (made, host, wire) = story.died(host, &wire).await;
    story.comes_out("hello", true).await;
    let password = story.password().await;
    assert!(password.is_string() && (early.is_null() || early == password));

    host.settles().await;
    wire.dies_after(writes);
    let spec = json!({"spec": {"say": "bye", "both": false}});
    story.world.edit(KEEPER, "one", spec).await;
    let (changed, host, wire) = story.died(host, &wire).await;
    story.comes_out("bye", false).await;
    assert_eq!(story.password().await, password);

    host.settles().await;
    wire.dies_after(writes);
    story.world.delete(KEEPER, "one").await;
    let (deleted, _host, _wire) = story.died(host, &wire).await;
    story
        .world
        .until(KEEPER, "one", |keeper| keeper.is_null())
        .await;
    [made, changed, deleted]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_crash_between_any_two_writes_changes_nothing_about_the_end() {
    let died = join_all((0..MOST).map(chapters)).await;
    assert_eq!(died[0], [true; 3], "every chapter writes");
    assert_eq!(died[MOST - 1], [false; 3], "there is a crash left to try");
}
