//! What a user writes: the kind `Redis`.
//!
//! The CRD in `crds/` is generated from these types; the comments are what `kubectl explain redis.spec` shows.
// The schema derive repeats each struct in a place of its own.
#![allow(unreachable_pub)]

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::Toleration;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::status::RedisStatus;

/// What a Redis should be.
#[derive(CustomResource, KubeSchema, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[kube(
    group = "redis.example.com",
    version = "v1",
    kind = "Redis",
    doc = "A Redis with one primary and its replicas, kept writable through failures.",
    plural = "redis",
    singular = "redis",
    shortname = "rd",
    category = "windlass",
    namespaced,
    status = "RedisStatus",
    derive = "PartialEq",
    scale(
        spec_replicas_path = ".spec.replicas",
        status_replicas_path = ".status.replicas",
        label_selector_path = ".status.selector"
    ),
    printcolumn(
        name = "Version",
        type_ = "string",
        json_path = ".spec.version",
        description = "The version that spec asks for"
    ),
    printcolumn(
        name = "Master",
        type_ = "string",
        json_path = ".status.masterStatus",
        description = "Whether the primary takes writes"
    ),
    printcolumn(
        name = "Replicas",
        type_ = "integer",
        json_path = ".status.readyReplicas",
        description = "Replicas that follow the primary closely"
    ),
    printcolumn(
        name = "Phase",
        type_ = "string",
        json_path = ".status.phase",
        description = "Pending, Running or Failed"
    ),
    validation = Rule::new("size(self.metadata.name) <= 40")
        .message("metadata.name has at most 40 characters: names of Pods are derived from it")
        .reason(Reason::FieldValueInvalid)
)]
pub struct RedisSpec {
    /// The version of Redis, such as "7.2" or "8.0.6"; 7.0 or newer. Unless `image` is set, Pods run
    /// docker.io/library/redis of this tag.
    #[schemars(regex(pattern = r"^[0-9]+\.[0-9]+(\.[0-9]+)?$"))]
    #[x_kube(validation = Rule::new("!self.matches('^[0-9]+[.]') || int(self.split('.')[0]) >= 7")
        .message("spec.version must be 7.0 or newer"))]
    pub version: String,

    /// The image to run instead of docker.io/library/redis:VERSION. It has redis-server, redis-cli, flock and
    /// sh on its PATH.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,

    /// The Pod that becomes the first primary. After a failover another Pod is the primary and this one a
    /// replica.
    #[serde(default)]
    pub master: Master,

    /// How many Pods there are beside my-redis-master-0. `kubectl scale` changes this field.
    #[serde(default = "one")]
    #[schemars(range(min = 0, max = 100))]
    pub replicas: i32,

    /// How data is kept on disk. On by default.
    #[serde(default)]
    pub persistence: Persistence,

    /// Compute resources of each Redis container.
    #[serde(default, skip_serializing_if = "Resources::is_empty")]
    pub resources: Resources,

    /// Settings as in redis.conf, such as `maxmemory-policy: allkeys-lru`. What Redis can change while it runs
    /// is set live; anything else replaces the Pods one by one. Settings that the operator needs for itself are
    /// refused by name in the condition SpecAccepted.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub settings: BTreeMap<String, String>,

    /// Who may log in.
    #[serde(default, skip_serializing_if = "Auth::is_empty")]
    pub auth: Auth,

    /// What becomes of the volumes and the generated passwords when this object is deleted.
    #[serde(default)]
    pub deletion_policy: DeletionPolicy,

    /// Nodes that Pods may run on, by label.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub node_selector: BTreeMap<String, String>,

    /// Taints that Pods tolerate.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tolerations: Vec<Toleration>,

    /// Redis Sentinel. Not run yet: the operator itself fails over. `downAfterMilliseconds` is followed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sentinel: Option<Sentinel>,

    /// Backups on a schedule. Not run yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backup: Option<Backup>,

    /// Metrics and alerts. Not run yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub monitoring: Option<Monitoring>,

    /// Scaling by load. Not run yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub autoscaling: Option<Autoscaling>,
}

/// The first primary.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Master {
    /// A Redis has exactly one primary; use a RedisCluster for more.
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = 1))]
    pub replicas: i32,
}

impl Default for Master {
    fn default() -> Self {
        Self { replicas: one() }
    }
}

/// How data is kept on disk.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[x_kube(
    validation = Rule::new("self.enabled == oldSelf.enabled")
        .message("spec.persistence.enabled cannot be changed: make a new Redis and copy the data"),
    validation = Rule::new("(has(self.storageClassName) ? self.storageClassName : '') == (has(oldSelf.storageClassName) ? oldSelf.storageClassName : '')")
        .message("spec.persistence.storageClassName cannot be changed: make a new Redis and copy the data"),
    validation = Rule::new("quantity(string(self.size)).compareTo(quantity(string(oldSelf.size))) >= 0")
        .message("spec.persistence.size cannot shrink: Kubernetes volumes only grow")
)]
pub struct Persistence {
    /// Whether each Pod has a volume that outlives it.
    #[serde(default = "yes")]
    pub enabled: bool,

    /// Whether snapshots (dump.rdb) are written.
    #[serde(default = "yes")]
    pub enable_rdb: bool,

    /// When snapshots are written if something changed, as `*/N * * * *`: every N minutes. Without it Redis' own
    /// default applies: after an hour, sooner with more changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rdb_schedule: Option<String>,

    /// Whether every write is logged (appendonlydir), synced once a second.
    #[serde(default = "yes")]
    pub enable_aof: bool,

    /// The size of each Pod's volume. It can grow where the storage class allows it.
    #[serde(default = "one_gibibyte")]
    pub size: Quantity,

    /// The storage class of the volumes; the cluster's default when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub storage_class_name: Option<String>,
}

impl Default for Persistence {
    fn default() -> Self {
        Self {
            enabled: true,
            enable_rdb: true,
            rdb_schedule: None,
            enable_aof: true,
            size: one_gibibyte(),
            storage_class_name: None,
        }
    }
}

/// Compute resources of a container.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Resources {
    /// What is set aside for it, such as `cpu: 100m` and `memory: 256Mi`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub requests: BTreeMap<String, Quantity>,
    /// What it may use at most.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub limits: BTreeMap<String, Quantity>,
}

impl Resources {
    fn is_empty(&self) -> bool {
        self.requests.is_empty() && self.limits.is_empty()
    }
}

/// An amount as Kubernetes writes it: `100m`, `256Mi`, `2`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
#[schemars(extend("pattern" = r"^[0-9]+(\.[0-9]+)?(m|k|Ki|M|Mi|G|Gi|T|Ti|P|Pi|E|Ei)?$"))]
pub struct Quantity(pub IntOrString);

impl Quantity {
    /// The amount as text.
    #[must_use]
    pub fn text(&self) -> String {
        match &self.0 {
            IntOrString::Int(number) => number.to_string(),
            IntOrString::String(text) => text.clone(),
        }
    }
}

/// Who may log in.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Auth {
    /// Where the password of the user `default` stands. When left out one is made and kept in the Secret
    /// my-redis-auth under the key `password`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub password_secret: Option<PasswordSecret>,
}

impl Auth {
    fn is_empty(&self) -> bool {
        self.password_secret.is_none()
    }
}

/// One key of a Secret in the object's namespace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PasswordSecret {
    /// The Secret's name.
    #[schemars(length(min = 1, max = 253))]
    pub name: String,
    /// The key in its data.
    #[serde(default = "password")]
    #[schemars(length(min = 1, max = 253))]
    pub key: String,
}

/// What becomes of volumes and generated passwords on deletion.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum DeletionPolicy {
    /// They stay; a Redis of the same name takes them over.
    #[default]
    Retain,
    /// They are deleted, and the data with them.
    Delete,
}

/// Redis Sentinel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Sentinel {
    /// Whether Sentinels are deployed.
    #[serde(default)]
    pub enabled: bool,
    /// How many Sentinels there are.
    #[serde(default = "three")]
    #[schemars(range(min = 1, max = 15))]
    pub replicas: i32,
    /// After this silence a primary counts as down. Followed without Sentinels too, when longer than 6000.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub down_after_milliseconds: Option<i32>,
    /// How long one failover may take.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub failover_timeout: Option<i32>,
}

/// Backups on a schedule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Backup {
    /// When, in cron's five fields.
    pub schedule: String,
    /// How many copies are kept.
    #[serde(default = "seven")]
    #[schemars(range(min = 1))]
    pub retention: i32,
    /// Where copies go.
    pub storage: BackupStorage,
}

/// Where backups go.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BackupStorage {
    /// A bucket of an S3-compatible server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub s3: Option<S3>,
}

/// A bucket of an S3-compatible server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct S3 {
    /// The bucket's name.
    pub bucket: String,
    /// The bucket's region.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub region: Option<String>,
    /// The server, when it is not AWS: `https://HOST:PORT`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub endpoint: Option<String>,
}

/// Metrics and alerts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Monitoring {
    /// Whether an exporter runs beside each Redis.
    #[serde(default)]
    pub enabled: bool,
    /// When to alert.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub alerts: Vec<Alert>,
}

/// When to alert.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Alert {
    /// The alert's name: HighMemoryUsage, ReplicationLag, …
    pub name: String,
    /// A number (a percentage) or a duration such as 10s.
    pub threshold: IntOrString,
    /// How long it must last, such as 5m.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration: Option<String>,
}

/// Scaling by load.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Autoscaling {
    /// Whether it is on.
    #[serde(default)]
    pub enabled: bool,
    /// Never fewer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_replicas: Option<i32>,
    /// Never more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_replicas: Option<i32>,
    /// Percentage of maxmemory that is aimed at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target_memory_utilization: Option<i32>,
}

pub(crate) fn one() -> i32 {
    1
}

fn three() -> i32 {
    3
}

fn seven() -> i32 {
    7
}

fn yes() -> bool {
    true
}

fn password() -> String {
    "password".to_owned()
}

fn one_gibibyte() -> Quantity {
    Quantity(IntOrString::String("1Gi".to_owned()))
}
