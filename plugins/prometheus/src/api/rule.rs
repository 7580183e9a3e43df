//! The kind PrometheusRule.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

use super::{Found, Port};

/// A PrometheusRule as it stands in the cluster.
pub type PrometheusRule = Found<RuleSpec>;

/// Rules that are recorded and alerted on.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default)]
pub struct RuleSpec {
    /// Groups of rules. The rules of one group are evaluated one after the other, at the same time stamp.
    pub groups: Vec<RuleGroup>,
}

/// Rules that are evaluated together.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
pub struct RuleGroup {
    /// Unique within the object.
    pub name: String,
    /// Labels that all results get; Prometheus 3.0 or newer.
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
    /// How often it is evaluated; the Prometheus' own interval when left out.
    #[serde(default)]
    pub interval: Option<String>,
    /// How far in the past it is evaluated; Prometheus 2.53 or newer.
    #[serde(default)]
    pub query_offset: Option<String>,
    /// The rules, in this order.
    #[serde(default)]
    pub rules: Vec<Rule>,
    /// For Thanos' ruler only.
    #[serde(default)]
    pub partial_response_strategy: String,
    /// Alerts or series that one rule may give; Prometheus 2.31 or newer.
    #[serde(default)]
    pub limit: Option<i64>,
}

/// A rule that records or alerts.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
pub struct Rule {
    /// The name of the series that is recorded.
    #[serde(default)]
    pub record: String,
    /// The name of the alert.
    #[serde(default)]
    pub alert: String,
    /// The PromQL expression.
    pub expr: Port,
    /// How long it must hold before the alert fires.
    #[serde(default, rename = "for")]
    pub hold: Option<String>,
    /// How long the alert goes on firing after it held; Prometheus 2.42 or newer.
    #[serde(default)]
    pub keep_firing_for: Option<String>,
    /// Labels that are added or replaced.
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
    /// What people read about the alert.
    #[serde(default)]
    pub annotations: BTreeMap<String, String>,
}
