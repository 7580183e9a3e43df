//! What a Prometheus runs on: a StatefulSet, its Services, its Secrets and ConfigMaps. Pure.

mod arguments;
mod claim;
mod containers;
mod merge;
mod secrets;
mod service;
mod stateful_set;
mod volumes;

use crate::api::PrometheusSpec;
use crate::names::Names;
use crate::version::Version;

pub use arguments::{arguments, refused as refused_arguments};
pub use claim::wanted_size;
pub use containers::STATUS_PORT;
pub use secrets::{CONFIGURATION, configuration, revision, tls_assets, unmanaged};
pub use service::{custom, governing};
pub use stateful_set::{Live, stateful_set};

/// What the children follow from.
pub struct Blueprint<'a> {
    /// Their names.
    pub names: &'a Names,
    /// The spec.
    pub spec: &'a PrometheusSpec,
    /// Labels of the Prometheus, which its StatefulSet gets.
    pub labels: std::collections::BTreeMap<String, String>,
    /// The version that runs.
    pub version: &'a Version,
    /// The image of the sidecar.
    pub reloader: &'a str,
    /// The ConfigMaps with rules, by name.
    pub rules: &'a [String],
}

impl Blueprint<'_> {
    /// How many Pods there are.
    #[must_use]
    pub fn replicas(&self) -> i32 {
        match self.spec.replicas {
            Some(replicas) if replicas >= 0 => replicas,
            _ => 1,
        }
    }

    /// What stands before the paths that are served: that of the external URL where none is set.
    pub(crate) fn prefix(&self) -> String {
        prefix(self.spec)
    }

    /// How the port is called.
    pub(crate) fn port(&self) -> &str {
        match self.spec.port_name.as_str() {
            "" => "web",
            name => name,
        }
    }
}

/// What stands before the paths that a Prometheus serves.
fn prefix(spec: &PrometheusSpec) -> String {
    match spec.route_prefix.as_str() {
        "" => "/".to_owned(),
        prefix => prefix.to_owned(),
    }
}

/// A path below a prefix, without doubled or trailing slashes.
pub(crate) fn below(prefix: &str, path: &str) -> String {
    let parts = prefix.split('/').chain(path.split('/'));
    let parts: Vec<&str> = parts.filter(|part| !part.is_empty()).collect();
    format!("/{}", parts.join("/"))
}
