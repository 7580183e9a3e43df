//! Whether credentials, TLS and proxies can be followed.

use super::Checker;
use crate::api::{
    Authorization, BasicAuth, OAuth2, SafeAuthorization, SafeTls, SecretKey, SecretOrConfigMap,
    Sigv4, Tls,
};
use crate::config::Proxy;

type Checked = Result<(), String>;

/// Which ways to authenticate are set. Prometheus takes at most one.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Ways {
    pub(super) basic_auth: bool,
    pub(super) oauth2: bool,
    pub(super) authorization: bool,
    pub(super) bearer_token: bool,
    pub(super) bearer_token_file: bool,
}

impl Ways {
    pub(super) fn one(self) -> Checked {
        let set: Vec<&str> = [
            ("basicAuth", self.basic_auth),
            ("oauth2", self.oauth2),
            ("authorization", self.authorization),
            ("bearerTokenSecret", self.bearer_token),
            ("bearerTokenFile", self.bearer_token_file),
        ]
        .iter()
        .filter(|(_, set)| *set)
        .map(|(name, _)| *name)
        .collect();
        match set.len() {
            0 | 1 => Ok(()),
            _ => Err(format!(
                "{} are set; Prometheus takes one of them",
                set.join(" and ")
            )),
        }
    }
}

impl Checker<'_> {
    pub(super) fn basic_auth(&self, namespace: &str, auth: Option<&BasicAuth>) -> Checked {
        let Some(auth) = auth else { return Ok(()) };
        self.secret(namespace, &auth.username)
            .map_err(|why| format!("basicAuth: username: {why}"))?;
        self.secret(namespace, &auth.password)
            .map_err(|why| format!("basicAuth: password: {why}"))
    }

    pub(super) fn secret(&self, namespace: &str, key: &SecretKey) -> Checked {
        self.known.secret(namespace, key).map(drop)
    }

    pub(super) fn safe_authorization(
        &self,
        namespace: &str,
        auth: Option<&SafeAuthorization>,
    ) -> Checked {
        self.authorization(namespace, auth.map(Authorization::from).as_ref())
    }

    pub(super) fn authorization(&self, namespace: &str, auth: Option<&Authorization>) -> Checked {
        let Some(auth) = auth else { return Ok(()) };
        if auth.scheme.trim().eq_ignore_ascii_case("basic") {
            return Err("authorization: type is Basic: use basicAuth".to_owned());
        }
        match &auth.credentials {
            Some(_) if !auth.credentials_file.is_empty() => Err(
                "authorization: credentials and credentialsFile are set; write one of them"
                    .to_owned(),
            ),
            Some(key) if !key.name.is_empty() => self
                .secret(namespace, key)
                .map_err(|why| format!("authorization: {why}")),
            _ => Ok(()),
        }
    }

    pub(super) fn oauth2(&self, namespace: &str, oauth2: Option<&OAuth2>) -> Checked {
        let Some(oauth2) = oauth2 else { return Ok(()) };
        self.oauth2_parts(namespace, oauth2)
            .map_err(|why| format!("oauth2: {why}"))
    }

    fn oauth2_parts(&self, namespace: &str, oauth2: &OAuth2) -> Checked {
        if oauth2.token_url.is_empty() {
            return Err("tokenUrl is missing".to_owned());
        }
        if oauth2.client_id.is_empty() {
            return Err("clientId is missing".to_owned());
        }
        one_source("clientId", &oauth2.client_id)?;
        self.known.either(namespace, &oauth2.client_id)?;
        self.secret(namespace, &oauth2.client_secret)?;
        self.proxy(namespace, oauth2.into())?;
        self.safe_tls(namespace, oauth2.tls_config.as_ref())
    }

    pub(super) fn safe_tls(&self, namespace: &str, tls: Option<&SafeTls>) -> Checked {
        self.tls(namespace, tls.map(Tls::from).as_ref())
    }

    pub(super) fn tls(&self, namespace: &str, tls: Option<&Tls>) -> Checked {
        let Some(tls) = tls else { return Ok(()) };
        tls_form(tls)
            .and_then(|()| self.tls_values(namespace, tls))
            .map_err(|why| format!("tlsConfig: {why}"))
    }

    fn tls_values(&self, namespace: &str, tls: &Tls) -> Checked {
        self.pem(namespace, &tls.ca, "ca")?;
        self.pem(namespace, &tls.cert, "cert")?;
        let Some(key) = &tls.key_secret else {
            return Ok(());
        };
        let value = self.known.secret(namespace, key)?;
        match value.is_key() {
            true => Ok(()),
            false => Err(format!(
                "keySecret: {} of Secret {namespace}/{} holds no private key",
                key.key, key.name
            )),
        }
    }

    /// A certificate, where it is not empty.
    fn pem(&self, namespace: &str, from: &SecretOrConfigMap, field: &str) -> Checked {
        match self.known.either(namespace, from)?.is_certificate() {
            true => Ok(()),
            false => Err(format!("{field}: what it names holds no certificate")),
        }
    }

    pub(super) fn proxy(&self, namespace: &str, proxy: Proxy<'_>) -> Checked {
        proxy_form(&proxy)?;
        for (name, keys) in proxy.headers.into_iter().flatten() {
            if keys.is_empty() || keys.contains(&SecretKey::default()) {
                return Err(format!("proxyConnectHeader: {name} names no Secret"));
            }
            for key in keys {
                self.secret(namespace, key)
                    .map_err(|why| format!("proxyConnectHeader: {name}: {why}"))?;
            }
        }
        Ok(())
    }

    pub(super) fn sigv4(&self, namespace: &str, sigv4: Option<&Sigv4>) -> Checked {
        match sigv4.map(|sigv4| (&sigv4.access_key, &sigv4.secret_key)) {
            None | Some((None, None)) => Ok(()),
            Some((Some(access), Some(secret))) => {
                self.secret(namespace, access)?;
                self.secret(namespace, secret)
            }
            Some(_) => Err("sigv4: accessKey and secretKey go together".to_owned()),
        }
    }
}

fn one_source(field: &str, from: &SecretOrConfigMap) -> Checked {
    match from.secret.is_some() && from.config_map.is_some() {
        true => Err(format!(
            "{field}: a Secret and a ConfigMap are named; write one of them"
        )),
        false => Ok(()),
    }
}

fn tls_form(tls: &Tls) -> Checked {
    for (field, from, file) in [
        ("ca", &tls.ca, &tls.ca_file),
        ("cert", &tls.cert, &tls.cert_file),
    ] {
        if !from.is_empty() && !file.is_empty() {
            return Err(format!(
                "{field} and {field}File are set; write one of them"
            ));
        }
        one_source(field, from)?;
    }
    if !tls.key_file.is_empty() && tls.key_secret.is_some() {
        return Err("keyFile and keySecret are set; write one of them".to_owned());
    }
    let has_cert = !tls.cert_file.is_empty() || !tls.cert.is_empty();
    let has_key = !tls.key_file.is_empty() || tls.key_secret.is_some();
    if has_cert != has_key {
        return Err("a client's certificate and its key go together".to_owned());
    }
    match (&tls.min_version, &tls.max_version) {
        (Some(least), Some(most)) if most < least => Err(format!(
            "maxVersion {most} is older than minVersion {least}"
        )),
        _ => Ok(()),
    }
}

fn proxy_form(proxy: &Proxy<'_>) -> Checked {
    let url = proxy.url.is_some_and(|url| !url.is_empty());
    let none_for = proxy.none_for.is_some_and(|none_for| !none_for.is_empty());
    let from_environment = proxy.from_environment == Some(true);
    let headers = proxy.headers.is_some_and(|headers| !headers.is_empty());
    let why = match (from_environment, url) {
        (true, true) => "proxyFromEnvironment and proxyUrl are set; write one of them",
        (true, _) if none_for => "proxyFromEnvironment and noProxy are set; write one of them",
        (_, false) if none_for => "noProxy needs proxyUrl",
        (false, false) if headers => "proxyConnectHeader needs proxyUrl or proxyFromEnvironment",
        _ => return Ok(()),
    };
    Err(why.to_owned())
}
