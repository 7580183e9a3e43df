//! From a ServiceMonitor to scrape jobs.

use super::kubernetes::Discovery;
use super::relabel::{
    copy, copy_filled, first, keep, rules, running, selected, set, sharded, taken,
};
use super::{Picked, Setting, limits};
use crate::api::{Port, ServiceEndpoint, ServiceMonitorSpec};
use crate::yaml::{Map, Yaml};

const RESOURCE: &str = "servicemonitors";

type Monitor<'a> = Picked<'a, ServiceMonitorSpec>;

pub(super) fn jobs(of: &Setting<'_>, monitor: &Monitor<'_>) -> Vec<Map> {
    let endpoints = monitor.spec.endpoints.iter().enumerate();
    endpoints
        .map(|(at, endpoint)| job(of, monitor, endpoint, at))
        .collect()
}

fn job(of: &Setting<'_>, monitor: &Monitor<'_>, endpoint: &ServiceEndpoint, at: usize) -> Map {
    let Picked {
        namespace,
        name,
        spec,
    } = *monitor;
    let class = of.class(spec.scrape_class.as_ref());
    let metric_rules = of.enforced(RESOURCE, (namespace, name), &endpoint.metric_relabelings);
    let metric_rules: Vec<_> = class
        .map_or(&[][..], |class| &class.metric_relabelings)
        .iter()
        .cloned()
        .chain(metric_rules)
        .collect();
    Map::new()
        .with(
            "job_name",
            format!("serviceMonitor/{namespace}/{name}/{at}"),
        )
        .with(
            "honor_labels",
            endpoint.honor_labels && !of.spec.override_honor_labels,
        )
        .maybe(
            "honor_timestamps",
            of.honor_timestamps(endpoint.honor_timestamps),
        )
        .maybe(
            "track_timestamps_staleness",
            endpoint
                .track_timestamps_staleness
                .filter(|_| of.since(2, 48)),
        )
        .with("kubernetes_sd_configs", discovery(of, monitor))
        .filled("scrape_interval", &endpoint.interval)
        .filled("scrape_timeout", &endpoint.scrape_timeout)
        .filled("metrics_path", &endpoint.path)
        .maybe("params", endpoint.params.as_ref().map(params))
        .filled("scheme", &endpoint.scheme)
        .maybe(
            "follow_redirects",
            endpoint.follow_redirects.filter(|_| of.since(2, 26)),
        )
        .maybe(
            "enable_http2",
            endpoint.enable_http2.filter(|_| of.since(2, 35)),
        )
        .and(client(of, monitor, endpoint))
        .with("relabel_configs", relabelings(of, monitor, endpoint))
        .and(limits::job(of, &spec.limits()))
        .and(limits::histograms(of, &spec.histograms()))
        .maybe(
            "scrape_protocols",
            limits::protocols(of, &spec.scrape_protocols),
        )
        .maybe(
            "fallback_scrape_protocol",
            of.fallback(spec.fallback_scrape_protocol.as_ref(), class),
        )
        .maybe(
            "body_size_limit",
            limits::body_size(of, spec.body_size_limit.as_ref()),
        )
        .maybe(
            "metric_relabel_configs",
            (!metric_rules.is_empty()).then(|| rules(&metric_rules)),
        )
}

/// Parameters of a URL.
pub(super) fn params(params: &std::collections::BTreeMap<String, Vec<String>>) -> Map {
    params
        .iter()
        .map(|(name, values)| (name.clone(), values.as_slice().into()))
        .collect()
}

fn discovery(of: &Setting<'_>, monitor: &Monitor<'_>) -> Yaml {
    let spec = monitor.spec;
    let role = of.endpoints_role();
    let class = of.class(spec.scrape_class.as_ref());
    let by_server = spec.selector_mechanism.as_deref() == Some("RoleSelector");
    of.discovery(&Discovery {
        role,
        namespace: monitor.namespace,
        within: &spec.namespace_selector,
        attach: of
            .attached(spec.attach_metadata.as_ref(), class)
            .filter(|_| of.since(2, 37)),
        selector: by_server.then(|| (&spec.selector, vec![role, "service"])),
    })
}

fn client(of: &Setting<'_>, monitor: &Monitor<'_>, endpoint: &ServiceEndpoint) -> Map {
    let namespace = monitor.namespace;
    let class = of.class(monitor.spec.scrape_class.as_ref());
    let trust = of.trust(namespace, endpoint.tls_config.clone(), class);
    let header = of.header(namespace, endpoint.authorization.as_ref(), class);
    let token = endpoint
        .bearer_token_secret
        .as_ref()
        .filter(|key| !key.name.is_empty());
    of.proxy(namespace, endpoint)
        .maybe(
            "oauth2",
            endpoint
                .oauth2
                .as_ref()
                .and_then(|oauth2| of.oauth2(namespace, oauth2)),
        )
        .maybe("tls_config", trust.map(|trust| of.tls(&trust)))
        .filled("bearer_token_file", &endpoint.bearer_token_file)
        .maybe(
            "bearer_token",
            token.and_then(|key| crate::known::value(of.known, namespace, key)),
        )
        .maybe(
            "basic_auth",
            endpoint
                .basic_auth
                .as_ref()
                .map(|auth| of.basic_auth(namespace, auth)),
        )
        .maybe(
            "authorization",
            header.and_then(|header| of.authorization(&header)),
        )
}

fn relabelings(of: &Setting<'_>, monitor: &Monitor<'_>, endpoint: &ServiceEndpoint) -> Vec<Map> {
    let Picked {
        namespace,
        name,
        spec,
    } = *monitor;
    let class = of.class(spec.scrape_class.as_ref());
    let mut list = first();
    if spec.selector_mechanism.as_deref() != Some("RoleSelector") {
        list.extend(selected("service", &spec.selector));
    }
    list.extend(port(of, endpoint));
    list.extend(places(of));
    if endpoint.filter_running.unwrap_or(true) {
        list.push(running());
    }
    list.extend(taken("service", &spec.target_labels));
    list.extend(taken(
        "pod",
        spec.pod_target_labels
            .iter()
            .chain(&of.spec.pod_target_labels),
    ));
    list.push(copy("__meta_kubernetes_service_name", "job").with("replacement", "${1}"));
    if !spec.job_label.is_empty() {
        let label = super::relabel::sanitized(&spec.job_label);
        list.push(copy_filled(
            format!("__meta_kubernetes_service_label_{label}"),
            "job",
        ));
    }
    let port = match (endpoint.port.as_str(), &endpoint.target_port) {
        ("", Some(port)) => port.to_string(),
        (port, _) => port.to_owned(),
    };
    if !port.is_empty() {
        list.push(set("endpoint", port));
    }
    list.extend(rules(class.map_or(&[][..], |class| &class.relabelings)));
    list.extend(rules(&of.enforced(
        RESOURCE,
        (namespace, name),
        &endpoint.relabelings,
    )));
    list.extend(sharded(of, "__address__"));
    list
}

/// Only the port that is asked for.
fn port(of: &Setting<'_>, endpoint: &ServiceEndpoint) -> Option<Map> {
    match (endpoint.port.as_str(), &endpoint.target_port) {
        ("", target) => container_port(target.as_ref()),
        (port, _) => Some(keep(
            format!("__meta_kubernetes_{}_port_name", singular(of)),
            port.to_owned(),
        )),
    }
}

/// Only the container's port, by name or number.
pub(super) fn container_port(target: Option<&Port>) -> Option<Map> {
    match target? {
        Port::Name(name) if !name.is_empty() => {
            Some(keep("__meta_kubernetes_pod_container_port_name", name))
        }
        Port::Number(number) if *number != 0 => {
            Some(keep("__meta_kubernetes_pod_container_port_number", *number))
        }
        _ => None,
    }
}

/// What Prometheus calls an endpoint in its labels.
pub(super) fn singular(of: &Setting<'_>) -> &'static str {
    match of.endpoints_role() {
        "endpointslice" => "endpointslice",
        _ => "endpoint",
    }
}

/// Where a target is: node, Pod, namespace, Service, container.
fn places(of: &Setting<'_>) -> Vec<Map> {
    let endpoint = singular(of);
    let target = |kind: &str, label: &'static str| {
        Map::new()
            .with(
                "source_labels",
                vec![
                    format!("__meta_kubernetes_{endpoint}_address_target_kind"),
                    format!("__meta_kubernetes_{endpoint}_address_target_name"),
                ],
            )
            .with("separator", ";")
            .with("regex", format!("{kind};(.*)"))
            .with("replacement", "${1}")
            .with("target_label", label)
    };
    vec![
        target("Node", "node"),
        target("Pod", "pod"),
        copy("__meta_kubernetes_namespace", "namespace"),
        copy("__meta_kubernetes_service_name", "service"),
        copy("__meta_kubernetes_pod_name", "pod"),
        copy("__meta_kubernetes_pod_container_name", "container"),
    ]
}

impl Setting<'_> {
    /// Whether the time stamps of a target hold; said only where a user or the Prometheus says so.
    pub(super) fn honor_timestamps(&self, own: Option<bool>) -> Option<bool> {
        let overridden = self.spec.override_honor_timestamps;
        let said = own.is_some() || overridden;
        said.then(|| own.unwrap_or(false) && !overridden)
            .filter(|_| self.since(2, 9))
    }
}
