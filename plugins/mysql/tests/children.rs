//! Children as they are rendered. `UPDATE_GOLDEN=1 cargo test` writes the files anew.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]

use std::path::Path;

use serde_json::{Value, json};
use windlass_mysql::component::describe;
use windlass_mysql::reconcile::MySqlController;
use windlass_mysql::spec::MySQLCluster;
use windlass_sdk::golden;
use windlass_sdk::harness::{Harness, Round};

/// The first file that users are shown, just applied.
fn sample() -> MySQLCluster {
    let text = include_str!("../../../deploy/samples/mysql/clusters.yaml");
    let first = text.split("---").next().unwrap();
    let mut cluster: MySQLCluster = serde_saphyr::from_str(first).unwrap();
    cluster.metadata.uid = Some("mysql-uid".into());
    cluster.metadata.generation = Some(1);
    cluster
}

fn round(cluster: &MySQLCluster) -> Round {
    let harness = Harness::new(cluster)
        .now(1_000_000)
        .available(describe().grants());
    harness.reconcile(&MySqlController)
}

fn children(cluster: &MySQLCluster) -> Vec<Value> {
    let round = round(cluster);
    let children = round.plan().children.iter();
    children
        .map(|child| serde_json::from_str(&child.manifest).unwrap())
        .collect()
}

fn check(child: &Value) {
    let (kind, name) = (
        child["kind"].as_str().unwrap(),
        child["metadata"]["name"].as_str().unwrap(),
    );
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let file = format!("{name}.{}.yaml", kind.to_lowercase());
    golden::check(&folder.join(file), child);
}

#[test]
fn the_children_of_the_sample_are_as_reviewed() {
    let children = children(&sample());
    assert_eq!(children.len(), 10);
    children.iter().for_each(check);
}

#[test]
fn the_job_of_a_backup_is_as_reviewed() {
    let mut cluster = sample();
    let status = json!({
        "version": "8.0.32",
        "backups": [{
            "id": "20261130-020000",
            "state": "Running",
            "started": 1,
            "source": "production-mysql-2"
        }]
    });
    cluster.status = Some(serde_json::from_value(status).unwrap());
    let children = children(&cluster);
    let job = children
        .iter()
        .find(|child| child["kind"] == "Job")
        .unwrap();
    check(job);
}

#[test]
fn a_set_is_never_smaller_than_the_primary_and_the_voters_need() {
    let mut cluster = sample();
    let voter = json!({"pod": "production-mysql-4", "uid": "u", "uuid": "x"});
    cluster.status = Some(serde_json::from_value(json!({"voters": [voter]})).unwrap());
    cluster.spec.replicas = 1;
    let children = children(&cluster);
    let set = children
        .iter()
        .find(|child| child["kind"] == "StatefulSet")
        .unwrap();
    assert_eq!(set["spec"]["replicas"], 5);
}

#[test]
fn both_samples_are_read_and_nothing_in_them_is_refused() {
    let text = include_str!("../../../deploy/samples/mysql/clusters.yaml");
    for sample in text.split("---") {
        let cluster: MySQLCluster = serde_saphyr::from_str(sample).unwrap();
        let round = round(&cluster);
        assert_eq!(round.plan().refusals, []);
    }
}

#[test]
fn what_is_not_run_yet_is_refused_by_name() {
    let mut cluster = sample();
    let unsupported = json!({
        "version": "8.0.25",
        "restore": {"from": "x"},
        "tls": {"secret": "x"},
        "passwordRotation": {"days": 30},
        "monitoring": {"enabled": true},
        "backup": {"schedule": "0 0 30 2 *", "verify": true, "beforeDeletion": true}
    });
    cluster.spec = serde_json::from_value(unsupported).unwrap();
    let round = round(&cluster);
    let fields: Vec<&str> = round
        .plan()
        .refusals
        .iter()
        .map(|it| it.field.as_str())
        .collect();
    let expected = [
        "spec.backup.verify",
        "spec.backup.beforeDeletion",
        "spec.restore",
        "spec.tls",
        "spec.passwordRotation",
        "spec.monitoring.enabled",
        "spec.version",
        "spec.backup.schedule",
    ];
    assert_eq!(fields, expected);
}
