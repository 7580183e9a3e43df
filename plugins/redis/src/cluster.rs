//! The kind `RedisCluster`: its schema, and that it is not run yet.
#![allow(
    clippy::duplicated_attributes,
    reason = "two printer columns may have one type"
)]
// The schema derive repeats each struct in a place of its own.
#![allow(unreachable_pub)]

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windlass_sdk::{Conditions, Context, Controller, Error, Plan};

use crate::spec::{Autoscaling, Backup, Monitoring, Persistence, Resources, Sentinel, one};
use crate::status::{HostNotes, Phase};

/// What a RedisCluster should be.
#[derive(CustomResource, KubeSchema, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[kube(
    group = "redis.example.com",
    version = "v1",
    kind = "RedisCluster",
    doc = "A sharded Redis: several primaries, each with its replicas. Not run yet.",
    plural = "redisclusters",
    singular = "rediscluster",
    shortname = "rdc",
    category = "windlass",
    namespaced,
    status = "RedisClusterStatus",
    derive = "PartialEq",
    printcolumn(name = "Version", type_ = "string", json_path = ".spec.version"),
    printcolumn(
        name = "Shards",
        type_ = "integer",
        json_path = ".spec.master.replicas"
    ),
    printcolumn(name = "Replicas", type_ = "integer", json_path = ".spec.replicas"),
    printcolumn(name = "Phase", type_ = "string", json_path = ".status.phase")
)]
pub struct RedisClusterSpec {
    /// The version of Redis, such as "7.0"; 7.0 or newer.
    #[schemars(regex(pattern = r"^[0-9]+\.[0-9]+(\.[0-9]+)?$"))]
    pub version: String,

    /// The image to run instead of docker.io/library/redis:VERSION.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,

    /// The shards.
    #[serde(default)]
    pub master: Shards,

    /// Replicas of each shard.
    #[serde(default = "one")]
    #[schemars(range(min = 0, max = 100))]
    pub replicas: i32,

    /// How data is kept on disk.
    #[serde(default)]
    pub persistence: Persistence,

    /// Compute resources of each Redis container.
    #[serde(default)]
    pub resources: Resources,

    /// Scaling of the number of shards by load.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub autoscaling: Option<Autoscaling>,

    /// Sentinel cannot fail over a cluster; `downAfterMilliseconds` becomes cluster-node-timeout.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sentinel: Option<Sentinel>,

    /// Backups on a schedule.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backup: Option<Backup>,

    /// Metrics and alerts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub monitoring: Option<Monitoring>,
}

/// The shards of a cluster.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Shards {
    /// How many shards there are, each with one primary; at least 3.
    #[serde(default = "three")]
    #[schemars(range(min = 3, max = 1000))]
    pub replicas: i32,
}

impl Default for Shards {
    fn default() -> Self {
        Self { replicas: three() }
    }
}

/// The state of a RedisCluster.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct RedisClusterStatus {
    /// Pending: this kind is not run yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phase: Option<Phase>,
    /// The generation of spec that was last acted on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// What holds.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub conditions: Vec<Condition>,
    /// The host's own notes.
    #[serde(skip_serializing)]
    #[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
    pub windlass: Option<HostNotes>,
}

/// Says on each RedisCluster that it is not run yet.
pub struct RedisClusterController;

impl Controller for RedisClusterController {
    type Object = RedisCluster;

    fn reconcile(&self, cluster: &RedisCluster, cx: &Context<'_>) -> Result<Plan, Error> {
        let known = cluster
            .status
            .as_ref()
            .map_or(&[][..], |status| &status.conditions);
        let mut conditions = Conditions::received(known, cx.metadata().generation, cx.time());
        let text = "RedisCluster is not run yet: nothing is made for it. Use the kind Redis";
        conditions.set("Supported", "False", "NotYet", text);
        let mut plan = Plan::new();
        plan.status(&RedisClusterStatus {
            phase: Some(Phase::Pending),
            conditions: conditions.into_list(),
            ..RedisClusterStatus::default()
        })?;
        plan.refuse("spec", text);
        Ok(plan)
    }
}

fn three() -> i32 {
    3
}
