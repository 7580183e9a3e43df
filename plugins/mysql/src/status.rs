//! What the operator writes: the record, and what people read.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The state of a MySQL cluster.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct MySqlStatus {
    /// Pending: there is no primary that takes writes, and the operator is working on it. Initializing: the first
    /// one is being made. Running: there is one. Failed: a person must help; the condition Ready says how.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phase: Option<Phase>,
    /// Instances that serve: the primary while it takes writes, and replicas that follow it closely.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ready_replicas: Option<i32>,
    /// The primary's Pod.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub master_node: Option<String>,
    /// Instances, for the scale subresource.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replicas: Option<i32>,
    /// The label selector of all Pods, for the scale subresource.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub selector: Option<String>,

    /// The record: what the operator decided and acts on.
    #[serde(flatten)]
    pub record: Record,

    /// The generation of spec that was last acted on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// What holds: Ready, Reconciled, WritesBlocked, PrimaryForced, BackupSucceeded, Complete, and the host's Synced
    /// and SpecAccepted.
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
    /// The first primary is being made.
    Initializing,
    /// The primary takes writes.
    Running,
    /// A person must help; the condition Ready says how.
    Failed,
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
    /// The replicas whose acknowledgements count in this epoch.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub voters: Vec<Voter>,
    /// A commit is acknowledged once so many of the voters have it, at least.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wait_count: Option<u32>,
    /// While the count is being raised: what the primary had committed when it began to wait for more. The count
    /// is raised here once every voter has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub raising: Option<String>,
    /// A change of primary that was decided and is not done. While it stands nothing else is done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub intent: Option<Intent>,
    /// A voter that is on its way out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retiring: Option<Retiring>,
    /// Since when the primary is missed, in milliseconds since 1970.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub missed_since: Option<u64>,
    /// Why the primary is lost, while it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lost: Option<String>,
    /// Since when writes wait for more voters, in milliseconds since 1970.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub blocked_since: Option<u64>,
    /// What was done last about a replica that does not follow, by Pod.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub repairs: BTreeMap<String, Repair>,
    /// Transactions that an instance had and the primary lacked, by Pod: the last ones found.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub errant: BTreeMap<String, String>,
    /// Transactions that went with the data of an instance when it was rebuilt, the newest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub discarded: Vec<Discarded>,
    /// The annotation values that were followed, or refused, by annotation: each is answered once for each time it is
    /// set.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub followed: BTreeMap<String, String>,
    /// Why values in `followed` were refused instead, by annotation.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub refused: BTreeMap<String, String>,
    /// The version that Pods run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Backups, the newest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub backups: Vec<BackupRecord>,
}

/// The primary.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Primary {
    /// Its Pod's name.
    pub pod: String,
    /// Its Pod's uid.
    pub uid: String,
    /// Its server_uuid: another means that its data directory is another.
    pub uuid: String,
    /// When it was first seen taking writes in this epoch, in milliseconds since 1970. Left out until then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub writable_since: Option<u64>,
}

/// A replica whose acknowledgements count.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Voter {
    /// Its Pod's name.
    pub pod: String,
    /// Its Pod's uid.
    pub uid: String,
    /// Its server_uuid: another means that its data directory is another, and that it holds nothing it promised.
    pub uuid: String,
}

/// A change of primary that was decided and is not done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Intent {
    /// What kind of change.
    pub kind: IntentKind,
    /// The epoch that begins with it.
    pub epoch: i64,
    /// Why, in words.
    pub why: String,
    /// When it was decided, in milliseconds since 1970.
    pub since: u64,
    /// The Pod that is to be the primary; for a failover only when a person chose it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// Whether the old primary is known to take no more writes.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub frozen: bool,
}

/// Which kind of change of primary.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum IntentKind {
    /// The primary is lost.
    Failover,
    /// The primary is well and hands over.
    Switchover,
}

/// A voter that is on its way out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Retiring {
    /// Its Pod's name.
    pub pod: String,
    /// Why, in words.
    pub why: String,
    /// Since when it can no longer acknowledge, in milliseconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cut_off: Option<u64>,
    /// What the primary had committed then: the remaining voters must have it before this one leaves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mark: Option<String>,
}

/// Transactions that only one instance had, and that went when it was rebuilt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Discarded {
    /// Its Pod's name.
    pub pod: String,
    /// Which transactions.
    pub gtid_set: String,
    /// When, in milliseconds since 1970.
    pub at: u64,
}

/// What was done last about a replica that does not follow.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Repair {
    /// How far it went.
    pub rung: Rung,
    /// When, in milliseconds since 1970.
    pub since: u64,
    /// What was found.
    pub why: String,
    /// How often this was done.
    #[serde(default)]
    pub times: u32,
}

/// How far a repair goes, from the least to the most.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
pub enum Rung {
    /// Replication is started.
    Start,
    /// Replication is set up anew and started.
    Reset,
    /// The instance is rebuilt as a copy of another.
    Clone,
}

/// One backup.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BackupRecord {
    /// Its id: names its Job and its file.
    pub id: String,
    /// How it stands.
    pub state: BackupState,
    /// When it began, in milliseconds since 1970.
    pub started: u64,
    /// How long it took, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration: Option<u64>,
    /// The Pod that it is a copy of.
    pub source: String,
    /// Where it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub location: Option<String>,
    /// Its size in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
    /// The transactions that it holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gtid_set: Option<String>,
    /// Why it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// How a backup stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum BackupState {
    /// It is being made.
    Running,
    /// It is whole.
    Succeeded,
    /// It is not there.
    Failed,
}

// serde hands the field over by reference.
#[allow(clippy::trivially_copy_pass_by_ref)]
fn is_zero(number: &i64) -> bool {
    *number == 0
}
