//! From a PodMonitor to scrape jobs.

use super::kubernetes::Discovery;
use super::relabel::{
    copy, copy_filled, first, keep, rules, running, sanitized, selected, set, sharded, taken,
};
use super::service_monitor::{container_port, params};
use super::{Picked, Setting, limits};
use crate::api::{PodEndpoint, PodMonitorSpec, SafeTls, Tls};
use crate::yaml::{Map, Yaml};

const RESOURCE: &str = "podmonitors";

type Monitor<'a> = Picked<'a, PodMonitorSpec>;

pub(super) fn jobs(of: &Setting<'_>, monitor: &Monitor<'_>) -> Vec<Map> {
    let endpoints = monitor.spec.pod_metrics_endpoints.iter().enumerate();
    endpoints
        .map(|(at, endpoint)| job(of, monitor, endpoint, at))
        .collect()
}

fn job(of: &Setting<'_>, monitor: &Monitor<'_>, endpoint: &PodEndpoint, at: usize) -> Map {
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
        .with("job_name", format!("podMonitor/{namespace}/{name}/{at}"))
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

fn discovery(of: &Setting<'_>, monitor: &Monitor<'_>) -> Yaml {
    let spec = monitor.spec;
    let class = of.class(spec.scrape_class.as_ref());
    let by_server = spec.selector_mechanism.as_deref() == Some("RoleSelector");
    of.discovery(&Discovery {
        role: "pod",
        namespace: monitor.namespace,
        within: &spec.namespace_selector,
        attach: of
            .attached(spec.attach_metadata.as_ref(), class)
            .filter(|_| of.since(2, 35)),
        selector: by_server.then(|| (&spec.selector, vec!["pod"])),
    })
}

/// A monitor's TLS where it says anything.
pub(super) fn said(tls: Option<&SafeTls>) -> Option<Tls> {
    tls.filter(|tls| **tls != SafeTls::default()).map(Tls::from)
}

fn client(of: &Setting<'_>, monitor: &Monitor<'_>, endpoint: &PodEndpoint) -> Map {
    let namespace = monitor.namespace;
    let class = of.class(monitor.spec.scrape_class.as_ref());
    let trust = of.trust(namespace, said(endpoint.tls_config.as_ref()), class);
    let header = of.header(namespace, endpoint.authorization.as_ref(), class);
    let token = Some(&endpoint.bearer_token_secret).filter(|key| !key.name.is_empty());
    Map::new()
        .maybe("tls_config", trust.map(|trust| of.tls(&trust)))
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
            "oauth2",
            endpoint
                .oauth2
                .as_ref()
                .and_then(|oauth2| of.oauth2(namespace, oauth2)),
        )
        .and(of.proxy(namespace, endpoint))
        .maybe(
            "authorization",
            header.and_then(|header| of.authorization(&header)),
        )
}

fn relabelings(of: &Setting<'_>, monitor: &Monitor<'_>, endpoint: &PodEndpoint) -> Vec<Map> {
    let Picked {
        namespace,
        name,
        spec,
    } = *monitor;
    let class = of.class(spec.scrape_class.as_ref());
    let mut list = first();
    if endpoint.filter_running.unwrap_or(true) {
        list.push(running());
    }
    if spec.selector_mechanism.as_deref() != Some("RoleSelector") {
        list.extend(selected("pod", &spec.selector));
    }
    list.extend(port(endpoint));
    list.push(copy("__meta_kubernetes_namespace", "namespace"));
    list.push(copy("__meta_kubernetes_pod_container_name", "container"));
    list.push(copy("__meta_kubernetes_pod_name", "pod"));
    list.extend(taken(
        "pod",
        spec.pod_target_labels
            .iter()
            .chain(&of.spec.pod_target_labels),
    ));
    list.push(set("job", format!("{namespace}/{name}")));
    if !spec.job_label.is_empty() {
        let label = sanitized(&spec.job_label);
        list.push(copy_filled(
            format!("__meta_kubernetes_pod_label_{label}"),
            "job",
        ));
    }
    list.extend(endpoint_label(endpoint));
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
fn port(endpoint: &PodEndpoint) -> Option<Map> {
    let name = endpoint.port.as_deref().unwrap_or_default();
    match (name, endpoint.port_number.unwrap_or_default()) {
        ("", 0) => container_port(endpoint.target_port.as_ref()),
        ("", number) => Some(keep("__meta_kubernetes_pod_container_port_number", number)),
        (name, _) => Some(keep(
            "__meta_kubernetes_pod_container_port_name",
            name.to_owned(),
        )),
    }
}

/// The label endpoint. A port by number alone gives none.
fn endpoint_label(endpoint: &PodEndpoint) -> Option<Map> {
    let named = endpoint.port.clone().filter(|name| !name.is_empty());
    let port = named.or_else(|| endpoint.target_port.as_ref().map(ToString::to_string))?;
    (!port.is_empty()).then(|| set("endpoint", port))
}
