//! Where alerts are sent.

use super::http::{Header, Trust};
use super::kubernetes::Discovery;
use super::relabel::{keep, rules};
use super::service_monitor::singular;
use super::{Setting, global, lists, spec_list};
use crate::api::{Alertmanager, NamespaceSelector, Port};
use crate::yaml::{Map, Yaml};

pub(super) fn section(of: &Setting<'_>) -> Option<Map> {
    let spec = of.spec;
    let more_rules = lists(
        of,
        spec_list(spec.additional_alert_relabel_configs.as_ref()),
    );
    let more_servers = lists(
        of,
        spec_list(spec.additional_alert_manager_configs.as_ref()),
    );
    if spec.alerting.is_none() && more_rules.is_empty() && more_servers.is_empty() {
        return None;
    }
    let servers = spec
        .alerting
        .iter()
        .flat_map(|alerting| &alerting.alertmanagers);
    let servers = servers.map(|server| Yaml::Map(alertmanager(of, server)));
    let section = Map::new()
        .with(
            "alert_relabel_configs",
            Yaml::Joined(without_replica(of), more_rules),
        )
        .with(
            "alertmanagers",
            Yaml::Joined(servers.collect(), more_servers),
        );
    Some(section)
}

/// Replicas send the same alert, so the label that tells them apart goes.
fn without_replica(of: &Setting<'_>) -> Vec<Yaml> {
    let label = global::replica_label(of);
    let drop = Map::new()
        .with("action", "labeldrop")
        .with("regex", quoted(label));
    (!label.is_empty())
        .then_some(Yaml::Map(drop))
        .into_iter()
        .collect()
}

/// A text as a regular expression that matches it alone.
fn quoted(text: &str) -> String {
    let mut quoted = String::new();
    for character in text.chars() {
        if r"\.+*?()|[]{}^$".contains(character) {
            quoted.push('\\');
        }
        quoted.push(character);
    }
    quoted
}

fn alertmanager(of: &Setting<'_>, server: &Alertmanager) -> Map {
    let or = |text: &str, otherwise: &str| {
        if text.is_empty() {
            otherwise.to_owned()
        } else {
            text.to_owned()
        }
    };
    let namespace = of.namespace;
    let trust = server.tls_config.clone().map(|of| Trust { namespace, of });
    let header = server.authorization.as_ref().map(|header| Header {
        namespace,
        of: header.into(),
    });
    let discovery = of.discovery(&Discovery {
        role: of.endpoints_role(),
        namespace: server.namespace.as_deref().unwrap_or(namespace),
        within: &NamespaceSelector::default(),
        attach: None,
        selector: None,
    });
    Map::new()
        .with("path_prefix", or(&server.path_prefix, "/"))
        .with("scheme", or(&server.scheme, "http"))
        .maybe("timeout", server.timeout.as_ref())
        .maybe(
            "enable_http2",
            server.enable_http2.filter(|_| of.since(2, 35)),
        )
        .maybe("tls_config", trust.map(|trust| of.tls(&trust)))
        .and(of.proxy(namespace, server))
        .with("kubernetes_sd_configs", discovery)
        .filled("bearer_token_file", &server.bearer_token_file)
        .maybe(
            "basic_auth",
            server
                .basic_auth
                .as_ref()
                .filter(|_| of.since(2, 26))
                .map(|auth| of.basic_auth(namespace, auth)),
        )
        .maybe(
            "authorization",
            header.and_then(|header| of.authorization(&header)),
        )
        .maybe(
            "sigv4",
            server
                .sigv4
                .as_ref()
                .filter(|_| of.since(2, 48))
                .map(|sigv4| of.sigv4(sigv4)),
        )
        .maybe("api_version", api_version(of, server))
        .with("relabel_configs", relabelings(of, server))
        .maybe(
            "alert_relabel_configs",
            (!server.alert_relabelings.is_empty() && of.since(2, 51))
                .then(|| rules(&server.alert_relabelings)),
        )
}

/// The version of its API; Prometheus 3 knows no v1 any more.
fn api_version(of: &Setting<'_>, server: &Alertmanager) -> Option<String> {
    let version = server.api_version.as_ref()?.to_lowercase();
    let known = match version.as_str() {
        "v1" => of.version.major() <= 2,
        "v2" => true,
        _ => false,
    };
    (known && of.since(2, 11)).then_some(version)
}

fn relabelings(of: &Setting<'_>, server: &Alertmanager) -> Vec<Map> {
    let port = match &server.port {
        Port::Name(name) if !name.is_empty() => Some(keep(
            format!("__meta_kubernetes_{}_port_name", singular(of)),
            name,
        )),
        Port::Number(number) if *number != 0 => Some(keep(
            "__meta_kubernetes_pod_container_port_number",
            number.to_string(),
        )),
        _ => None,
    };
    let mut list = vec![keep("__meta_kubernetes_service_name", &server.name)];
    list.extend(port);
    list.extend(rules(&server.relabelings));
    list
}
