//! The kind PodMonitor.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

use super::{
    AttachMetadata, BasicAuth, Found, HeaderKeys, LabelSelector, NamespaceSelector, OAuth2, Port,
    Relabeling, SafeAuthorization, SafeTls, SecretKey,
};

/// A PodMonitor as it stands in the cluster.
pub type PodMonitor = Found<PodMonitorSpec>;

/// Which Pods are scraped, and how.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PodMonitorSpec {
    /// Chooses Pods by their labels.
    pub selector: LabelSelector,
    /// The ports of the Pods that are scraped, each a scrape job.
    #[serde(default)]
    pub pod_metrics_endpoints: Vec<PodEndpoint>,
    /// Where the selector is applied: RelabelConfig (by Prometheus, the default) or RoleSelector (by the API server).
    #[serde(default)]
    pub selector_mechanism: Option<String>,
    /// In which namespaces Pods are looked for.
    #[serde(default)]
    pub namespace_selector: NamespaceSelector,
    /// The label of the Pod whose value becomes the label job; the monitor's own name when left out.
    #[serde(default)]
    pub job_label: String,
    /// Labels of the Pod that samples get.
    #[serde(default)]
    pub pod_target_labels: Vec<String>,
    /// What else is learnt about targets; Prometheus 2.35 or newer.
    #[serde(default)]
    pub attach_metadata: Option<AttachMetadata>,
    /// How large an uncompressed answer may be, such as 10MB.
    #[serde(default)]
    pub body_size_limit: Option<String>,
    /// Samples that one scrape may bring.
    #[serde(default)]
    pub sample_limit: Option<u64>,
    /// Targets that it may have.
    #[serde(default)]
    pub target_limit: Option<u64>,
    /// Labels that a sample may have.
    #[serde(default)]
    pub label_limit: Option<u64>,
    /// How long a label's name may be.
    #[serde(default)]
    pub label_name_length_limit: Option<u64>,
    /// How long a label's value may be.
    #[serde(default)]
    pub label_value_length_limit: Option<u64>,
    /// Dropped targets that are remembered for each job; Prometheus 2.47 or newer.
    #[serde(default)]
    pub keep_dropped_targets: Option<u64>,
    /// The scrape class that applies; the Prometheus' default class when left out.
    #[serde(default)]
    pub scrape_class: Option<String>,
    /// Protocols asked for, the preferred one first; Prometheus 2.49 or newer.
    #[serde(default)]
    pub scrape_protocols: Vec<String>,
    /// The protocol assumed where a target does not name one; Prometheus 3.0 or newer.
    #[serde(default)]
    pub fallback_scrape_protocol: Option<String>,
    /// True to keep classic histograms beside native ones.
    #[serde(default)]
    pub scrape_classic_histograms: Option<bool>,
    /// Most buckets that a native histogram may have.
    #[serde(default)]
    pub native_histogram_bucket_limit: Option<u64>,
    /// Least growth from one bucket of a native histogram to the next.
    #[serde(default)]
    pub native_histogram_min_bucket_factor: Option<Port>,
    /// True to store classic histograms as native ones with custom buckets.
    #[serde(rename = "convertClassicHistogramsToNHCB")]
    #[serde(default)]
    pub convert_classic_histograms_to_nhcb: Option<bool>,
}

/// One port of the Pods.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct PodEndpoint {
    /// The container's port, by name.
    pub port: Option<String>,
    /// The container's port, by number, where `port` is left out.
    pub port_number: Option<i32>,
    /// The container's port, by name or number; `port` and `portNumber` are newer.
    pub target_port: Option<Port>,
    /// How often it is scraped, such as 30s; the Prometheus' own interval when left out.
    pub interval: String,
    /// How long a scrape may take; at most the interval.
    pub scrape_timeout: String,
    /// The path of the metrics; /metrics when left out.
    pub path: String,
    /// http or https.
    pub scheme: String,
    /// Parameters of the URL.
    pub params: Option<BTreeMap<String, Vec<String>>>,
    /// True to keep a label of the target where it collides with one that Prometheus adds.
    pub honor_labels: bool,
    /// False to ignore the time stamps that the target gives.
    pub honor_timestamps: Option<bool>,
    /// True to mark series stale whose samples carry time stamps; Prometheus 2.48 or newer.
    pub track_timestamps_staleness: Option<bool>,
    /// Whether redirects are followed.
    pub follow_redirects: Option<bool>,
    /// Whether HTTP/2 is used.
    pub enable_http2: Option<bool>,
    /// False to scrape Pods that failed or succeeded, too.
    pub filter_running: Option<bool>,
    /// HTTP basic authentication.
    pub basic_auth: Option<BasicAuth>,
    /// OAuth 2.0.
    pub oauth2: Option<OAuth2>,
    /// The Authorization header.
    pub authorization: Option<SafeAuthorization>,
    /// Rewrites the labels of targets before they are scraped.
    pub relabelings: Vec<Relabeling>,
    /// Rewrites the labels of samples before they are stored.
    pub metric_relabelings: Vec<Relabeling>,
    /// A proxy, as http://, https:// or socks5:// URL.
    pub proxy_url: Option<String>,
    /// Hosts that are reached without the proxy, separated by commas.
    pub no_proxy: Option<String>,
    /// True to take the proxy from the container's environment.
    pub proxy_from_environment: Option<bool>,
    /// Headers sent to the proxy.
    pub proxy_connect_header: Option<HeaderKeys>,
    /// TLS.
    pub tls_config: Option<SafeTls>,
    /// Where a bearer token stands; `authorization` is newer.
    pub bearer_token_secret: SecretKey,
}
