//! Whole rounds against made-up facts: what is planned, what is told.
#![allow(clippy::expect_used, clippy::panic, unreachable_pub)]

use serde_json::{Value, json};
use windlass_prometheus::api::status::PrometheusStatus;
use windlass_prometheus::component::describe;
use windlass_prometheus::reconcile::PrometheusController;
use windlass_sdk::harness::{Harness, Round};
use windlass_sdk::wire::{Child, Effect};

const API: &str = "monitoring.coreos.com/v1";

fn prometheus(spec: Value) -> Value {
    json!({
        "apiVersion": API, "kind": "Prometheus",
        "metadata": {"name": "main", "namespace": "mon", "uid": "u", "generation": 1},
        "spec": spec,
    })
}

fn monitor(name: &str, endpoint: Value) -> Value {
    json!({
        "apiVersion": API, "kind": "ServiceMonitor",
        "metadata": {"name": name, "namespace": "mon"},
        "spec": {"selector": {}, "endpoints": [endpoint]},
    })
}

fn world(prometheus: &Value, monitors: &[Value]) -> Harness {
    Harness::new(prometheus)
        .now(1000)
        .available(describe().grants())
        .typeless(monitors.iter().cloned())
}

fn round(spec: Value, monitors: &[Value]) -> Round {
    world(&prometheus(spec), monitors).reconcile(&PrometheusController)
}

fn manifest(child: &Child) -> Value {
    serde_json::from_str(&child.manifest).expect("a manifest")
}

fn child(round: &Round, kind: &str, name: &str) -> Value {
    let children = round.plan().children.iter().map(manifest);
    let mut found =
        children.filter(|child| child["kind"] == kind && child["metadata"]["name"] == name);
    found.next().unwrap_or_else(|| panic!("no {kind} {name}"))
}

fn status(round: &Round) -> PrometheusStatus {
    serde_json::from_str(round.plan().status.as_deref().expect("a status")).expect("a status")
}

fn condition(round: &Round, type_: &str) -> Option<(String, String)> {
    let conditions = status(round).conditions.into_iter();
    let mut found = conditions.filter(|condition| condition.type_ == type_);
    found
        .next()
        .map(|condition| (condition.status, condition.message))
}

#[test]
fn a_prometheus_has_its_children_in_order() {
    let round = round(
        json!({"serviceMonitorSelector": {}, "ruleSelector": {}}),
        &[],
    );
    let children: Vec<String> = round
        .plan()
        .children
        .iter()
        .map(manifest)
        .map(|child| {
            format!(
                "{} {}",
                child["kind"].as_str().unwrap_or_default(),
                child["metadata"]["name"].as_str().unwrap_or_default()
            )
        })
        .collect();
    assert_eq!(
        children,
        [
            "Secret prometheus-main",
            "Secret prometheus-main-tls-assets-0",
            "ConfigMap prometheus-main-rulefiles-0",
            "Service prometheus-operated",
            "StatefulSet prometheus-main",
        ]
    );
}

#[test]
fn one_bad_monitor_is_left_out_alone_and_told() {
    let monitors = [
        monitor(
            "bad",
            json!({"port": "web", "relabelings": [{"regex": "(", "targetLabel": "a"}]}),
        ),
        monitor("good", json!({"port": "web"})),
        json!({"apiVersion": API, "kind": "ServiceMonitor", "metadata": {"name": "broken", "namespace": "mon"}, "spec": {"endpoints": 3}}),
    ];
    let round = round(json!({"serviceMonitorSelector": {}}), &monitors);
    let secret = child(&round, "Secret", "prometheus-main").to_string();
    assert!(
        secret.contains("serviceMonitor/mon/good/0")
            && !secret.contains("serviceMonitor/mon/bad/0")
    );
    let selection = status(&round).selection.expect("a selection");
    assert_eq!((selection.picked, selection.left_out), (1, 2));
    assert!(selection.objects[0].reason.contains("regular expression"));
    let about: Vec<&str> = round
        .plan()
        .events
        .iter()
        .map(|event| event.about.name.as_str())
        .collect();
    assert_eq!(about, ["bad", "broken"]);
}

#[test]
fn what_was_told_is_not_told_again() {
    let monitors = [monitor(
        "bad",
        json!({"port": "web", "scrapeTimeout": "2m"}),
    )];
    let first = round(json!({"serviceMonitorSelector": {}}), &monitors);
    let mut again = prometheus(json!({"serviceMonitorSelector": {}}));
    again["status"] =
        serde_json::from_str(first.plan().status.as_deref().expect("a status")).expect("a status");
    let second = world(&again, &monitors).reconcile(&PrometheusController);
    assert_eq!(
        (first.plan().events.len(), second.plan().events.len()),
        (1, 0)
    );
}

/// Upstream's CRD keeps no selection: the condition remembers what was told.
#[test]
fn what_was_told_is_not_told_again_where_the_selection_is_not_kept() {
    let spec = json!({"serviceMonitorSelector": {}});
    let bad = |timeout: &str| monitor("bad", json!({"port": "web", "scrapeTimeout": timeout}));
    let told = |status: &Value, monitor: Value| {
        let mut object = prometheus(spec.clone());
        object["status"] = status.clone();
        let round = world(&object, &[monitor]).reconcile(&PrometheusController);
        let status = round.plan().status.as_deref().expect("a status");
        let mut status: Value = serde_json::from_str(status).expect("a status");
        status.as_object_mut().expect("fields").remove("selection");
        (round.plan().events.len(), status)
    };
    let (first, status) = told(&Value::Null, bad("2m"));
    let (again, status) = told(&status, bad("2m"));
    let (changed, status) = told(&status, bad("3m"));
    let (mended, status) = told(&status, bad("1s"));
    assert_eq!([first, again, changed, mended], [1, 0, 1, 0]);
    let conditions = status["conditions"].as_array().expect("conditions");
    let mut types = conditions.iter().map(|condition| &condition["type"]);
    assert!(types.all(|type_| type_ != "ObjectsLeftOut"), "{status}");
}

#[test]
fn a_field_that_does_not_work_yet_is_named() {
    let spec = json!({"serviceMonitorSelector": {}, "thanos": {"version": "1"}, "remoteWrite": [{"url": "x"}], "shards": 3});
    let (status, message) = condition(&round(spec, &[]), "UnsupportedFields").expect("a condition");
    assert_eq!(status, "True");
    for field in ["spec.thanos", "spec.remoteWrite", "spec.shards"] {
        assert!(message.contains(field), "{message}");
    }
    assert!(
        condition(
            &round(json!({"serviceMonitorSelector": {}}), &[]),
            "UnsupportedFields"
        )
        .is_none()
    );
}

#[test]
fn a_part_of_the_spec_that_cannot_be_followed_is_refused() {
    let spec = json!({"serviceMonitorSelector": {}, "scrapeInterval": "10s", "scrapeTimeout": "20s", "additionalScrapeConfigs": {"name": "none", "key": "x"}});
    let round = round(spec, &[]);
    let fields: Vec<&str> = round
        .plan()
        .refusals
        .iter()
        .map(|refusal| refusal.field.as_str())
        .collect();
    assert_eq!(
        fields,
        ["spec.scrapeTimeout", "spec.additionalScrapeConfigs"]
    );
}

#[test]
fn a_duration_that_is_none_is_refused_and_the_usual_one_holds() {
    let spec = json!({"serviceMonitorSelector": {}, "evaluationInterval": "nonsense", "retention": "15 days"});
    let round = round(spec, &[]);
    let refusals = round.plan().refusals.iter();
    let fields: Vec<&str> = refusals.map(|refusal| refusal.field.as_str()).collect();
    assert_eq!(fields, ["spec.evaluationInterval", "spec.retention"]);
    let written: String = round
        .plan()
        .children
        .iter()
        .map(|child| child.manifest.as_str())
        .collect();
    assert!(!written.contains("nonsense") && !written.contains("15 days"));
}

#[test]
fn without_selectors_the_configuration_is_the_users() {
    let round = round(json!({}), &[]);
    let secret = round
        .plan()
        .children
        .iter()
        .find(|child| manifest(child)["kind"] == "Secret")
        .expect("a Secret");
    assert_eq!(secret.write, windlass_sdk::wire::Write::CreateOnly);
}

#[test]
fn a_newer_host_restarts_no_prometheus() {
    let spec = json!({"serviceMonitorSelector": {}});
    let mut live = child(&round(spec.clone(), &[]), "StatefulSet", "prometheus-main");
    live["spec"]["template"]["spec"]["containers"][1]["image"] = "old:1".into();
    let image = |live: &Value, spec: Value| {
        let round = world(&prometheus(spec), &[])
            .child(live)
            .reconcile(&PrometheusController);
        child(&round, "StatefulSet", "prometheus-main")["spec"]["template"]["spec"]["containers"][1]
            ["image"]
            .clone()
    };
    assert_eq!(image(&live, spec), "old:1");
    let changed = json!({"serviceMonitorSelector": {}, "retention": "30d"});
    assert_ne!(image(&live, changed), "old:1");
}

#[test]
fn paused_keeps_what_is_there() {
    let live = child(
        &round(json!({"serviceMonitorSelector": {}}), &[]),
        "StatefulSet",
        "prometheus-main",
    );
    let spec = json!({"serviceMonitorSelector": {}, "paused": true, "replicas": 5});
    let round = world(&prometheus(spec), &[])
        .child(&live)
        .reconcile(&PrometheusController);
    let set = round
        .plan()
        .children
        .iter()
        .find(|child| manifest(child)["kind"] == "StatefulSet")
        .expect("a StatefulSet");
    assert_eq!(set.write, windlass_sdk::wire::Write::CreateOnly);
    assert!(status(&round).paused);
}

#[test]
fn a_volume_that_is_too_small_grows() {
    let claim = json!({
        "apiVersion": "v1", "kind": "PersistentVolumeClaim",
        "metadata": {"name": "prometheus-main-db-prometheus-main-0", "namespace": "mon", "uid": "c"},
        "spec": {"resources": {"requests": {"storage": "1Gi"}}},
    });
    let spec = json!({"serviceMonitorSelector": {}, "storage": {"volumeClaimTemplate": {"spec": {"resources": {"requests": {"storage": "2Gi"}}}}}});
    let round = world(&prometheus(spec), &[claim]).reconcile(&PrometheusController);
    let patches = round.plan().actions.iter().flat_map(|step| &step.actions);
    let patches: Vec<&str> = patches
        .filter_map(|action| match &action.effect {
            Effect::Patch(patch) => Some(patch.patch.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(
        patches,
        [r#"{"spec":{"resources":{"requests":{"storage":"2Gi"}}}}"#]
    );
}

#[test]
fn only_pods_that_can_be_asked_are_looked_at_again_and_ever_more_rarely() {
    let pod = |status: Value| {
        json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": "prometheus-main-0", "namespace": "mon", "uid": "p", "labels": {
                "app.kubernetes.io/instance": "main", "app.kubernetes.io/managed-by": "prometheus-operator",
                "app.kubernetes.io/name": "prometheus", "operator.prometheus.io/name": "main", "prometheus": "main"}},
            "status": status,
        })
    };
    let look = |status: Value, now: u64, there: &[Value]| {
        let mut object = prometheus(json!({"serviceMonitorSelector": {}}));
        object["status"] = status;
        let round = world(&object, there)
            .now(now)
            .reconcile(&PrometheusController);
        (round.plan().requeue_after, self::status(&round))
    };
    let starting = [pod(json!({"phase": "Pending"}))];
    let silent = [pod(json!({"phase": "Running", "podIP": "10.0.0.1"}))];
    assert_eq!(look(Value::Null, 1000, &[]).0, None);
    assert_eq!(look(Value::Null, 1000, &starting).0, None);
    let (soon, status) = look(Value::Null, 1000, &silent);
    assert_eq!(soon, Some(1000));
    let status = serde_json::to_value(status).expect("a status");
    assert_eq!(look(status.clone(), 61_000, &silent).0, Some(1000));
    assert_eq!(look(status, 200_000, &silent).0, Some(10_000));
}

/// The rendered StatefulSet; `UPDATE_GOLDEN=1 cargo test -p windlass-prometheus --test rounds` writes it anew.
#[test]
fn the_stateful_set_is_as_it_was() {
    let spec = json!({
        "replicas": 2, "version": "v3.5.0", "serviceAccountName": "prometheus", "serviceMonitorSelector": {}, "ruleSelector": {},
        "retention": "15d", "externalUrl": "https://prom.example.com/x", "routePrefix": "/x", "secrets": ["pki"],
        "storage": {"volumeClaimTemplate": {"spec": {"resources": {"requests": {"storage": "10Gi"}}}}},
        "containers": [{"name": "prometheus", "env": [{"name": "A", "value": "b"}]}],
    });
    let set = child(&round(spec, &[]), "StatefulSet", "prometheus-main");
    let text = serde_saphyr::to_string(&set).expect("YAML");
    let file = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/tests/golden/stateful_set.yaml"
    );
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(file, &text).expect("to write it");
    }
    let golden = std::fs::read_to_string(file).unwrap_or_default();
    assert_eq!(
        text,
        golden,
        "{}",
        similar::TextDiff::from_lines(&golden, &text).unified_diff()
    );
}
