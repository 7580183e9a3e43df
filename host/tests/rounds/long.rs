//! Long actions run beside the rounds, once, and tell of their end.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use serde_json::{Value, json};
use tokio::sync::watch;
use windlass::plugin::CallError;
use windlass::plugin::bindings::{
    Action, ActionStep, Answer, Effect, Ended, IfFailed, Login, Long, ObjectRef, Part, Plan,
    PodPort, Question, Request, Requirement, SecretKey, SqlAction, Step,
};
use windlass::query::{SqlSession, Unanswered};

use crate::operator::{Scripted, empty, fact, object};
use crate::servers::Server;
use crate::world::World;

const GADGET: &str = "rounds.example.com/v1/Gadget";
const GRANTS: [&str; 2] = ["read:v1/Pod", "act:sql:3306"];

/// A MySQL server that answers nothing until it is told to.
struct Slow {
    opened: AtomicUsize,
    open: Arc<AtomicUsize>,
    answers: watch::Sender<bool>,
}

impl Slow {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            opened: AtomicUsize::new(0),
            open: Arc::default(),
            answers: watch::Sender::new(false),
        })
    }

    /// How many sessions are open.
    fn open(&self) -> usize {
        self.open.load(Ordering::SeqCst)
    }
}

struct SlowSession {
    open: Arc<AtomicUsize>,
    answers: watch::Receiver<bool>,
}

impl Drop for SlowSession {
    fn drop(&mut self) {
        self.open.fetch_sub(1, Ordering::SeqCst);
    }
}

#[async_trait]
impl SqlSession for SlowSession {
    async fn send(&mut self, _: &[u8]) -> Result<Value, Unanswered> {
        self.answers.wait_for(|answers| *answers).await.unwrap();
        Ok(json!({"columns": [], "rows": []}))
    }
}

#[async_trait]
impl Server for Slow {
    async fn sql_session(&self) -> Box<dyn SqlSession> {
        self.opened.fetch_add(1, Ordering::SeqCst);
        self.open.fetch_add(1, Ordering::SeqCst);
        Box::new(SlowSession {
            open: self.open.clone(),
            answers: self.answers.subscribe(),
        })
    }
}

/// Clones the Pod `db` until that ended, whatever runs already; says in status what it is told.
fn clones(request: &Request) -> Result<Step, CallError> {
    let pod = Requirement {
        id: "db".into(),
        stage: 0,
        question: Question::Object(ObjectRef {
            api_version: "v1".into(),
            kind: "Pod".into(),
            namespace: object(request)["metadata"]["namespace"]
                .as_str()
                .map(str::to_owned),
            name: "db".into(),
        }),
    };
    let pod: Value = match fact(request, &pod) {
        Err(need) => return Ok(need),
        Ok(Answer::Object(Some(pod))) => serde_json::from_str(pod).unwrap(),
        Ok(_) => return Ok(Step::Plan(empty())),
    };
    let known = object(request);
    let ended = request
        .outcomes
        .first()
        .map(|outcome| match &outcome.ended {
            Ended::Done(_) => json!("done"),
            other => json!(format!("{other:?}")),
        });
    let ended = ended.unwrap_or_else(|| known["status"]["ended"].clone());
    let keys: Vec<_> = request
        .running
        .iter()
        .map(|running| running.key.clone())
        .collect();
    let actions = match ended.is_null() && !pod["status"]["podIP"].is_null() {
        true => vec![clone(&pod)],
        false => Vec::new(),
    };
    let if_failed = IfFailed::Stop;
    Ok(Step::Plan(Plan {
        status: Some(json!({"running": keys, "ended": ended, "seen": known["spec"]}).to_string()),
        actions: vec![ActionStep { actions, if_failed }],
        ..empty()
    }))
}

fn clone(pod: &Value) -> Action {
    let secret = SecretKey {
        namespace: pod["metadata"]["namespace"].as_str().unwrap().into(),
        name: "auth".into(),
        key: "password".into(),
    };
    Action {
        id: "rebuild".into(),
        effect: Effect::Sql(SqlAction {
            target: PodPort {
                pod: "db".into(),
                uid: pod["metadata"]["uid"].as_str().unwrap().into(),
                port: 3306,
            },
            login: Login {
                user: "operator".into(),
                passwords: vec![secret.clone()],
            },
            statements: vec![vec![
                Part::Text("CLONE INSTANCE FROM 'donor'@'db-1':3306 IDENTIFIED BY ".into()),
                Part::Secret(secret),
            ]],
            guard: None,
        }),
        timeout: 1000,
        long: Some(Long {
            key: "clone".into(),
            deadline: 3_600_000,
        }),
    }
}

/// A Gadget with a Pod of its own, and a Secret.
async fn populate(world: &World) {
    let auth = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "auth"},
        "stringData": {"password": "only-for-tests"}});
    world.create("v1/Secret", auth).await;
    world.make("Gadget", "one", json!({"step": 1})).await;
    world.make_pod("db", GADGET, "one").await;
}

#[tokio::test]
async fn it_runs_once_beside_the_rounds_and_its_end_wakes_the_object() {
    let server = Slow::new();
    let world = World::new("long").await.with_server(&server);
    let host = world.host_with(&Scripted::new(clones), &GRANTS).await;
    populate(&world).await;
    let runs = |gadget: &Value| gadget["status"]["running"] == json!(["clone"]);
    world.until(GADGET, "one", runs).await;

    // Rounds go on, and plan it again.
    world
        .edit(GADGET, "one", json!({"spec": {"step": 2}}))
        .await;
    let seen = |gadget: &Value| gadget["status"]["seen"] == json!({"step": 2});
    world.until(GADGET, "one", seen).await;
    assert_eq!(server.opened.load(Ordering::SeqCst), 1);

    server.answers.send_replace(true);
    let ended = |gadget: &Value| gadget["status"]["ended"] == "done";
    let gadget = world.until(GADGET, "one", ended).await;
    assert_eq!(gadget["status"]["running"], json!([]));
    host.until_round("gadget", "one", |round| {
        round.reason == "the long action clone ended"
    })
    .await;
    assert_eq!(
        (server.opened.load(Ordering::SeqCst), server.open()),
        (1, 0)
    );
}

#[tokio::test]
async fn a_host_that_stops_closes_the_connection() {
    let server = Slow::new();
    let world = World::new("long-stop").await.with_server(&server);
    let host = world.host_with(&Scripted::new(clones), &GRANTS).await;
    populate(&world).await;
    let runs = |gadget: &Value| gadget["status"]["running"] == json!(["clone"]);
    world.until(GADGET, "one", runs).await;
    assert_eq!(server.open(), 1);
    host.stop().await;
    let closed = async {
        while server.open() > 0 {
            tokio::task::yield_now().await;
        }
    };
    let closed = tokio::time::timeout(Duration::from_secs(60), closed).await;
    closed.expect("the connection stays open");
}
