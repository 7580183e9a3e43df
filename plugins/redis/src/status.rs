//! What the operator writes: the record, and what people read.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The state of a Redis.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct RedisStatus {
    /// Pending: there is no primary that takes writes, and the operator is working on it. Running: there is.
    /// Failed: a person must help; the condition Ready says how.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phase: Option<Phase>,
    /// Ready when the primary takes writes, else NotReady.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub master_status: Option<MasterStatus>,
    /// The address of the primary's Pod.
    #[serde(rename = "masterIP", skip_serializing_if = "Option::is_none")]
    pub master_ip: Option<String>,
    /// Each Pod that is not the primary.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub replica_status: BTreeMap<String, ReplicaStatus>,
    /// Pods that are not the primary, for the scale subresource.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replicas: Option<i32>,
    /// Replicas that follow the primary closely.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ready_replicas: Option<i32>,
    /// The label selector of all Pods, for the scale subresource.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub selector: Option<String>,

    /// The record: what the operator decided and acts on.
    #[serde(flatten)]
    pub record: Record,

    /// The generation of spec that was last acted on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// What holds: Ready, Reconciled, Complete, and the host's Synced and SpecAccepted.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub conditions: Vec<Condition>,
    /// The host's own notes: which random values it made, what it is making again.
    #[serde(skip_serializing)]
    #[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
    pub windlass: Option<HostNotes>,
}

/// The host's own notes; a plugin neither reads nor writes them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HostNotes {}

/// Where the object stands as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Phase {
    /// There is no primary that takes writes, and the operator is working on it.
    Pending,
    /// The primary takes writes.
    Running,
    /// A person must help; the condition Ready says how.
    Failed,
}

/// Whether the primary takes writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum MasterStatus {
    /// It does.
    Ready,
    /// It does not, or there is none.
    NotReady,
}

/// How a Pod that is not the primary stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum ReplicaStatus {
    /// It follows the primary closely.
    Ready,
    /// It answers, and is on its way to follow the primary.
    Syncing,
    /// It does not answer, or is being deleted.
    NotReady,
}

/// The one durable truth: it is stored before anything acts on it, and everything else converges to it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Record {
    /// The primary.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub primary: Option<Primary>,
    /// Grows by one with every change of primary.
    #[serde(skip_serializing_if = "is_zero")]
    pub epoch: i64,
    /// Replicas that may be promoted: their link is up, they have the primary's history, and their lag is within
    /// the bound of three seconds.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub in_sync: Vec<Member>,
    /// A planned change of primary under way.
    #[serde(rename = "move", skip_serializing_if = "Option::is_none")]
    pub planned: Option<Move>,
    /// Since when the primary is missed, in milliseconds since 1970.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub missed_since: Option<u64>,
    /// A primary that somebody else made, seen once and not yet adopted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub foreign: Option<Foreign>,
    /// The Pod that the annotation redis.example.com/force-primary named when it was last followed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub forced: Option<String>,
    /// Whether Pods boot with the append-only file. Follows spec once every Pod has rewritten its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub boots_with_aof: Option<bool>,
    /// What of the spec Redis or the cluster refused, by field: not tried again before it changes.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub rejected: BTreeMap<String, Rejected>,
}

/// A value that was tried and refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Rejected {
    /// The value as the spec had it.
    pub value: String,
    /// What Redis or the cluster said.
    pub why: String,
}

/// The primary.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Primary {
    /// Its Pod's name.
    pub pod: String,
    /// Its Pod's uid.
    pub uid: String,
    /// The run_id of its Redis: another means that Redis was restarted.
    pub run_id: String,
    /// The master_replid of its Redis: names the history of its data.
    pub replid: String,
    /// When it became the primary, in milliseconds since 1970.
    pub since: u64,
}

/// A replica that may be promoted.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Member {
    /// Its Pod's name.
    pub pod: String,
    /// The run_id of its Redis: another means that it was restarted and may have lost writes.
    pub run_id: String,
}

/// A planned change of primary.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Move {
    /// The Pod that is to be the primary.
    pub to: String,
    /// When it is given up, in milliseconds since 1970.
    pub deadline: u64,
    /// Set once it was given up: when it may be tried again, in milliseconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub again_after: Option<u64>,
}

/// A primary that somebody else made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Foreign {
    /// Its Pod's name.
    pub pod: String,
    /// The run_id of its Redis.
    pub run_id: String,
    /// When it was first seen, in milliseconds since 1970.
    pub since: u64,
}

// serde hands the field over by reference.
#[allow(clippy::trivially_copy_pass_by_ref)]
fn is_zero(number: &i64) -> bool {
    *number == 0
}
