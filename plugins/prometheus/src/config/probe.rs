//! From a Probe to a scrape job.

use std::collections::BTreeMap;

use super::kubernetes::Discovery;
use super::pod_monitor::said;
use super::relabel::{copy, first, rules, selected, set, sharded};
use super::{Picked, Setting, limits};
use crate::api::{Ingress, ProbeSpec, StaticTargets};
use crate::yaml::{Map, Yaml};

const RESOURCE: &str = "probes";

type Monitor<'a> = Picked<'a, ProbeSpec>;

pub(super) fn job(of: &Setting<'_>, monitor: &Monitor<'_>) -> Map {
    let Picked {
        namespace,
        name,
        spec,
    } = *monitor;
    let class = of.class(spec.scrape_class.as_ref());
    let metric_rules = of.enforced(RESOURCE, (namespace, name), &spec.metric_relabelings);
    let metric_rules: Vec<_> = class
        .map_or(&[][..], |class| &class.metric_relabelings)
        .iter()
        .cloned()
        .chain(metric_rules)
        .collect();
    let params = params(spec);
    let enforced = &of.spec.enforced_body_size_limit;
    Map::new()
        .with("job_name", format!("probe/{namespace}/{name}"))
        .maybe("honor_timestamps", of.honor_timestamps(Some(true)))
        .with("metrics_path", &spec.prober.path)
        .filled("scrape_interval", &spec.interval)
        .filled("scrape_timeout", &spec.scrape_timeout)
        .filled("scheme", &spec.prober.scheme)
        .maybe("params", (!params.is_empty()).then_some(params))
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
            Some(enforced).filter(|limit| !limit.is_empty() && of.since(2, 28)),
        )
        .and(of.proxy(namespace, &spec.prober))
        .and(targets(of, monitor))
        .with("relabel_configs", relabelings(of, monitor))
        .and(client(of, monitor))
        .maybe(
            "metric_relabel_configs",
            (!metric_rules.is_empty()).then(|| rules(&metric_rules)),
        )
}

/// The parameters of the prober's URL; the module wins over a parameter of that name.
fn params(spec: &ProbeSpec) -> Map {
    let module =
        (!spec.module.is_empty()).then(|| ("module".to_owned(), vec![spec.module.clone()].into()));
    let others = spec
        .params
        .iter()
        .filter(|param| spec.module.is_empty() || param.name != "module");
    let others = others.map(|param| (param.name.clone(), param.values.as_slice().into()));
    module.into_iter().chain(others).collect()
}

fn targets(of: &Setting<'_>, monitor: &Monitor<'_>) -> Map {
    let targets = &monitor.spec.targets;
    match (&targets.static_config, &targets.ingress) {
        (Some(fixed), _) => Map::new().with(
            "static_configs",
            vec![static_config(monitor.namespace, fixed)],
        ),
        (None, Some(ingress)) => Map::new().with(
            "kubernetes_sd_configs",
            ingresses(of, monitor.namespace, ingress),
        ),
        (None, None) => Map::new(),
    }
}

fn static_config(namespace: &str, fixed: &StaticTargets) -> Map {
    let mut labels: BTreeMap<String, String> = fixed.labels.clone().unwrap_or_default();
    labels
        .entry("namespace".to_owned())
        .or_insert_with(|| namespace.to_owned());
    let labels: Map = labels
        .into_iter()
        .map(|(name, value)| (name, value.into()))
        .collect();
    let targets = fixed.targets.as_deref().unwrap_or_default();
    Map::new().with("targets", targets).with("labels", labels)
}

fn ingresses(of: &Setting<'_>, namespace: &str, ingress: &Ingress) -> Yaml {
    of.discovery(&Discovery {
        role: "ingress",
        namespace,
        within: &ingress.namespace_selector,
        attach: None,
        selector: None,
    })
}

fn relabelings(of: &Setting<'_>, monitor: &Monitor<'_>) -> Vec<Map> {
    let Picked {
        namespace,
        name,
        spec,
    } = *monitor;
    let class = of.class(spec.scrape_class.as_ref());
    let mut list = first();
    if !spec.job_name.is_empty() {
        list.push(set("job", &spec.job_name));
    }
    let own = match (&spec.targets.static_config, &spec.targets.ingress) {
        (Some(fixed), _) => {
            list.push(copy("__address__", "__param_target"));
            &fixed.relabeling_configs
        }
        (None, Some(ingress)) => {
            list.extend(of_ingress(ingress));
            &ingress.relabeling_configs
        }
        (None, None) => &Vec::new(),
    };
    list.push(copy("__param_target", "instance"));
    list.push(set("__address__", &spec.prober.url));
    list.extend(rules(class.map_or(&[][..], |class| &class.relabelings)));
    list.extend(rules(&of.enforced(RESOURCE, (namespace, name), own)));
    list.extend(sharded(of, "__param_target"));
    list
}

/// The URL of each host and path, and where the Ingress is.
fn of_ingress(ingress: &Ingress) -> Vec<Map> {
    let mut list = selected("ingress", &ingress.selector);
    list.push(
        Map::new()
            .with(
                "source_labels",
                [
                    "__meta_kubernetes_ingress_scheme",
                    "__address__",
                    "__meta_kubernetes_ingress_path",
                ],
            )
            .with("separator", ";")
            .with("regex", "(.+);(.+);(.+)")
            .with("target_label", "__param_target")
            .with("replacement", "${1}://${2}${3}")
            .with("action", "replace"),
    );
    list.push(copy("__meta_kubernetes_namespace", "namespace"));
    list.push(copy("__meta_kubernetes_ingress_name", "ingress"));
    list.push(
        Map::new()
            .with("source_labels", ["__address__"])
            .with("separator", ";")
            .with("regex", "(.*)")
            .with("target_label", "__tmp_ingress_address")
            .with("replacement", "$1")
            .with("action", "replace"),
    );
    list
}

fn client(of: &Setting<'_>, monitor: &Monitor<'_>) -> Map {
    let Picked {
        namespace, spec, ..
    } = *monitor;
    let class = of.class(spec.scrape_class.as_ref());
    let trust = of.trust(namespace, said(spec.tls_config.as_ref()), class);
    let header = of.header(namespace, spec.authorization.as_ref(), class);
    let token = Some(&spec.bearer_token_secret).filter(|key| !key.name.is_empty());
    Map::new()
        .maybe("tls_config", trust.map(|trust| of.tls(&trust)))
        .maybe(
            "bearer_token",
            token.and_then(|key| crate::known::value(of.known, namespace, key)),
        )
        .maybe(
            "basic_auth",
            spec.basic_auth
                .as_ref()
                .map(|auth| of.basic_auth(namespace, auth)),
        )
        .maybe(
            "oauth2",
            spec.oauth2
                .as_ref()
                .and_then(|oauth2| of.oauth2(namespace, oauth2)),
        )
        .maybe(
            "authorization",
            header.and_then(|header| of.authorization(&header)),
        )
}
