//! The configuration of a Prometheus, from its spec and the monitors that were picked. Pure.
//!
//! Every order and every version gate is that of prometheus-operator's generator; `tests/differential.rs` compares.

mod alerting;
mod enforcement;
mod global;
mod http;
mod kubernetes;
mod limits;
mod otlp;
mod pod_monitor;
mod probe;
mod relabel;
mod remote_read;
mod scrape_class;
mod service_monitor;
mod tracing;

use std::collections::BTreeMap;

use crate::api::{
    PodMonitorSpec, ProbeSpec, PrometheusSpec, ScrapeClass, SecretKey, ServiceMonitorSpec,
};
use crate::known::{Known, reference};
use crate::version::Version;
use crate::yaml::{Map, SecretRef, Writer, Written};

pub(crate) use global::{LOGS, is_bare_file};
pub(crate) use http::Proxy;

/// What every part of the configuration follows from.
pub struct Setting<'a> {
    /// The Prometheus' namespace.
    pub namespace: &'a str,
    /// Its name.
    pub name: &'a str,
    /// Its spec, of which only what can be followed is left.
    pub spec: &'a PrometheusSpec,
    /// The version that runs.
    pub version: Version,
    /// Whether the cluster serves EndpointSlices.
    pub endpoint_slices: bool,
    /// The scrape classes that are in order, by name.
    pub classes: BTreeMap<&'a str, &'a ScrapeClass>,
    /// What is known about Secrets and ConfigMaps.
    pub known: &'a dyn Known,
}

/// A monitor that is to be scraped.
#[derive(Clone, Copy, Debug)]
pub struct Picked<'a, S> {
    /// Its namespace.
    pub namespace: &'a str,
    /// Its name.
    pub name: &'a str,
    /// Its spec.
    pub spec: &'a S,
}

/// What is scraped and evaluated. Each list is sorted by namespace and name.
#[derive(Debug, Default)]
pub struct Selected<'a> {
    /// ServiceMonitors.
    pub service_monitors: Vec<Picked<'a, ServiceMonitorSpec>>,
    /// PodMonitors.
    pub pod_monitors: Vec<Picked<'a, PodMonitorSpec>>,
    /// Probes.
    pub probes: Vec<Picked<'a, ProbeSpec>>,
    /// The names of the ConfigMaps with rules.
    pub rule_files: Vec<String>,
}

impl Setting<'_> {
    fn since(&self, major: u64, minor: u64) -> bool {
        self.version.since(major, minor)
    }

    /// Over how many groups of Pods targets are shared out.
    #[must_use]
    pub fn shards(&self) -> i32 {
        1
    }
}

/// The whole configuration.
#[must_use]
pub fn write(of: &Setting<'_>, selected: &Selected<'_>) -> Written {
    let more = lists(of, spec_list(of.spec.additional_scrape_configs.as_ref()));
    let mut writer = Writer::default();
    writer.entries(&head(of, selected));
    writer.list("scrape_configs", jobs(of, selected), &more);
    writer.entries(&tail(of));
    writer.finish()
}

/// What stands before the scrape jobs.
fn head(of: &Setting<'_>, selected: &Selected<'_>) -> Map {
    let spec = of.spec;
    let runtime = spec.runtime.as_ref().filter(|_| of.since(2, 53));
    let runtime = runtime.map(|runtime| Map::new().maybe("gogc", runtime.go_gc));
    let rules = spec.rule_selector.is_some();
    Map::new()
        .with("global", global::section(of))
        .maybe("runtime", runtime)
        .maybe(
            "rule_files",
            rules.then(|| rule_files(&selected.rule_files)),
        )
}

/// The jobs of all monitors, each made when it is asked for.
fn jobs<'a>(of: &'a Setting<'_>, selected: &'a Selected<'_>) -> impl Iterator<Item = Map> + 'a {
    let services = selected.service_monitors.iter();
    let pods = selected.pod_monitors.iter();
    let probes = selected.probes.iter();
    services
        .flat_map(|monitor| service_monitor::jobs(of, monitor))
        .chain(pods.flat_map(|monitor| pod_monitor::jobs(of, monitor)))
        .chain(probes.map(|monitor| probe::job(of, monitor)))
}

/// What stands after the scrape jobs.
fn tail(of: &Setting<'_>) -> Map {
    Map::new()
        .maybe("storage", storage(of))
        .maybe("alerting", alerting::section(of))
        .maybe("remote_read", remote_read::section(of))
        .maybe("otlp", otlp::section(of))
        .maybe("tracing", tracing::section(of))
}

/// Where the rules of a ConfigMap are mounted.
#[must_use]
pub fn rules_folder(config_map: &str) -> String {
    format!("/etc/prometheus/rules/{config_map}")
}

fn rule_files(config_maps: &[String]) -> Vec<String> {
    let globs = config_maps
        .iter()
        .map(|name| format!("{}/*.yaml", rules_folder(name)));
    globs.collect()
}

fn spec_list(key: Option<&SecretKey>) -> &[SecretKey] {
    key.map_or(&[], std::slice::from_ref)
}

/// The lists in Prometheus' own form that are there.
fn lists(of: &Setting<'_>, keys: &[SecretKey]) -> Vec<SecretRef> {
    keys.iter()
        .filter(|key| of.known.secret(of.namespace, key).is_ok())
        .map(|key| reference(of.namespace, key))
        .collect()
}

fn storage(of: &Setting<'_>) -> Option<Map> {
    let exemplars = of
        .spec
        .exemplars
        .as_ref()
        .and_then(|exemplars| exemplars.max_size);
    let window = of
        .spec
        .tsdb
        .as_ref()
        .and_then(|tsdb| tsdb.out_of_order_time_window.as_ref());
    let storage = Map::new()
        .maybe(
            "exemplars",
            exemplars
                .filter(|_| of.since(2, 29))
                .map(|size| Map::new().with("max_exemplars", size)),
        )
        .maybe(
            "tsdb",
            window
                .filter(|_| of.since(2, 39))
                .map(|window| Map::new().with("out_of_order_time_window", window)),
        );
    (!storage.is_empty()).then_some(storage)
}
