//! One step of rewriting labels.

use schemars::JsonSchema;
use serde::Deserialize;

/// Rewrites the labels of a target or a sample, as in Prometheus' relabel_config.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Relabeling {
    /// Labels whose values are joined by the separator and matched.
    pub source_labels: Vec<String>,
    /// Stands between the joined values; ";" when left out.
    pub separator: Option<String>,
    /// The label that is written.
    pub target_label: String,
    /// A regular expression (RE2, anchored at both ends) on the joined values.
    pub regex: String,
    /// For hashmod: the hash of the joined values is taken modulo this.
    pub modulus: u64,
    /// What is written, with groups of the expression as `$1`.
    pub replacement: Option<String>,
    /// replace, keep, drop, hashmod, labelmap, labeldrop, labelkeep, lowercase, uppercase, keepequal or dropequal.
    #[serde(default = "replace")]
    pub action: String,
}

fn replace() -> String {
    "replace".to_owned()
}
