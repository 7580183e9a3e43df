//! Objects as they are found: one that cannot be read harms only itself, and what is not understood is known.

use std::borrow::Cow;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Resource;
use kube::core::NamespaceResourceScope;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use super::{PodMonitorSpec, ProbeSpec, PrometheusSpec, RuleSpec, ServiceMonitorSpec};

/// The API group of all kinds here.
pub const GROUP: &str = "monitoring.coreos.com";
/// Their version.
pub const VERSION: &str = "v1";

/// The kind that a spec belongs to.
pub trait SpecOf {
    /// In CamelCase.
    const KIND: &'static str;
    /// As in URLs.
    const PLURAL: &'static str;
}

macro_rules! spec_of {
    ($($spec:ty: $kind:literal, $plural:literal;)+) => { $(
        impl SpecOf for $spec {
            const KIND: &'static str = $kind;
            const PLURAL: &'static str = $plural;
        }
    )+ };
}

spec_of! {
    PrometheusSpec: "Prometheus", "prometheuses";
    ServiceMonitorSpec: "ServiceMonitor", "servicemonitors";
    PodMonitorSpec: "PodMonitor", "podmonitors";
    ProbeSpec: "Probe", "probes";
    RuleSpec: "PrometheusRule", "prometheusrules";
}

/// A spec that could be read.
#[derive(Clone, Debug, PartialEq)]
pub struct Read<S> {
    /// What was understood.
    pub spec: S,
    /// Paths of fields that are set and not understood, such as `thanos`.
    pub ignored: Vec<String>,
}

/// An object of one of the kinds, whose spec may not be what the kind says.
#[derive(Clone, Debug)]
pub struct Found<S> {
    /// As Kubernetes keeps it.
    pub metadata: ObjectMeta,
    /// The spec, or why it cannot be read.
    pub spec: Result<Read<S>, String>,
    status: Option<Box<RawValue>>,
}

impl<S> Found<S> {
    /// The object's name.
    #[must_use]
    pub fn name(&self) -> &str {
        self.metadata.name.as_deref().unwrap_or_default()
    }

    /// The object's namespace.
    #[must_use]
    pub fn namespace(&self) -> &str {
        self.metadata.namespace.as_deref().unwrap_or_default()
    }

    /// The status that stands, where there is one that can be read.
    #[must_use]
    pub fn status<T: DeserializeOwned>(&self) -> Option<T> {
        serde_json::from_str(self.status.as_ref()?.get()).ok()
    }
}

#[derive(Deserialize)]
struct Raw {
    #[serde(default)]
    metadata: ObjectMeta,
    spec: Option<Box<RawValue>>,
    status: Option<Box<RawValue>>,
}

impl<'de, S: DeserializeOwned> Deserialize<'de> for Found<S> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = Raw::deserialize(deserializer)?;
        Ok(Self {
            metadata: raw.metadata,
            spec: read(raw.spec.as_ref().map_or("{}", |spec| spec.get())),
            status: raw.status,
        })
    }
}

/// Reads a spec.
///
/// # Errors
/// In words, where it is not what the kind says.
pub fn read<S: DeserializeOwned>(json: &str) -> Result<Read<S>, String> {
    let mut ignored = Vec::new();
    let mut text = serde_json::Deserializer::from_str(json);
    let note = |path: serde_ignored::Path<'_>| ignored.push(path.to_string().replace("?.", ""));
    let spec = serde_ignored::deserialize(&mut text, note)
        .map_err(|why| format!("failed to read its spec: {why}"))?;
    Ok(Read { spec, ignored })
}

impl<S: SpecOf> Resource for Found<S> {
    type DynamicType = ();
    type Scope = NamespaceResourceScope;

    fn kind((): &()) -> Cow<'_, str> {
        S::KIND.into()
    }

    fn group((): &()) -> Cow<'_, str> {
        GROUP.into()
    }

    fn version((): &()) -> Cow<'_, str> {
        VERSION.into()
    }

    fn plural((): &()) -> Cow<'_, str> {
        S::PLURAL.into()
    }

    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}

#[cfg(test)]
mod tests {
    use crate::api::{PrometheusSpec, ServiceMonitor, ServiceMonitorSpec};

    use super::read;

    #[test]
    fn a_field_that_is_not_understood_is_named() {
        let read = read::<PrometheusSpec>(
            r#"{"replicas": 2, "thanos": {"version": "1"}, "web": {"pageTitle": "x", "novel": 1},
                "alerting": {"alertmanagers": [{"name": "a", "port": 1, "strange": true}]}}"#,
        )
        .unwrap();
        assert_eq!(
            read.ignored,
            ["thanos", "web.novel", "alerting.alertmanagers.0.strange"]
        );
    }

    #[test]
    fn one_object_that_cannot_be_read_is_still_found() {
        let found: ServiceMonitor =
            serde_json::from_str(r#"{"metadata": {"name": "a"}, "spec": {"endpoints": 3}}"#)
                .unwrap();
        assert_eq!(found.name(), "a");
        assert!(
            found.spec.unwrap_err().contains("endpoints")
                || read::<ServiceMonitorSpec>("{}").is_err()
        );
    }
}
