//! What a Prometheus is told about other servers, and about itself.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

use super::{
    Authorization, BasicAuth, HeaderKeys, OAuth2, Port, Relabeling, SafeAuthorization, SecretKey,
    Tls,
};

/// How Prometheus reaches the Kubernetes API; from within the cluster when left out.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ApiServer {
    /// HOST or HOST:PORT, or a URL.
    pub host: String,
    /// HTTP basic authentication.
    #[serde(default)]
    pub basic_auth: Option<BasicAuth>,
    /// A file in the container with a bearer token; `authorization` is newer.
    #[serde(default)]
    pub bearer_token_file: String,
    /// A bearer token, readable for everybody who may read the object: use `authorization`.
    #[serde(default)]
    pub bearer_token: String,
    /// The Authorization header.
    #[serde(default)]
    pub authorization: Option<Authorization>,
    /// TLS.
    #[serde(default)]
    pub tls_config: Option<Tls>,
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

/// Where alerts are sent.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
pub struct Alerting {
    /// Every one gets every alert.
    pub alertmanagers: Vec<Alertmanager>,
}

/// One Service of Alertmanagers.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Alertmanager {
    /// The Service's namespace; the Prometheus' own when left out.
    #[serde(default)]
    pub namespace: Option<String>,
    /// The Service's name.
    pub name: String,
    /// The Service's port, by name or number.
    pub port: Port,
    /// http or https.
    #[serde(default)]
    pub scheme: String,
    /// What stands before the paths of its API.
    #[serde(default)]
    pub path_prefix: String,
    /// TLS.
    #[serde(default)]
    pub tls_config: Option<Tls>,
    /// HTTP basic authentication.
    #[serde(default)]
    pub basic_auth: Option<BasicAuth>,
    /// A file in the container with a bearer token; `authorization` is newer.
    #[serde(default)]
    pub bearer_token_file: String,
    /// The Authorization header.
    #[serde(default)]
    pub authorization: Option<SafeAuthorization>,
    /// Signs requests for AWS; Prometheus 2.48 or newer.
    #[serde(default)]
    pub sigv4: Option<Sigv4>,
    /// The version of its API: v1 or v2.
    #[serde(default)]
    pub api_version: Option<String>,
    /// How long sending an alert may take.
    #[serde(default)]
    pub timeout: Option<String>,
    /// Whether HTTP/2 is used.
    #[serde(default)]
    pub enable_http2: Option<bool>,
    /// Rewrites the labels of Alertmanagers that were found.
    #[serde(default)]
    pub relabelings: Vec<Relabeling>,
    /// Rewrites the labels of alerts that are sent there; Prometheus 2.51 or newer.
    #[serde(default)]
    pub alert_relabelings: Vec<Relabeling>,
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

/// How requests to AWS are signed.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Sigv4 {
    /// The region; that of the default credentials when left out.
    pub region: String,
    /// Where the access key stands; together with `secretKey`.
    pub access_key: Option<SecretKey>,
    /// Where the secret key stands.
    pub secret_key: Option<SecretKey>,
    /// The named profile of credentials.
    pub profile: String,
    /// The role that is assumed.
    pub role_arn: String,
}

/// A server that old samples are read from.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RemoteRead {
    /// Where it answers.
    pub url: String,
    /// Told apart by it in metrics; Prometheus 2.15 or newer.
    #[serde(default)]
    pub name: String,
    /// Labels that a query must name to be sent there.
    #[serde(default)]
    pub required_matchers: BTreeMap<String, String>,
    /// How long a request may take.
    #[serde(default)]
    pub remote_timeout: Option<String>,
    /// Further headers.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// True to ask for times, too, of which this Prometheus has samples.
    #[serde(default)]
    pub read_recent: bool,
    /// OAuth 2.0.
    #[serde(default)]
    pub oauth2: Option<OAuth2>,
    /// HTTP basic authentication.
    #[serde(default)]
    pub basic_auth: Option<BasicAuth>,
    /// A file in the container with a bearer token; `authorization` is newer.
    #[serde(default)]
    pub bearer_token_file: String,
    /// The Authorization header.
    #[serde(default)]
    pub authorization: Option<Authorization>,
    /// A bearer token, readable for everybody who may read the object: use `authorization`.
    #[serde(default)]
    pub bearer_token: String,
    /// TLS.
    #[serde(default)]
    pub tls_config: Option<Tls>,
    /// Whether redirects are followed.
    #[serde(default)]
    pub follow_redirects: Option<bool>,
    /// Whether external labels are left out of queries; Prometheus 2.34 or newer.
    #[serde(default)]
    pub filter_external_labels: Option<bool>,
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

/// What is done with samples that arrive over OTLP; Prometheus 2.55 or newer.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Otlp {
    /// True to promote every resource attribute to a label; Prometheus 3.5 or newer.
    pub promote_all_resource_attributes: Option<bool>,
    /// Resource attributes that are not promoted; with `promoteAllResourceAttributes` only.
    pub ignore_resource_attributes: Vec<String>,
    /// Resource attributes that become labels.
    pub promote_resource_attributes: Vec<String>,
    /// NoUTF8EscapingWithSuffixes, UnderscoreEscapingWithSuffixes or NoTranslation; Prometheus 3.0 or newer.
    pub translation_strategy: Option<String>,
    /// True to keep service.name and the like on target_info; Prometheus 3.1 or newer.
    pub keep_identifying_resource_attributes: Option<bool>,
    /// True to store histograms as native ones with custom buckets; Prometheus 3.4 or newer.
    #[serde(rename = "convertHistogramsToNHCB")]
    pub convert_histograms_to_nhcb: Option<bool>,
}

/// Where traces of Prometheus itself are sent.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Tracing {
    /// HOST:PORT.
    pub endpoint: String,
    /// http or grpc.
    #[serde(default)]
    pub client_type: Option<String>,
    /// Which share of traces is sent, 0 to 1.
    #[serde(default)]
    pub sampling_fraction: Option<Port>,
    /// True for no TLS.
    #[serde(default)]
    pub insecure: Option<bool>,
    /// Further headers.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// gzip.
    #[serde(default)]
    pub compression: Option<String>,
    /// How long sending may take.
    #[serde(default)]
    pub timeout: Option<String>,
    /// TLS.
    #[serde(default)]
    pub tls_config: Option<Tls>,
}

/// How exemplars are stored.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Exemplars {
    /// How many are kept in memory.
    pub max_size: Option<i64>,
}

/// Settings of the time series database.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Tsdb {
    /// How old a sample may be that arrives out of order; Prometheus 2.39 or newer.
    pub out_of_order_time_window: Option<String>,
}

/// Settings of Go's runtime.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Runtime {
    /// How much garbage may grow before it is collected, in percent.
    #[serde(rename = "goGC")]
    pub go_gc: Option<i32>,
}
