//! The kind Probe.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

use super::{
    BasicAuth, Found, HeaderKeys, LabelSelector, NamespaceSelector, OAuth2, Port, Relabeling,
    SafeAuthorization, SafeTls, SecretKey,
};

/// A Probe as it stands in the cluster.
pub type Probe = Found<ProbeSpec>;

/// What is probed from outside, and by which prober.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ProbeSpec {
    /// The value of the label job.
    pub job_name: String,
    /// The server that probes, such as a blackbox exporter.
    pub prober: Prober,
    /// The module of the prober's configuration that is used.
    pub module: String,
    /// What is probed.
    pub targets: Targets,
    /// How often it is probed.
    pub interval: String,
    /// How long a probe may take; at most the interval.
    pub scrape_timeout: String,
    /// Further parameters of the prober's URL; `module` wins over one of that name.
    pub params: Vec<Param>,
    /// TLS towards the prober.
    pub tls_config: Option<SafeTls>,
    /// Where a bearer token stands; `authorization` is newer.
    pub bearer_token_secret: SecretKey,
    /// HTTP basic authentication.
    pub basic_auth: Option<BasicAuth>,
    /// OAuth 2.0.
    pub oauth2: Option<OAuth2>,
    /// The Authorization header.
    pub authorization: Option<SafeAuthorization>,
    /// Rewrites the labels of samples before they are stored.
    pub metric_relabelings: Vec<Relabeling>,
    /// Samples that one scrape may bring.
    pub sample_limit: Option<u64>,
    /// Targets that it may have.
    pub target_limit: Option<u64>,
    /// Labels that a sample may have.
    pub label_limit: Option<u64>,
    /// How long a label's name may be.
    pub label_name_length_limit: Option<u64>,
    /// How long a label's value may be.
    pub label_value_length_limit: Option<u64>,
    /// Dropped targets that are remembered for each job; Prometheus 2.47 or newer.
    pub keep_dropped_targets: Option<u64>,
    /// The scrape class that applies; the Prometheus' default class when left out.
    pub scrape_class: Option<String>,
    /// Protocols asked for, the preferred one first; Prometheus 2.49 or newer.
    pub scrape_protocols: Vec<String>,
    /// The protocol assumed where a target does not name one; Prometheus 3.0 or newer.
    pub fallback_scrape_protocol: Option<String>,
    /// True to keep classic histograms beside native ones.
    pub scrape_classic_histograms: Option<bool>,
    /// Most buckets that a native histogram may have.
    pub native_histogram_bucket_limit: Option<u64>,
    /// Least growth from one bucket of a native histogram to the next.
    pub native_histogram_min_bucket_factor: Option<Port>,
    /// True to store classic histograms as native ones with custom buckets.
    #[serde(rename = "convertClassicHistogramsToNHCB")]
    pub convert_classic_histograms_to_nhcb: Option<bool>,
}

/// The server that probes.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Prober {
    /// HOST or HOST:PORT.
    pub url: String,
    /// http or https.
    #[serde(default)]
    pub scheme: String,
    /// The path that probes.
    #[serde(default = "probe")]
    pub path: String,
    /// A proxy, as http://, https:// or socks5:// URL.
    #[serde(default)]
    pub proxy_url: Option<String>,
    /// Hosts that are reached without the proxy, separated by commas.
    #[serde(default)]
    pub no_proxy: Option<String>,
    /// True to take the proxy from the container's environment.
    #[serde(default)]
    pub proxy_from_environment: Option<bool>,
    /// Headers sent to the proxy.
    #[serde(default)]
    pub proxy_connect_header: Option<HeaderKeys>,
}

impl Default for Prober {
    fn default() -> Self {
        Self {
            url: String::new(),
            scheme: String::new(),
            path: probe(),
            proxy_url: None,
            no_proxy: None,
            proxy_from_environment: None,
            proxy_connect_header: None,
        }
    }
}

fn probe() -> String {
    "/probe".to_owned()
}

/// What is probed. The static list wins where both are set.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Targets {
    /// Hosts by name.
    pub static_config: Option<StaticTargets>,
    /// The hosts and paths of Ingresses.
    pub ingress: Option<Ingress>,
}

/// Hosts by name.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct StaticTargets {
    /// What is probed.
    #[serde(rename = "static")]
    pub targets: Option<Vec<String>>,
    /// Labels that samples get.
    pub labels: Option<BTreeMap<String, String>>,
    /// Rewrites the labels of targets before they are probed.
    pub relabeling_configs: Vec<Relabeling>,
}

/// The hosts and paths of Ingresses.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Ingress {
    /// Chooses Ingresses by their labels.
    pub selector: LabelSelector,
    /// In which namespaces they are looked for.
    pub namespace_selector: NamespaceSelector,
    /// Rewrites the labels of targets before they are probed.
    pub relabeling_configs: Vec<Relabeling>,
}

/// A parameter of the prober's URL.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
pub struct Param {
    /// Its name.
    pub name: String,
    /// Its values.
    #[serde(default)]
    pub values: Vec<String>,
}
