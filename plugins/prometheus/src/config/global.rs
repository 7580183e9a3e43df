//! What holds for all jobs.

use std::collections::BTreeMap;

use super::Setting;
use super::limits;
use crate::yaml::Map;

/// The folder of log files that are named without one.
pub(crate) const LOGS: &str = "/var/log/prometheus";

pub(super) fn section(of: &Setting<'_>) -> Map {
    let spec = of.spec;
    Map::new()
        .with("scrape_interval", &spec.scrape_interval)
        .filled("scrape_timeout", &spec.scrape_timeout)
        .maybe(
            "scrape_protocols",
            limits::protocols(of, &spec.scrape_protocols),
        )
        .with("external_labels", external_labels(of))
        .and(limits::global(of))
        .maybe(
            "scrape_failure_log_file",
            spec.scrape_failure_log_file
                .as_deref()
                .filter(|_| of.since(2, 55))
                .map(log_file),
        )
        .maybe(
            "metric_name_validation_scheme",
            spec.name_validation_scheme
                .as_ref()
                .filter(|_| of.since(3, 0))
                .map(|scheme| scheme.to_lowercase()),
        )
        .maybe(
            "metric_name_escaping_scheme",
            spec.name_escaping_scheme
                .as_deref()
                .filter(|_| of.since(3, 4))
                .and_then(escaping),
        )
        .maybe(
            "convert_classic_histograms_to_nhcb",
            spec.convert_classic_histograms_to_nhcb
                .filter(|_| of.since(3, 4)),
        )
        .maybe(
            "always_scrape_classic_histograms",
            spec.scrape_classic_histograms.filter(|_| of.since(3, 5)),
        )
        .with("evaluation_interval", &spec.evaluation_interval)
        .maybe(
            "rule_query_offset",
            spec.rule_query_offset.as_ref().filter(|_| of.since(2, 53)),
        )
        .filled("query_log_file", &query_log(of))
}

fn query_log(of: &Setting<'_>) -> String {
    match of.spec.query_log_file.as_str() {
        "" => String::new(),
        _ if !of.since(2, 16) => String::new(),
        file => log_file(file),
    }
}

/// Whether a log file is named without a folder, so that it needs a volume.
pub(crate) fn is_bare_file(file: &str) -> bool {
    !file.is_empty() && !file.contains('/')
}

fn log_file(file: &str) -> String {
    match is_bare_file(file) {
        true => format!("{LOGS}/{file}"),
        false => file.to_owned(),
    }
}

fn escaping(scheme: &str) -> Option<&'static str> {
    match scheme {
        "AllowUTF8" => Some("allow-utf-8"),
        "Underscores" => Some("underscores"),
        "Dots" => Some("dots"),
        "Values" => Some("values"),
        _ => None,
    }
}

/// The labels of samples that leave this Prometheus; the two reserved ones win over a user's.
fn external_labels(of: &Setting<'_>) -> Map {
    let spec = of.spec;
    let reserved = [
        (
            spec.prometheus_external_label_name
                .as_deref()
                .unwrap_or("prometheus"),
            format!("{}/{}", of.namespace, of.name),
        ),
        (replica_label(of), "$(POD_NAME)".to_owned()),
    ];
    let mut labels: BTreeMap<String, String> = spec.external_labels.clone();
    for (name, value) in reserved {
        if !name.is_empty() {
            labels.insert(name.to_owned(), value);
        }
    }
    let entries = labels.into_iter().map(|(name, value)| (name, value.into()));
    entries.collect()
}

/// The external label that tells replicas apart; empty for none.
pub(super) fn replica_label<'a>(of: &Setting<'a>) -> &'a str {
    let name = of.spec.replica_external_label_name.as_deref();
    name.unwrap_or("prometheus_replica")
}
