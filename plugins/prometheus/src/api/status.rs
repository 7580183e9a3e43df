//! What people read about a Prometheus.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Opaque;

/// What people read about a Prometheus.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct PrometheusStatus {
    /// Whether it is left as it is.
    pub paused: bool,
    /// Pods of all shards.
    pub replicas: i32,
    /// Pods that run what the spec says.
    pub updated_replicas: i32,
    /// Pods that are ready.
    pub available_replicas: i32,
    /// Pods that are not.
    pub unavailable_replicas: i32,
    /// How many groups of Pods there are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shards: Option<i32>,
    /// The label selector of its Pods.
    pub selector: String,
    /// The Pods of each shard.
    pub shard_statuses: Vec<ShardStatus>,
    /// Which monitors and rules are followed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub selection: Option<Selection>,
    /// The generation of the spec that this says something about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// Available, Reconciled, UnsupportedFields and those of the host.
    pub conditions: Vec<Condition>,
    /// The host's own record.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub windlass: Option<Opaque>,
}

/// The Pods of one shard.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ShardStatus {
    /// The shard's number.
    #[serde(rename = "shardID")]
    pub shard_id: String,
    /// Its Pods.
    pub replicas: i32,
    /// Those that run what the spec says.
    pub updated_replicas: i32,
    /// Those that are ready.
    pub available_replicas: i32,
    /// Those that are not.
    pub unavailable_replicas: i32,
}

/// Which monitors and rules are followed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Selection {
    /// How many are followed.
    pub picked: i32,
    /// How many of those in reach are not.
    pub left_out: i32,
    /// Those in reach, the ones left out first; at most 500.
    pub objects: Vec<Candidate>,
}

/// A monitor or rule in reach.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Candidate {
    /// ServiceMonitor, PodMonitor, Probe or PrometheusRule.
    pub kind: String,
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Whether it is followed.
    pub picked: bool,
    /// Why not.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub reason: String,
}
