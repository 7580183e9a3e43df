//! What leaves the host with a query, and what comes back to a plugin.

use std::sync::atomic::{AtomicUsize, Ordering};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use kube::Client;
use kube::client::Body;
use serde_json::json;
use tower::BoxError;

use super::*;
use crate::cache::tests::object;
use crate::cache::{Cache, News, Watched};
use crate::clock::SystemClock;
use crate::cluster::Cluster;
use crate::entropy::SystemEntropy;
use crate::object::Kind;
use crate::plugin::bindings::{PodPort, SecretKey};

/// Servers that repeat the password that they were sent, and count what reached them.
#[derive(Default)]
struct Echo {
    reached: AtomicUsize,
}

impl Echo {
    fn reached_with(&self, login: &Credentials) -> String {
        self.reached.fetch_add(1, Ordering::Relaxed);
        let password = login.passwords[0].expose();
        String::from_utf8_lossy(password).into_owned()
    }
}

#[async_trait]
impl Databases for Echo {
    async fn redis(
        &self,
        _: SocketAddr,
        login: Option<&Credentials>,
        _: &[Vec<String>],
        _: Duration,
    ) -> Result<RedisReplies, Unanswered> {
        let said = login.map(|login| self.reached_with(login));
        Ok(RedisReplies {
            replies: vec![json!({ "ok": said })],
            password: Some(0),
        })
    }

    async fn sql(
        &self,
        at: SocketAddr,
        login: &Credentials,
        _: &[String],
        _: Duration,
    ) -> Result<SqlReplies, Unanswered> {
        Err(Unanswered::LoginRefused {
            at,
            user: login.user.clone(),
            why: format!("access denied with {}", self.reached_with(login)),
        })
    }

    async fn http(&self, call: HttpCall, _: Duration) -> Result<HttpReply, Unanswered> {
        self.reached.fetch_add(1, Ordering::Relaxed);
        Ok(HttpReply {
            status: 200,
            headers: call.headers.into_iter().collect(),
            body: call.path,
        })
    }

    async fn redis_session(
        &self,
        _: SocketAddr,
        _: Option<&Credentials>,
        _: Duration,
    ) -> Result<Box<dyn RedisSession>, Unanswered> {
        unreachable!("queries open no session of their own")
    }

    async fn sql_session(
        &self,
        _: SocketAddr,
        _: &Credentials,
        _: Duration,
    ) -> Result<Box<dyn SqlSession>, Unanswered> {
        unreachable!("queries open no session of their own")
    }
}

/// An API server whose Secrets all hold one password, which names their namespace.
fn cluster() -> Cluster {
    let answer = |request: ::http::Request<Body>| {
        let namespace = request.uri().path().split('/').nth(4).unwrap_or_default();
        let password = STANDARD.encode(format!("canary-of-{namespace}"));
        let secret = json!({"apiVersion": "v1", "kind": "Secret",
            "metadata": {"name": "auth", "namespace": namespace, "resourceVersion": "1"},
            "data": {"password": password}});
        let body = Body::from(secret.to_string().into_bytes());
        std::future::ready(Ok::<_, BoxError>(::http::Response::new(body)))
    };
    Cluster::new(Client::new(tower::service_fn(answer), "default"))
}

fn owner() -> Object {
    let meta = json!({"metadata": {"name": "a", "namespace": "default", "uid": "owner"}});
    object("example.com/v1", "Thing", meta)
}

/// Queries that see one Pod of the owner.
fn queries(databases: Arc<Echo>) -> Queries {
    let (cache, _) = Cache::new();
    let pods = Watched {
        kind: Kind::new("v1", "Pod"),
        namespace: None,
        selector: String::new(),
    };
    cache.open(&pods).unwrap();
    let controller = json!({"apiVersion": "example.com/v1", "kind": "Thing", "name": "a",
        "uid": "owner", "controller": true});
    let pod = json!({"metadata": {"name": "p", "namespace": "default", "uid": "u",
        "ownerReferences": [controller]}, "status": {"podIP": "10.0.0.1"}});
    cache.learn(&pods, News::Applied(object("v1", "Pod", pod)));
    let secrets = Secrets::new(
        cluster(),
        cache.clone(),
        Arc::new(SystemEntropy),
        "windlass-system".into(),
    );
    let clock = Arc::new(SystemClock);
    Queries::new(databases, Targets::new(cache), Arc::new(secrets), clock)
}

fn pod(port: u16) -> PodPort {
    PodPort {
        pod: "p".into(),
        uid: "u".into(),
        port,
    }
}

fn login(namespace: &str) -> Login {
    let password = SecretKey {
        namespace: namespace.into(),
        name: "auth".into(),
        key: "password".into(),
    };
    Login {
        user: "operator".into(),
        passwords: vec![password],
    }
}

fn redis(namespace: &str) -> RedisQuery {
    RedisQuery {
        target: pod(6379),
        login: Some(login(namespace)),
        commands: vec![vec!["PING".into()]],
        timeout: 1000,
    }
}

fn http(path: &str, headers: &[(&str, &str)]) -> HttpQuery {
    let header = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    HttpQuery {
        target: HttpTarget::Pod(pod(9090)),
        method: HttpMethod::Get,
        path: path.into(),
        headers: headers.iter().map(header).collect(),
        timeout: 1000,
    }
}

#[tokio::test]
async fn a_password_comes_back_masked_whichever_namespace_it_was_taken_from() {
    let servers = Arc::new(Echo::default());
    let queries = queries(servers.clone());
    for namespace in ["default", "shared"] {
        let answer = queries.redis(&owner(), &redis(namespace)).await;
        let Answer::Reply(reply) = answer else {
            panic!("{answer:?}")
        };
        assert_eq!(reply.body, r#"[{"ok":"[masked]"}]"#, "{namespace}");
    }
    assert_eq!(servers.reached.load(Ordering::Relaxed), 2);
    // From then on also where another server repeats it.
    let answer = queries
        .http(&owner(), &http("/canary-of-shared", &[]))
        .await;
    let Answer::Reply(reply) = answer else {
        panic!("{answer:?}")
    };
    assert!(!reply.body.contains("canary"), "{}", reply.body);
}

#[tokio::test]
async fn what_a_server_says_while_it_lets_nobody_in_is_masked() {
    let queries = queries(Arc::default());
    let query = SqlQuery {
        target: pod(3306),
        login: login("shared"),
        statements: vec!["SELECT 1".into()],
        timeout: 1000,
    };
    let answer = queries.sql(&owner(), &query).await;
    let Answer::Unreachable(silence) = answer else {
        panic!("{answer:?}")
    };
    assert!(
        silence.why.contains("denied with [masked]"),
        "{}",
        silence.why
    );
    assert!(silence.answered, "it runs");
}

#[tokio::test]
async fn an_http_query_that_could_leave_its_pod_is_refused_before_anything_is_sent() {
    let servers = Arc::new(Echo::default());
    let queries = queries(servers.clone());
    for query in [
        http("@other.example.com/x", &[]),
        http("#", &[]),
        http("/a\r\nHost: other", &[]),
        http("/", &[("Host", "other.example.com")]),
        http("/", &[("authorization", "Bearer x")]),
        http("/", &[("Cookie", "a=b")]),
    ] {
        let answer = queries.http(&owner(), &query).await;
        assert!(
            matches!(answer, Answer::Refused(_)),
            "{query:?}: {answer:?}"
        );
    }
    assert_eq!(servers.reached.load(Ordering::Relaxed), 0);
    let answer = queries.http(&owner(), &http("/metrics", &[])).await;
    assert!(matches!(answer, Answer::Reply(_)), "{answer:?}");
}
