//! How a call runs: what is asked, when, and what comes of it.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]

use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde_json::{Value, json};
use windlass_sdk::harness::Harness;
use windlass_sdk::sql::SqlReply;
use windlass_sdk::wire::{Failure, Login, SqlQuery};
use windlass_sdk::{Child, Context, Controller, Error, Plan};

fn object() -> ConfigMap {
    ConfigMap {
        metadata: named("settings"),
        ..ConfigMap::default()
    }
}

fn named(name: &str) -> ObjectMeta {
    ObjectMeta {
        name: Some(name.into()),
        namespace: Some("default".into()),
        uid: Some(format!("{name}-uid")),
        ..ObjectMeta::default()
    }
}

fn pod(name: &str) -> Pod {
    Pod {
        metadata: named(name),
        ..Pod::default()
    }
}

fn redis(run_id: &'static str) -> Vec<Value> {
    vec![json!({"ok": format!("run_id:{run_id}\r\n")})]
}

/// Asks for Pods and a Secret together, then for the Redis in every Pod.
struct Asks;

impl Controller for Asks {
    type Object = ConfigMap;

    fn reconcile(&self, _: &ConfigMap, cx: &Context<'_>) -> Result<Plan, Error> {
        let (pods, secret) = cx.all((cx.pods("app=web"), cx.secret("password")))?;
        let login = Login {
            user: "operator".into(),
            passwords: Vec::new(),
        };
        let replies = cx.redis(&pods, &login).info("server").stage(1).get()?;
        let run_ids: Vec<String> = replies
            .values()
            .filter_map(|reply| {
                Some(
                    reply
                        .as_ref()
                        .ok()?
                        .info("server")
                        .get("run_id")?
                        .to_owned(),
                )
            })
            .collect();
        let mut plan = Plan::new();
        plan.status(&json!({"runs": run_ids, "secret": secret.is_some()}))?;
        Ok(plan)
    }
}

fn status(plan: &windlass_sdk::wire::Plan) -> Value {
    serde_json::from_str(plan.status.as_ref().unwrap()).unwrap()
}

#[test]
fn questions_asked_together_take_one_call_and_each_depth_one_more() {
    let round = Harness::new(&object())
        .objects(&[pod("a"), pod("b")])
        .redis("a", |_| Ok(redis("one")))
        .redis("b", |_| Ok(redis("two")))
        .reconcile(&Asks);
    assert_eq!(round.calls, 3);
    assert_eq!(status(round.plan())["runs"], json!(["one", "two"]));
    let stages: Vec<u32> = round.asked.iter().map(|asked| asked.stage).collect();
    assert_eq!(stages, [0, 0, 1, 1]);
}

#[test]
fn a_pod_that_does_not_answer_is_a_fact() {
    let round = Harness::new(&object())
        .objects(&[pod("a"), pod("b")])
        .redis("b", |_| Ok(redis("two")))
        .reconcile(&Asks);
    assert_eq!(status(round.plan())["runs"], json!(["two"]));
}

#[test]
fn a_secret_shows_its_keys() {
    let secret = json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "password"},
        "data": {"password": {"digest": "5f0c", "length": 32}},
    });
    let round = Harness::new(&object()).typeless([secret]).reconcile(&Asks);
    assert_eq!(status(round.plan())["secret"], json!(true));
}

/// Fails as it is told.
struct Fails(Error);

impl Controller for Fails {
    type Object = ConfigMap;

    fn reconcile(&self, _: &ConfigMap, _: &Context<'_>) -> Result<Plan, Error> {
        Err(self.0.clone())
    }
}

#[test]
fn failures_cross_by_kind() {
    let invalid = Harness::new(&object()).reconcile(&Fails(Error::Invalid("no".into())));
    assert_eq!(invalid.result, Err(Failure::Invalid("no".into())));
    let grant = "read:v1/Node".to_owned();
    let refused = Harness::new(&object()).reconcile(&Fails(Error::Refused { grant }));
    let Err(Failure::Transient(text)) = refused.result else {
        panic!("{:?}", refused.result)
    };
    assert!(text.contains("read:v1/Node"), "{text}");
}

/// Never has enough.
struct Endless;

impl Controller for Endless {
    type Object = ConfigMap;

    fn reconcile(&self, _: &ConfigMap, cx: &Context<'_>) -> Result<Plan, Error> {
        for number in 0.. {
            cx.secret(&format!("secret-{number}")).get()?;
        }
        Ok(Plan::new())
    }
}

#[test]
fn a_round_ends_after_sixteen_calls() {
    let round = Harness::new(&object()).reconcile(&Endless);
    assert!(matches!(round.result, Err(Failure::Transient(_))));
}

#[test]
fn a_child_carries_how_it_is_kept() {
    let mut plan = Plan::new();
    let child = Child::of(&object()).unwrap();
    plan.child(child.kept().created_only().recreated_around_dependents());
    let wire = plan.wire();
    let child = &wire.children[0];
    assert!(child.manifest.contains(r#""kind":"ConfigMap""#));
    assert_eq!(format!("{:?}", child.when_dropped), "WhenDropped::Keep");
    assert_eq!(format!("{:?}", child.write), "Write::CreateOnly");
}

#[test]
fn requeue_is_never_shorter_than_the_contract_allows() {
    let mut plan = Plan::new();
    plan.requeue_after(std::time::Duration::from_millis(1));
    assert_eq!(plan.wire().requeue_after, Some(500));
}

/// Asks the MySQL in every Pod which of them takes writes, and starts a CLONE unless one runs.
struct AsksSql;

impl Controller for AsksSql {
    type Object = ConfigMap;

    fn reconcile(&self, _: &ConfigMap, cx: &Context<'_>) -> Result<Plan, Error> {
        let pods = cx.pods("app=db").get()?;
        let login = Login {
            user: "observer".into(),
            passwords: Vec::new(),
        };
        let replies = cx
            .sql(&pods, &login)
            .query("SELECT @@read_only")
            .query("SHOW REPLICA STATUS")
            .get()?;
        let takes_writes = |reply: &SqlReply| {
            let row = reply.first(0)?;
            Some(!row.flag("@@read_only"))
        };
        let primary = replies
            .iter()
            .find(|(_, reply)| reply.as_ref().ok().and_then(takes_writes) == Some(true));
        let mut plan = Plan::new();
        plan.status(
            &json!({"primary": primary.map(|(pod, _)| pod), "clone": cx.running("clone")}),
        )?;
        Ok(plan)
    }
}

#[test]
fn sql_servers_are_asked_at_once_and_read_by_column() {
    let read_only = |value: &'static str| {
        move |query: &SqlQuery| {
            assert_eq!(query.statements[0], "SELECT @@read_only");
            Ok(vec![
                json!({"columns": ["@@read_only"], "rows": [[value]]}),
                json!({"error": {"code": 1227, "state": "42000", "text": "denied"}}),
            ])
        }
    };
    let round = Harness::new(&object())
        .objects(&[pod("a"), pod("b"), pod("c")])
        .sql("a", read_only("1"))
        .sql("b", read_only("0"))
        .running("clone", 7)
        .reconcile(&AsksSql);
    assert_eq!(round.calls, 3);
    assert_eq!(status(round.plan()), json!({"primary": "b", "clone": 7}));
}
