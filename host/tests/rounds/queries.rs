//! Queries take no password, and reach no server, that the plugin is not granted; no password comes back.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use serde_json::{Value, json};
use windlass::plugin::CallError;
use windlass::plugin::bindings::{
    Answer, HttpMethod, HttpQuery, HttpTarget, Login, ObjectRef, PodPort, Question, RedisQuery,
    Request, Requirement, SecretKey, Step,
};
use windlass::query::{Credentials, HttpReply, RedisReplies};

use crate::operator::{Scripted, empty, fact, object, plan};
use crate::servers::Server;
use crate::world::World;

const GADGET: &str = "rounds.example.com/v1/Gadget";
const GRANTS: [&str; 3] = ["read:v1/Pod", "query:redis:6379", "query:http:9090"];

/// A Redis server that repeats the password that it is sent. Counts what reaches it, over HTTP too.
#[derive(Default)]
struct Echo {
    reached: AtomicUsize,
}

#[async_trait]
impl Server for Echo {
    async fn redis(&self, login: Option<&Credentials>) -> RedisReplies {
        self.reached.fetch_add(1, Ordering::SeqCst);
        let passwords = login.into_iter().flat_map(|login| &login.passwords);
        let said = passwords.map(|password| String::from_utf8_lossy(password.expose()));
        RedisReplies {
            replies: vec![json!({"ok": said.collect::<String>()})],
            password: Some(0),
        }
    }

    async fn http(&self) -> HttpReply {
        self.reached.fetch_add(1, Ordering::SeqCst);
        HttpReply {
            status: 200,
            headers: Default::default(),
            body: String::new(),
        }
    }
}

/// Asks this of the Pod `db` once it has an address, and says in status what it is told.
fn asks(request: &Request, question: impl Fn(PodPort) -> Question) -> Result<Step, CallError> {
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
    if pod["status"]["podIP"].is_null() {
        return Ok(Step::Plan(empty()));
    }
    let asked = Requirement {
        id: "asked".into(),
        stage: 1,
        question: question(PodPort {
            pod: "db".into(),
            uid: pod["metadata"]["uid"].as_str().unwrap().into(),
            port: 0,
        }),
    };
    match fact(request, &asked) {
        Err(need) => Ok(need),
        Ok(Answer::Reply(reply)) => plan(vec![], json!({"told": reply.body})),
        Ok(Answer::Refused(why)) => plan(vec![], json!({"refused": why})),
        Ok(other) => panic!("{other:?}"),
    }
}

/// A Redis query with a password from this namespace.
fn redis(target: PodPort, namespace: &str) -> Question {
    let password = SecretKey {
        namespace: namespace.into(),
        name: "auth".into(),
        key: "password".into(),
    };
    Question::Redis(RedisQuery {
        target: PodPort {
            port: 6379,
            ..target
        },
        login: Some(Login {
            user: "operator".into(),
            passwords: vec![password],
        }),
        commands: vec![vec!["PING".into()]],
        timeout: 1000,
    })
}

/// Another namespace than a test's own, with a password in it.
async fn elsewhere() -> String {
    let other = World::new("elsewhere").await;
    let auth = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "auth"},
        "stringData": {"password": "canary-of-others"}});
    other.create("v1/Secret", auth).await;
    other.namespace
}

async fn populate(world: &World) {
    world.make("Gadget", "one", json!({})).await;
    world.make_pod("db", GADGET, "one").await;
}

#[tokio::test]
async fn without_the_grant_no_password_is_taken_from_another_namespace() {
    let server = Arc::new(Echo::default());
    let world = World::new("taken").await.with_server(&server);
    let other = elsewhere().await;
    let refused = json!(format!("slots-from:{other}"));
    let operator = Scripted::new(move |request: &Request| asks(request, |pod| redis(pod, &other)));
    let _host = world.host_with(&operator, &GRANTS).await;
    populate(&world).await;
    world
        .until(GADGET, "one", |gadget| {
            gadget["status"]["refused"] == refused
        })
        .await;
    assert_eq!(server.reached.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn a_password_from_another_namespace_is_used_and_does_not_come_back() {
    let world = World::new("echo").await;
    let world = world.with_server(&Arc::new(Echo::default()));
    let other = elsewhere().await;
    let slots = format!("slots-from:{other}");
    let operator = Scripted::new(move |request: &Request| asks(request, |pod| redis(pod, &other)));
    let grants: Vec<&str> = GRANTS.into_iter().chain([slots.as_str()]).collect();
    let host = world.host_with(&operator, &grants).await;
    populate(&world).await;
    let told = |gadget: &Value| gadget["status"]["told"].is_string();
    let gadget = world.until(GADGET, "one", told).await;
    assert_eq!(gadget["status"]["told"], r#"[{"ok":"[masked]"}]"#);
    let explained = host.rounds("gadget", "one");
    for text in [
        format!("{:?}", operator.requests()),
        format!("{explained:?}"),
    ] {
        assert!(text.contains("[masked]"), "{text}");
        assert!(!text.contains("canary"), "{text}");
    }
}

#[tokio::test]
async fn an_http_query_that_leads_elsewhere_is_refused_and_not_sent() {
    let server = Arc::new(Echo::default());
    let world = World::new("leads").await.with_server(&server);
    let operator = Scripted::new(|request: &Request| {
        asks(request, |pod| {
            Question::Http(HttpQuery {
                target: HttpTarget::Pod(PodPort { port: 9090, ..pod }),
                method: HttpMethod::Get,
                path: "@metadata.example.com/token".into(),
                headers: vec![],
                timeout: 1000,
            })
        })
    });
    let _host = world.host_with(&operator, &GRANTS).await;
    populate(&world).await;
    let refused = json!("http: its path does not begin with /");
    world
        .until(GADGET, "one", |gadget| {
            gadget["status"]["refused"] == refused
        })
        .await;
    assert_eq!(server.reached.load(Ordering::SeqCst), 0);
}
