//! Whether a monitor can be followed.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use super::Checker;
use super::http::Ways;
use crate::api::{
    LabelSelector, Param, PodEndpoint, PodMonitorSpec, ProbeSpec, SafeAuthorization,
    ServiceEndpoint, ServiceMonitorSpec,
};
use crate::units;

/// A kind of monitor whose specs can be checked.
pub trait Checked {
    /// Checks a spec of an object in this namespace.
    ///
    /// # Errors
    /// In words: which field, what is wrong.
    fn check(&self, checker: &Checker<'_>, namespace: &str) -> Result<(), String>;
}

impl Checked for ServiceMonitorSpec {
    fn check(&self, checker: &Checker<'_>, namespace: &str) -> Result<(), String> {
        checker.selector(&self.selector, self.selector_mechanism.as_ref())?;
        checker.class(self.scrape_class.as_ref())?;
        unique_protocols(&self.scrape_protocols)?;
        checker.taken("targetLabels", &self.target_labels)?;
        checker.taken("podTargetLabels", &self.pod_target_labels)?;
        for (at, endpoint) in self.endpoints.iter().enumerate() {
            let checked = checker.service_endpoint(namespace, endpoint);
            checked.map_err(|why| format!("endpoints[{at}]: {why}"))?;
        }
        Ok(())
    }
}

impl Checked for PodMonitorSpec {
    fn check(&self, checker: &Checker<'_>, namespace: &str) -> Result<(), String> {
        checker.selector(&self.selector, self.selector_mechanism.as_ref())?;
        checker.class(self.scrape_class.as_ref())?;
        unique_protocols(&self.scrape_protocols)?;
        checker.taken("podTargetLabels", &self.pod_target_labels)?;
        for (at, endpoint) in self.pod_metrics_endpoints.iter().enumerate() {
            let checked = checker.pod_endpoint(namespace, endpoint);
            checked.map_err(|why| format!("podMetricsEndpoints[{at}]: {why}"))?;
        }
        Ok(())
    }
}

impl Checked for ProbeSpec {
    fn check(&self, checker: &Checker<'_>, namespace: &str) -> Result<(), String> {
        checker.class(self.scrape_class.as_ref())?;
        unique_protocols(&self.scrape_protocols)?;
        unique_params(&self.params)?;
        checker.probe_targets(self)?;
        let token = &self.bearer_token_secret;
        if !token.name.is_empty() && !token.key.is_empty() {
            checker
                .secret(namespace, token)
                .map_err(|why| format!("bearerTokenSecret: {why}"))?;
        }
        checker.basic_auth(namespace, self.basic_auth.as_ref())?;
        checker.safe_tls(namespace, self.tls_config.as_ref())?;
        checker.safe_authorization(namespace, self.authorization.as_ref())?;
        checker.oauth2(namespace, self.oauth2.as_ref())?;
        ways(
            self.authorization.as_ref(),
            Ways {
                basic_auth: self.basic_auth.is_some(),
                oauth2: self.oauth2.is_some(),
                bearer_token: !token.name.is_empty(),
                ..Ways::default()
            },
        )?;
        checker.intervals(&self.interval, &self.scrape_timeout)?;
        checker.relabelings("metricRelabelings", &self.metric_relabelings)?;
        checker
            .proxy(namespace, (&self.prober).into())
            .map_err(|why| format!("prober: {why}"))?;
        prober_url(&self.prober.url)
    }
}

/// The ways to authenticate that are set; an empty Authorization is none.
fn ways(authorization: Option<&SafeAuthorization>, others: Ways) -> Result<(), String> {
    let authorization = authorization.is_some_and(|header| *header != SafeAuthorization::default());
    Ways {
        authorization,
        ..others
    }
    .one()
}

impl Checker<'_> {
    fn selector(&self, selector: &LabelSelector, mechanism: Option<&String>) -> Result<(), String> {
        selector.text().map_err(|why| format!("selector: {why}"))?;
        match mechanism.map(String::as_str) {
            Some("RoleSelector") if !self.version.since(2, 17) => {
                Err("selectorMechanism: RoleSelector needs Prometheus 2.17 or newer".to_owned())
            }
            _ => Ok(()),
        }
    }

    fn class(&self, name: Option<&String>) -> Result<(), String> {
        match name {
            Some(name) if !name.is_empty() && !self.classes().contains(name.as_str()) => Err(
                format!("scrapeClass: the Prometheus has no class \"{name}\" that is in order"),
            ),
            _ => Ok(()),
        }
    }

    /// Labels that targets take over become labels of samples.
    fn taken(&self, field: &str, labels: &[String]) -> Result<(), String> {
        match labels
            .iter()
            .find(|label| !super::relabel::is_takeable(self.version, label))
        {
            Some(label) => Err(format!("{field}: \"{label}\" is not the name of a label")),
            None => Ok(()),
        }
    }

    fn service_endpoint(&self, namespace: &str, endpoint: &ServiceEndpoint) -> Result<(), String> {
        self.file_access(endpoint)?;
        let token = endpoint
            .bearer_token_secret
            .as_ref()
            .filter(|key| !key.name.is_empty());
        if let Some(key) = token {
            self.secret(namespace, key)
                .map_err(|why| format!("bearerTokenSecret: {why}"))?;
        }
        self.basic_auth(namespace, endpoint.basic_auth.as_ref())?;
        self.tls(namespace, endpoint.tls_config.as_ref())?;
        self.oauth2(namespace, endpoint.oauth2.as_ref())?;
        self.safe_authorization(namespace, endpoint.authorization.as_ref())?;
        ways(
            endpoint.authorization.as_ref(),
            Ways {
                basic_auth: endpoint.basic_auth.is_some(),
                oauth2: endpoint.oauth2.is_some(),
                bearer_token: token.is_some(),
                bearer_token_file: !endpoint.bearer_token_file.is_empty(),
                ..Ways::default()
            },
        )?;
        self.intervals(&endpoint.interval, &endpoint.scrape_timeout)?;
        self.relabelings("relabelings", &endpoint.relabelings)?;
        self.relabelings("metricRelabelings", &endpoint.metric_relabelings)?;
        self.proxy(namespace, endpoint.into())
    }

    fn pod_endpoint(&self, namespace: &str, endpoint: &PodEndpoint) -> Result<(), String> {
        let token = &endpoint.bearer_token_secret;
        if !token.name.is_empty() && !token.key.is_empty() {
            self.secret(namespace, token)
                .map_err(|why| format!("bearerTokenSecret: {why}"))?;
        }
        self.basic_auth(namespace, endpoint.basic_auth.as_ref())?;
        self.safe_tls(namespace, endpoint.tls_config.as_ref())?;
        self.oauth2(namespace, endpoint.oauth2.as_ref())?;
        self.safe_authorization(namespace, endpoint.authorization.as_ref())?;
        ways(
            endpoint.authorization.as_ref(),
            Ways {
                basic_auth: endpoint.basic_auth.is_some(),
                oauth2: endpoint.oauth2.is_some(),
                bearer_token: !token.name.is_empty(),
                ..Ways::default()
            },
        )?;
        self.intervals(&endpoint.interval, &endpoint.scrape_timeout)?;
        self.relabelings("relabelings", &endpoint.relabelings)?;
        self.relabelings("metricRelabelings", &endpoint.metric_relabelings)?;
        self.proxy(namespace, endpoint.into())
    }

    /// Files of the Prometheus container, where the Prometheus forbids them.
    fn file_access(&self, endpoint: &ServiceEndpoint) -> Result<(), String> {
        if !self.spec.arbitrary_fs_access_through_sms.deny {
            return Ok(());
        }
        let tls = endpoint.tls_config.as_ref();
        let file = tls.is_some_and(|tls| {
            [&tls.ca_file, &tls.cert_file, &tls.key_file]
                .iter()
                .any(|file| !file.is_empty())
        });
        let field = match file {
            _ if !endpoint.bearer_token_file.is_empty() => "bearerTokenFile",
            true => "tlsConfig",
            false => return Ok(()),
        };
        Err(format!(
            "{field} names a file of the Prometheus container, which the Prometheus forbids \
             (spec.arbitraryFSAccessThroughSMs.deny)"
        ))
    }

    fn intervals(&self, interval: &str, timeout: &str) -> Result<(), String> {
        if !interval.is_empty() {
            units::duration(interval).map_err(|why| format!("interval: {why}"))?;
        }
        let interval = match interval {
            "" => self.spec.scrape_interval.as_str(),
            own => own,
        };
        match timeout {
            "" => Ok(()),
            timeout => units::timeout_within(timeout, interval),
        }
    }

    fn probe_targets(&self, spec: &ProbeSpec) -> Result<(), String> {
        let targets = &spec.targets;
        if targets.static_config.is_none() && targets.ingress.is_none() {
            return Err("targets: neither staticConfig nor ingress is set".to_owned());
        }
        if let Some(fixed) = &targets.static_config {
            self.relabelings(
                "targets.staticConfig.relabelingConfigs",
                &fixed.relabeling_configs,
            )?;
            self.labels(fixed.labels.as_ref())?;
        }
        if let Some(ingress) = &targets.ingress {
            ingress
                .selector
                .text()
                .map_err(|why| format!("targets.ingress.selector: {why}"))?;
            self.relabelings(
                "targets.ingress.relabelingConfigs",
                &ingress.relabeling_configs,
            )?;
        }
        Ok(())
    }

    /// Prometheus 2 refuses a configuration for a label whose name it does not know.
    fn labels(&self, labels: Option<&BTreeMap<String, String>>) -> Result<(), String> {
        let mut names = labels.into_iter().flatten().map(|(name, _)| name);
        match names.find(|name| self.version.major() < 3 && !super::relabel::is_label(name)) {
            Some(name) => Err(format!(
                "targets.staticConfig.labels: \"{name}\" is not the name of a label"
            )),
            None => Ok(()),
        }
    }
}

/// Prometheus refuses a configuration for a protocol that is named twice.
fn unique_protocols(protocols: &[String]) -> Result<(), String> {
    let unique: BTreeSet<&String> = protocols.iter().collect();
    match unique.len() == protocols.len() {
        true => Ok(()),
        false => Err("scrapeProtocols: a protocol is named twice".to_owned()),
    }
}

/// Nor for a parameter.
fn unique_params(params: &[Param]) -> Result<(), String> {
    let unique: BTreeSet<&String> = params.iter().map(|param| &param.name).collect();
    match unique.len() == params.len() {
        true => Ok(()),
        false => Err("params: a name is given twice".to_owned()),
    }
}

/// HOST or HOST:PORT.
fn prober_url(url: &str) -> Result<(), String> {
    let (host, port) = match url.split_once(':') {
        Some((host, rest)) => (host, Some(rest.split(':').next().unwrap_or_default())),
        None => (url, None),
    };
    let is_port = |port: &str| port.parse::<u16>().is_ok_and(|port| port > 0);
    match is_host(host) && port.is_none_or(is_port) {
        true => Ok(()),
        false => Err(format!("prober: \"{url}\" is neither HOST nor HOST:PORT")),
    }
}

fn is_host(host: &str) -> bool {
    let allowed =
        |character: char| character == '_' || character == '-' || character.is_ascii_alphanumeric();
    let is_label = |label: &str| {
        (1..=63).contains(&label.len()) && !label.starts_with('-') && label.chars().all(allowed)
    };
    let name = host.strip_suffix('.').unwrap_or(host);
    host.parse::<IpAddr>().is_ok()
        || (name.replace('.', "").len() <= 255 && name.split('.').all(is_label))
}

#[cfg(test)]
mod tests {
    use super::prober_url;

    #[test]
    fn a_prober_is_a_host_with_or_without_a_port() {
        for url in [
            "blackbox",
            "blackbox.monitoring.svc:9115",
            "10.0.0.1:80",
            "a_b.",
        ] {
            assert_eq!(prober_url(url), Ok(()), "{url}");
        }
        for url in [
            "",
            "http://blackbox",
            "blackbox:0",
            "blackbox:x",
            "-a",
            "a b",
        ] {
            assert!(prober_url(url).is_err(), "{url}");
        }
    }
}
