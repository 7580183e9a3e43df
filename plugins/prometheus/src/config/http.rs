//! How a server is talked to.

use super::Setting;
use crate::api::{
    Alertmanager, ApiServer, Authorization, BasicAuth, HeaderKeys, OAuth2, PodEndpoint, Prober,
    RemoteRead, SafeTls, ServiceEndpoint, Sigv4, Tls,
};
use crate::known::{either, either_file, secret_file, value};
use crate::yaml::{Map, Yaml};

/// The proxy that a client goes through.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Proxy<'a> {
    pub(crate) url: Option<&'a String>,
    pub(crate) none_for: Option<&'a String>,
    pub(crate) from_environment: Option<bool>,
    pub(crate) headers: Option<&'a HeaderKeys>,
}

macro_rules! proxied {
    ($($client:ty),+) => { $(
        impl<'a> From<&'a $client> for Proxy<'a> {
            fn from(client: &'a $client) -> Self {
                Self {
                    url: client.proxy_url.as_ref(),
                    none_for: client.no_proxy.as_ref(),
                    from_environment: client.proxy_from_environment,
                    headers: client.proxy_connect_header.as_ref(),
                }
            }
        }
    )+ };
}

proxied!(
    ServiceEndpoint,
    PodEndpoint,
    Prober,
    OAuth2,
    ApiServer,
    Alertmanager,
    RemoteRead
);

/// An Authorization header, with the namespace of its Secret.
#[derive(Clone, Debug)]
pub(crate) struct Header<'a> {
    pub(crate) namespace: &'a str,
    pub(crate) of: Authorization,
}

/// TLS, with the namespace of its Secrets and ConfigMaps.
#[derive(Clone, Debug)]
pub(crate) struct Trust<'a> {
    pub(crate) namespace: &'a str,
    pub(crate) of: Tls,
}

impl Setting<'_> {
    pub(super) fn basic_auth(&self, namespace: &str, auth: &BasicAuth) -> Map {
        let part = |key| value(self.known, namespace, key).unwrap_or_else(|| "".into());
        Map::new()
            .with("username", part(&auth.username))
            .with("password", part(&auth.password))
    }

    pub(super) fn authorization(&self, header: &Header<'_>) -> Option<Map> {
        let Authorization {
            scheme,
            credentials,
            credentials_file,
        } = &header.of;
        let scheme = match scheme.as_str() {
            "" => "Bearer",
            other => other.trim(),
        };
        let credentials = credentials
            .as_ref()
            .and_then(|key| value(self.known, header.namespace, key));
        let map = Map::new()
            .with("type", scheme.to_owned())
            .maybe("credentials", credentials)
            .filled("credentials_file", credentials_file);
        self.since(2, 26).then_some(map)
    }

    pub(super) fn safe_tls(&self, namespace: &str, tls: &SafeTls) -> Map {
        self.tls(&Trust {
            namespace,
            of: tls.into(),
        })
    }

    pub(super) fn tls(&self, trust: &Trust<'_>) -> Map {
        let Trust { namespace, of: tls } = trust;
        Map::new()
            .maybe("insecure_skip_verify", tls.insecure_skip_verify)
            .maybe("ca_file", either_file(self.known, namespace, &tls.ca))
            .maybe("cert_file", either_file(self.known, namespace, &tls.cert))
            .maybe(
                "key_file",
                tls.key_secret
                    .as_ref()
                    .map(|key| secret_file(namespace, key)),
            )
            .filled(
                "server_name",
                tls.server_name.as_deref().unwrap_or_default(),
            )
            .maybe(
                "min_version",
                tls.min_version.as_ref().filter(|_| self.since(2, 35)),
            )
            .maybe(
                "max_version",
                tls.max_version.as_ref().filter(|_| self.since(2, 41)),
            )
            .filled("ca_file", &tls.ca_file)
            .filled("cert_file", &tls.cert_file)
            .filled("key_file", &tls.key_file)
    }

    pub(super) fn oauth2(&self, namespace: &str, oauth2: &OAuth2) -> Option<Map> {
        let id = either(self.known, namespace, &oauth2.client_id)?;
        let secret = value(self.known, namespace, &oauth2.client_secret)?;
        let params = oauth2.endpoint_params.iter();
        let params: Map = params
            .map(|(name, value)| (name.clone(), value.into()))
            .collect();
        let mut map = Map::new()
            .with("client_id", id)
            .with("client_secret", secret)
            .with("token_url", &oauth2.token_url)
            .maybe(
                "scopes",
                (!oauth2.scopes.is_empty()).then_some(oauth2.scopes.as_slice()),
            )
            .maybe("endpoint_params", (!params.is_empty()).then_some(params));
        if self.since(2, 43) {
            map = map.and(self.proxy(namespace, oauth2)).maybe(
                "tls_config",
                oauth2
                    .tls_config
                    .as_ref()
                    .map(|tls| self.safe_tls(namespace, tls)),
            );
        }
        self.since(2, 27).then_some(map)
    }

    pub(super) fn proxy<'p>(&self, namespace: &str, client: impl Into<Proxy<'p>>) -> Map {
        let Proxy {
            url,
            none_for,
            from_environment,
            headers,
        } = client.into();
        let map = Map::new().maybe("proxy_url", url);
        if !self.since(2, 43) {
            return map;
        }
        map.maybe("no_proxy", none_for)
            .maybe("proxy_from_environment", from_environment)
            .maybe(
                "proxy_connect_header",
                headers.map(|headers| self.headers(namespace, headers)),
            )
    }

    fn headers(&self, namespace: &str, headers: &HeaderKeys) -> Map {
        let values = |keys: &Vec<_>| -> Yaml {
            let values = keys
                .iter()
                .map(|key| value(self.known, namespace, key).unwrap_or_else(|| "".into()));
            Yaml::List(values.collect())
        };
        headers
            .iter()
            .map(|(name, keys)| (name.clone(), values(keys)))
            .collect()
    }

    pub(super) fn sigv4(&self, sigv4: &Sigv4) -> Map {
        let part = |key: &Option<_>| {
            key.as_ref()
                .and_then(|key| value(self.known, self.namespace, key))
        };
        let keys = part(&sigv4.access_key).zip(part(&sigv4.secret_key));
        let keys = keys.map(|(access, secret)| {
            Map::new()
                .with("access_key", access)
                .with("secret_key", secret)
        });
        Map::new()
            .filled("region", &sigv4.region)
            .and(keys.unwrap_or_default())
            .filled("profile", &sigv4.profile)
            .filled("role_arn", &sigv4.role_arn)
    }
}
