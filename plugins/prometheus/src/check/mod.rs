//! What of users' objects can be followed. Pure.
//!
//! A monitor that cannot is left out alone; of a Prometheus the part that cannot. Most rules are those of
//! prometheus-operator; the others are Prometheus' own, since a configuration that Prometheus refuses would stop
//! every other change.

mod http;
mod monitor;
mod prometheus;
pub(crate) mod re2;
mod relabel;

use std::collections::BTreeSet;

use crate::api::{PrometheusSpec, Relabeling};
use crate::known::Known;
use crate::version::Version;

pub use monitor::Checked;
pub use prometheus::{Refused, prometheus};

/// What checks of monitors follow from.
pub struct Checker<'a> {
    /// What is known about Secrets and ConfigMaps.
    pub known: &'a dyn Known,
    /// The version that runs.
    pub version: &'a Version,
    /// The spec of the Prometheus, of which the parts in order are left.
    pub spec: &'a PrometheusSpec,
}

impl Checker<'_> {
    /// The names of the scrape classes.
    fn classes(&self) -> BTreeSet<&str> {
        let classes = self.spec.scrape_classes.iter();
        classes.map(|class| class.name.as_str()).collect()
    }

    fn relabelings(&self, field: &str, rules: &[Relabeling]) -> Result<(), String> {
        relabel::check(self.version, rules).map_err(|why| format!("{field}{why}"))
    }
}
