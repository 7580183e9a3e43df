//! What a user writes: the kind `MySQLCluster`.
//!
//! The CRDs in `crds/` are generated from these types; the comments are what `kubectl explain mysqlcluster.spec`
//! shows.
// The schema derive repeats each struct in a place of its own.
#![allow(unreachable_pub)]

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::Toleration;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::status::MySqlStatus;

/// What a MySQL cluster should be.
#[derive(CustomResource, KubeSchema, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[kube(
    group = "db.example.com",
    version = "v1",
    kind = "MySQLCluster",
    doc = "A MySQL with one primary and its replicas, kept writable through failures without losing a commit.",
    plural = "mysqlclusters",
    singular = "mysqlcluster",
    shortname = "mc",
    category = "mysql",
    category = "windlass",
    namespaced,
    status = "MySqlStatus",
    derive = "PartialEq",
    scale(
        spec_replicas_path = ".spec.replicas",
        status_replicas_path = ".status.replicas",
        label_selector_path = ".status.selector"
    ),
    printcolumn(
        name = "Phase",
        type_ = "string",
        json_path = ".status.phase",
        description = "Pending, Initializing, Running or Failed"
    ),
    printcolumn(
        name = "Ready",
        type_ = "integer",
        json_path = ".status.readyReplicas",
        description = "Instances that serve: the primary, and replicas that follow it closely"
    ),
    printcolumn(
        name = "Primary",
        type_ = "string",
        json_path = ".status.masterNode",
        description = "The Pod that takes writes"
    ),
    printcolumn(
        name = "Age",
        type_ = "date",
        json_path = ".metadata.creationTimestamp",
        description = "Since when it exists"
    ),
    validation = Rule::new("size(self.metadata.name) <= 40")
        .message("metadata.name has at most 40 characters: names of Pods are derived from it")
        .reason(Reason::FieldValueInvalid)
)]
pub struct MySQLClusterSpec {
    /// How many instances there are: one primary, the others its replicas. `kubectl scale` changes this field.
    #[serde(default = "three")]
    #[schemars(range(min = 1, max = 9))]
    pub replicas: i32,

    /// The version of MySQL, such as "8.0.32" or "8.4"; 8.0.26 or newer. Unless `image` is set, Pods run
    /// docker.io/library/mysql of this tag.
    #[schemars(regex(pattern = r"^[0-9]+\.[0-9]+(\.[0-9]+)?$"))]
    pub version: String,

    /// The image to run instead of docker.io/library/mysql:VERSION. It has mysqld, mysql, mysqladmin, mysqldump,
    /// gzip, timeout and sh on its PATH.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,

    /// The size of each instance's volume. It can grow where the storage class allows it.
    #[serde(default = "ten_gibibytes")]
    #[schemars(regex(pattern = r"^[1-9][0-9]*(\.[0-9]+)?(k|M|G|T|P|Ki|Mi|Gi|Ti|Pi)?$"))]
    #[x_kube(validation = Rule::new("quantity(self).compareTo(quantity(oldSelf)) >= 0")
        .message("spec.storageSize cannot shrink: Kubernetes volumes only grow"))]
    pub storage_size: String,

    /// The storage class of the volumes; the cluster's default when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[x_kube(validation = Rule::new("self == oldSelf")
        .message("spec.storageClassName cannot be changed: make a new cluster and copy the data"))]
    pub storage_class_name: Option<String>,

    /// Compute resources of each MySQL container. The buffer pool takes half of the memory request.
    #[serde(default, skip_serializing_if = "Resources::is_empty")]
    pub resources: Resources,

    /// What happens to writes when too few replicas can acknowledge them.
    #[serde(default)]
    pub durability: Durability,

    /// What happens to an instance that has transactions which the primary lacks.
    #[serde(default)]
    pub errant_policy: ErrantPolicy,

    /// Backups.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backup: Option<Backup>,

    /// What becomes of the volumes and the generated passwords when this object is deleted.
    #[serde(default)]
    pub deletion_policy: DeletionPolicy,

    /// Nodes that Pods may run on, by label.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub node_selector: BTreeMap<String, String>,

    /// Taints that Pods tolerate.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tolerations: Vec<Toleration>,

    /// What a new cluster begins with. Not run yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub restore: Option<Restore>,

    /// Encryption between instances. Not run yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tls: Option<Tls>,

    /// New passwords on a schedule. Not run yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub password_rotation: Option<PasswordRotation>,

    /// Metrics and alerts. Not run yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub monitoring: Option<Monitoring>,
}

/// Compute resources of a container.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Resources {
    /// What is set aside for it, such as `cpu: 100m` and `memory: 1Gi`.
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

/// What happens to writes when too few replicas can acknowledge them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Durability {
    /// They wait. No acknowledged commit is lost by a failover.
    #[default]
    Consistent,
    /// After a minute they go on without. Until replicas acknowledge again there is no automatic failover, and a
    /// lost primary takes its latest commits with it.
    Available,
}

/// What happens to an instance that has transactions which the primary lacks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum ErrantPolicy {
    /// Their GTID set is kept in status, and the instance is rebuilt from another.
    #[default]
    Rebuild,
    /// The instance is kept from clients as it is, until a person deals with it.
    Manual,
}

/// What becomes of volumes and generated passwords on deletion.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum DeletionPolicy {
    /// They stay; a cluster of the same name takes them over.
    #[default]
    Retain,
    /// They are deleted, and the data with them.
    Delete,
}

/// Backups.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Backup {
    /// When, in cron's five fields, in UTC: `0 2 * * *` is at two every night.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(regex(
        pattern = r"^(\*|[0-5]?[0-9](-[0-5]?[0-9])?)(/[0-9]+)?(,(\*|[0-5]?[0-9](-[0-5]?[0-9])?)(/[0-9]+)?)* (\*|([01]?[0-9]|2[0-3])(-([01]?[0-9]|2[0-3]))?)(/[0-9]+)?(,(\*|([01]?[0-9]|2[0-3])(-([01]?[0-9]|2[0-3]))?)(/[0-9]+)?)* (\*|(0?[1-9]|[12][0-9]|3[01])(-(0?[1-9]|[12][0-9]|3[01]))?)(/[0-9]+)?(,(\*|(0?[1-9]|[12][0-9]|3[01])(-(0?[1-9]|[12][0-9]|3[01]))?)(/[0-9]+)?)* (\*|(0?[1-9]|1[0-2]|[A-Za-z]{3})(-(0?[1-9]|1[0-2]|[A-Za-z]{3}))?)(/[0-9]+)?(,(\*|(0?[1-9]|1[0-2]|[A-Za-z]{3})(-(0?[1-9]|1[0-2]|[A-Za-z]{3}))?)(/[0-9]+)?)* (\*|([0-7]|[A-Za-z]{3})(-([0-7]|[A-Za-z]{3}))?)(/[0-9]+)?(,(\*|([0-7]|[A-Za-z]{3})(-([0-7]|[A-Za-z]{3}))?)(/[0-9]+)?)*$"
    ))]
    pub schedule: Option<String>,

    /// For how many days a backup is kept. The newest that succeeded is kept in any case.
    #[serde(default = "seven")]
    #[schemars(range(min = 1))]
    pub retention_days: i32,

    /// Where backups go: `s3://BUCKET/FOLDER`, or the name of a PersistentVolumeClaim of this namespace as
    /// `pvc://NAME`. When left out, a volume claim NAME-backup is made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = r"^(s3://[^/]+.*|pvc://[a-z0-9]([-a-z0-9.]*[a-z0-9])?)$"))]
    pub storage_path: Option<String>,

    /// The endpoint of an S3-compatible server that is not AWS, such as `https://s3.example.com:9000`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub endpoint: Option<String>,

    /// The region of the bucket.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub region: Option<String>,

    /// The Secret with the keys `AWS_ACCESS_KEY_ID` and `AWS_SECRET_ACCESS_KEY`, for `s3://`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credentials_secret: Option<String>,

    /// The size of the volume claim NAME-backup; as large as one instance's volume when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = r"^[1-9][0-9]*(\.[0-9]+)?(k|M|G|T|P|Ki|Mi|Gi|Ti|Pi)?$"))]
    pub size: Option<String>,

    /// Whether the newest backup is restored now and then to see that it can be. Not run yet.
    #[serde(default)]
    pub verify: bool,

    /// Whether a last backup is made before the object goes. Not run yet.
    #[serde(default)]
    pub before_deletion: bool,
}

/// What a new cluster begins with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Restore {
    /// The backup, as its object's status names it.
    pub from: String,
    /// The moment to restore to, as RFC 3339.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time: Option<String>,
    /// The last transactions to restore.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gtid_set: Option<String>,
}

/// Encryption between instances.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Tls {
    /// The Secret with `tls.crt`, `tls.key` and `ca.crt`.
    pub secret: String,
}

/// New passwords on a schedule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PasswordRotation {
    /// After so many days.
    #[schemars(range(min = 1))]
    pub days: i32,
}

/// Metrics and alerts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Monitoring {
    /// Whether an exporter runs beside each MySQL.
    #[serde(default)]
    pub enabled: bool,
}

fn three() -> i32 {
    3
}

fn seven() -> i32 {
    7
}

fn ten_gibibytes() -> String {
    "10Gi".to_owned()
}
