//! Objects as the API server and the kubelet would show them.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::Timestamp;
use serde_json::{Value, json};

pub(crate) fn time(milliseconds: u64) -> Time {
    Time(Timestamp::from_millisecond(i64::try_from(milliseconds).unwrap()).unwrap())
}

pub(crate) fn ip(number: u32) -> String {
    format!("10.0.0.{number}")
}

/// Fills in what the controller manager does.
pub(crate) fn set_status(set: &mut Value) {
    set["metadata"]["uid"] = json!(format!("{}-uid", set["metadata"]["name"].as_str().unwrap()));
    set["metadata"]["generation"] = json!(1);
    set["status"] =
        json!({"observedGeneration": 1, "replicas": 0, "updateRevision": revision(set)});
}

fn revision(set: &Value) -> String {
    windlass_sdk::digest(set["spec"]["template"].to_string())
}

/// A running Pod of a set.
pub(crate) fn pod(name: &str, set: &Value, number: u32) -> Value {
    let mut labels = set["spec"]["template"]["metadata"]["labels"].clone();
    labels["controller-revision-hash"] = json!(revision(set));
    json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": "default",
            "uid": format!("pod-{number}"),
            "labels": labels,
            "ownerReferences": [{
                "apiVersion": "apps/v1",
                "kind": "StatefulSet",
                "name": set["metadata"]["name"],
                "uid": set["metadata"]["uid"],
                "controller": true,
            }],
        },
        "status": {
            "podIP": ip(number),
            "containerStatuses": [{
                "name": "redis",
                "image": "redis",
                "imageID": "redis",
                "ready": true,
                "restartCount": 0,
                "state": {"running": {"startedAt": "1970-01-01T00:20:00Z"}},
            }],
        },
    })
}

pub(crate) fn claim(name: &str, now: u64) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {
            "name": name,
            "namespace": "default",
            "uid": format!("{name}-uid"),
            "creationTimestamp": time(now),
        },
        "spec": {"resources": {"requests": {"storage": "10Gi"}}},
    })
}

/// A JSON merge patch.
pub(crate) fn merge(object: &mut Value, patch: &Value) {
    let Value::Object(fields) = patch else {
        *object = patch.clone();
        return;
    };
    for (key, value) in fields {
        merge(&mut object[key.as_str()], value);
    }
}
