//! What users write: the kinds of `monitoring.coreos.com/v1`.
//!
//! Field names and meaning are those of prometheus-operator v0.85; the comments are what `kubectl explain` shows
//! where the CRDs of this plugin are installed. What is read here is followed; any other field is found by
//! [`found`] and named in the condition `UnsupportedFields`.
// The schema derive repeats each struct in a place of its own.
#![allow(unreachable_pub)]

mod found;
mod http;
mod monitor;
mod opaque;
mod pod_monitor;
mod probe;
mod prometheus;
mod relabeling;
mod rule;
mod selector;
mod server;
mod service_monitor;
pub mod status;

pub use found::{Found, Read, read};
pub use http::{
    Authorization, BasicAuth, ConfigMapKey, HeaderKeys, OAuth2, SafeAuthorization, SafeTls,
    SecretKey, SecretOrConfigMap, Tls,
};
pub use monitor::{AttachMetadata, Histograms, Limits, NamespaceSelector};
pub use opaque::{Opaque, Port};
pub use pod_monitor::{PodEndpoint, PodMonitor, PodMonitorSpec};
pub use probe::{Ingress, Param, Probe, ProbeSpec, Prober, StaticTargets, Targets};
pub use prometheus::{
    Argument, Excluded, ExcludedRule, PodMetadata, Prometheus, PrometheusSpec, Query, ScrapeClass,
    Storage, StorageClaim, Web,
};
pub use relabeling::Relabeling;
pub use rule::{PrometheusRule, Rule, RuleGroup, RuleSpec};
pub use selector::{LabelSelector, Requirement};
pub use server::{
    Alerting, Alertmanager, ApiServer, Exemplars, Otlp, RemoteRead, Runtime, Sigv4, Tracing, Tsdb,
};
pub use service_monitor::{ServiceEndpoint, ServiceMonitor, ServiceMonitorSpec};
