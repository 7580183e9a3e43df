//! A Secret as a plugin sees it: what is known about each value, never the value.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::Deserialize;

/// A Secret without its values.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
pub struct SecretView {
    /// The Secret's metadata; annotations are left out.
    #[serde(default)]
    pub metadata: ObjectMeta,
    /// What is known about the value of each key.
    #[serde(default)]
    pub data: BTreeMap<String, ValueView>,
}

/// What is known about one value.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub struct ValueView {
    /// Changes when the value changes. Keyed by place: equal values in two places have different digests.
    pub digest: String,
    /// In bytes.
    pub length: u64,
    /// For a value in PEM form, the kinds of its blocks in order.
    #[serde(default)]
    pub pem: Vec<String>,
}
