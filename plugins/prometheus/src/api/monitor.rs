//! What the kinds of monitors share.

use schemars::JsonSchema;
use serde::Deserialize;

use super::{PodMonitorSpec, Port, ProbeSpec, PrometheusSpec, ServiceMonitorSpec};

/// In which namespaces targets are looked for. Empty: the monitor's own.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct NamespaceSelector {
    /// True for every namespace.
    pub any: bool,
    /// Namespaces by name.
    pub match_names: Vec<String>,
}

/// What else is learnt about targets.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default)]
pub struct AttachMetadata {
    /// True for the labels of the node that a target runs on. Prometheus then needs to list nodes.
    pub node: Option<bool>,
}

/// Limits of a scrape job.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// Samples in one scrape.
    pub sample: Option<u64>,
    /// Targets.
    pub target: Option<u64>,
    /// Labels of a sample.
    pub label: Option<u64>,
    /// Length of a label's name.
    pub label_name_length: Option<u64>,
    /// Length of a label's value.
    pub label_value_length: Option<u64>,
    /// Dropped targets that are remembered.
    pub keep_dropped_targets: Option<u64>,
}

/// What a scrape job does with native histograms.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Histograms<'a> {
    /// Keep classic histograms beside native ones.
    pub scrape_classic: Option<bool>,
    /// Most buckets of a native histogram.
    pub bucket_limit: Option<u64>,
    /// Growth between neighbouring buckets, at least.
    pub min_bucket_factor: Option<&'a Port>,
    /// Convert classic histograms to native ones with custom buckets.
    pub convert_classic: Option<bool>,
}

macro_rules! limited {
    ($($spec:ty),+) => { $(
        impl $spec {
            /// The limits that it sets.
            #[must_use]
            pub fn limits(&self) -> Limits {
                Limits {
                    sample: self.sample_limit,
                    target: self.target_limit,
                    label: self.label_limit,
                    label_name_length: self.label_name_length_limit,
                    label_value_length: self.label_value_length_limit,
                    keep_dropped_targets: self.keep_dropped_targets,
                }
            }
        }
    )+ };
}

limited!(
    ServiceMonitorSpec,
    PodMonitorSpec,
    ProbeSpec,
    PrometheusSpec
);

macro_rules! with_histograms {
    ($($spec:ty),+) => { $(
        impl $spec {
            /// What it says about native histograms.
            #[must_use]
            pub fn histograms(&self) -> Histograms<'_> {
                Histograms {
                    scrape_classic: self.scrape_classic_histograms,
                    bucket_limit: self.native_histogram_bucket_limit,
                    min_bucket_factor: self.native_histogram_min_bucket_factor.as_ref(),
                    convert_classic: self.convert_classic_histograms_to_nhcb,
                }
            }
        }
    )+ };
}

with_histograms!(ServiceMonitorSpec, PodMonitorSpec, ProbeSpec);

impl PrometheusSpec {
    /// The limits that no monitor may exceed.
    #[must_use]
    pub fn enforced_limits(&self) -> Limits {
        Limits {
            sample: self.enforced_sample_limit,
            target: self.enforced_target_limit,
            label: self.enforced_label_limit,
            label_name_length: self.enforced_label_name_length_limit,
            label_value_length: self.enforced_label_value_length_limit,
            keep_dropped_targets: self.enforced_keep_dropped_targets,
        }
    }
}
