//! What people write, and what they read: the kind `Website`.
//!
//! `crd.yaml` is generated from these types by `UPDATE_GOLDEN=1 cargo test`; the comments become what
//! `kubectl explain` shows.
// The schema derive repeats each struct in a place of its own.
#![allow(unreachable_pub)]

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What should be.
#[derive(CustomResource, KubeSchema, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[kube(
    group = "web.example.com",
    version = "v1",
    kind = "Website",
    plural = "websites",
    singular = "website",
    doc = "A page on the web.",
    namespaced,
    status = "WebsiteStatus",
    derive = "PartialEq",
    printcolumn(
        name = "Ready",
        type_ = "string",
        json_path = ".status.conditions[?(@.type == 'Ready')].status"
    ),
    printcolumn(name = "Pods", type_ = "integer", json_path = ".status.readyPods"),
    printcolumn(name = "URL", type_ = "string", json_path = ".status.url")
)]
pub struct WebsiteSpec {
    /// The heading of the page.
    #[schemars(length(min = 1, max = 200))]
    pub title: String,

    /// What the page says.
    #[serde(default)]
    pub text: String,

    /// How many Pods serve the page.
    #[serde(default = "default_replicas")]
    #[schemars(range(min = 0, max = 10))]
    pub replicas: i32,

    /// The image that serves it; it needs BusyBox.
    #[serde(default = "default_image")]
    pub image: String,
}

/// What is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct WebsiteStatus {
    /// Pods that serve the page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ready_pods: Option<i32>,
    /// Where the page is found inside the cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,

    /// The generation of spec that was last acted on.
    #[serde(skip_serializing)]
    pub observed_generation: Option<i64>,
    /// What holds: Ready, and the host's Synced and SpecAccepted.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub conditions: Vec<Condition>,
    /// The host's own notes.
    #[serde(skip_serializing)]
    #[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
    pub windlass: Option<HostNotes>,
}

/// The host's own notes; a plugin neither reads nor writes them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HostNotes {}

fn default_replicas() -> i32 {
    1
}

fn default_image() -> String {
    "docker.io/library/busybox:1.37".to_owned()
}
