//! How Prometheus talks to a server: credentials, TLS, proxies.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

/// One key of a Secret in the namespace of the object that names it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default)]
pub struct SecretKey {
    /// The Secret's name.
    pub name: String,
    /// The key in its data.
    pub key: String,
    /// True when it may be missing.
    pub optional: Option<bool>,
}

/// One key of a ConfigMap in the namespace of the object that names it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ConfigMapKey {
    /// The ConfigMap's name.
    pub name: String,
    /// The key in its data.
    pub key: String,
    /// True when it may be missing.
    pub optional: Option<bool>,
}

/// A value from a Secret or from a ConfigMap, not both.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct SecretOrConfigMap {
    /// From a Secret.
    pub secret: Option<SecretKey>,
    /// From a ConfigMap.
    pub config_map: Option<ConfigMapKey>,
}

impl SecretOrConfigMap {
    /// Whether it names nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.secret.is_none() && self.config_map.is_none()
    }
}

/// Headers sent to a proxy, each with the keys that hold its values.
pub type HeaderKeys = BTreeMap<String, Vec<SecretKey>>;

/// HTTP basic authentication.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default)]
pub struct BasicAuth {
    /// Where the user's name stands.
    pub username: SecretKey,
    /// Where the password stands.
    pub password: SecretKey,
}

/// An Authorization header whose credentials stand in a Secret.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default)]
pub struct SafeAuthorization {
    /// The scheme; "Bearer" when left out, never "Basic".
    #[serde(rename = "type")]
    pub scheme: String,
    /// Where the credentials stand.
    pub credentials: Option<SecretKey>,
}

/// An Authorization header.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Authorization {
    /// The scheme; "Bearer" when left out, never "Basic".
    #[serde(rename = "type")]
    pub scheme: String,
    /// Where the credentials stand.
    pub credentials: Option<SecretKey>,
    /// A file in the Prometheus container that holds them.
    pub credentials_file: String,
}

impl From<&SafeAuthorization> for Authorization {
    fn from(safe: &SafeAuthorization) -> Self {
        Self {
            scheme: safe.scheme.clone(),
            credentials: safe.credentials.clone(),
            credentials_file: String::new(),
        }
    }
}

/// TLS whose certificates and keys stand in Secrets and ConfigMaps.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct SafeTls {
    /// The authority that signed the server's certificate.
    pub ca: SecretOrConfigMap,
    /// The client's certificate.
    pub cert: SecretOrConfigMap,
    /// The client's key.
    pub key_secret: Option<SecretKey>,
    /// The name that the server's certificate must carry.
    pub server_name: Option<String>,
    /// True to trust any certificate.
    pub insecure_skip_verify: Option<bool>,
    /// TLS10, TLS11, TLS12 or TLS13; Prometheus 2.35 or newer.
    pub min_version: Option<String>,
    /// TLS10, TLS11, TLS12 or TLS13; Prometheus 2.41 or newer.
    pub max_version: Option<String>,
}

/// TLS, also with files of the Prometheus container.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Tls {
    /// The authority that signed the server's certificate.
    pub ca: SecretOrConfigMap,
    /// The client's certificate.
    pub cert: SecretOrConfigMap,
    /// The client's key.
    pub key_secret: Option<SecretKey>,
    /// The name that the server's certificate must carry.
    pub server_name: Option<String>,
    /// True to trust any certificate.
    pub insecure_skip_verify: Option<bool>,
    /// TLS10, TLS11, TLS12 or TLS13; Prometheus 2.35 or newer.
    pub min_version: Option<String>,
    /// TLS10, TLS11, TLS12 or TLS13; Prometheus 2.41 or newer.
    pub max_version: Option<String>,
    /// The authority's certificate as a file in the Prometheus container.
    pub ca_file: String,
    /// The client's certificate as a file in the Prometheus container.
    pub cert_file: String,
    /// The client's key as a file in the Prometheus container.
    pub key_file: String,
}

impl From<&SafeTls> for Tls {
    fn from(safe: &SafeTls) -> Self {
        let SafeTls {
            ca,
            cert,
            key_secret,
            server_name,
            insecure_skip_verify,
            min_version,
            max_version,
        } = safe.clone();
        Self {
            ca,
            cert,
            key_secret,
            server_name,
            insecure_skip_verify,
            min_version,
            max_version,
            ..Self::default()
        }
    }
}

/// OAuth 2.0 with client credentials.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OAuth2 {
    /// Where the client's id stands.
    pub client_id: SecretOrConfigMap,
    /// Where the client's secret stands.
    pub client_secret: SecretKey,
    /// Where tokens are fetched.
    pub token_url: String,
    /// Scopes that are asked for.
    #[serde(default)]
    pub scopes: Vec<String>,
    /// Further parameters of the request for a token.
    #[serde(default)]
    pub endpoint_params: BTreeMap<String, String>,
    /// TLS towards the server of tokens; Prometheus 2.43 or newer.
    #[serde(default)]
    pub tls_config: Option<SafeTls>,
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
