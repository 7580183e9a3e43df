//! The arguments of Prometheus.

use super::Blueprint;
use crate::api::Argument;
use crate::check::Refused;

/// What Prometheus is started with.
#[must_use]
pub fn arguments(of: &Blueprint<'_>) -> Vec<String> {
    let own = own(of);
    let additional = of
        .spec
        .additional_args
        .iter()
        .filter(|argument| !is_own(&own, argument));
    let all = own
        .iter()
        .cloned()
        .chain(additional.map(|argument| (argument.name.clone(), argument.value.clone())));
    all.map(|(name, value)| match value.as_str() {
        "" => format!("--{name}"),
        value => format!("--{name}={value}"),
    })
    .collect()
}

/// Additional arguments that are not followed, since they are this operator's.
#[must_use]
pub fn refused(of: &Blueprint<'_>) -> Vec<Refused> {
    let own = own(of);
    let arguments = of.spec.additional_args.iter().enumerate();
    arguments
        .filter(|(_, argument)| is_own(&own, argument))
        .map(|(at, argument)| Refused {
            field: format!("spec.additionalArgs[{at}]"),
            why: format!(
                "--{} is written by the operator: set the field of the spec that it follows from",
                argument.name
            ),
        })
        .collect()
}

fn is_own(own: &[(String, String)], argument: &Argument) -> bool {
    let bare = |name: &str| name.trim_start_matches("no-").to_owned();
    own.iter()
        .any(|(name, _)| bare(name) == bare(&argument.name))
}

/// Arguments in the making.
#[derive(Default)]
struct List(Vec<(String, String)>);

impl List {
    fn add(&mut self, name: &str, value: &str) {
        self.0.push((name.to_owned(), value.to_owned()));
    }

    fn flag(&mut self, name: &str) {
        self.add(name, "");
    }

    fn some(&mut self, name: &str, value: Option<impl ToString>) {
        if let Some(value) = value {
            self.add(name, &value.to_string());
        }
    }

    fn filled(&mut self, name: &str, value: &str) {
        if !value.is_empty() {
            self.add(name, value);
        }
    }
}

fn own(of: &Blueprint<'_>) -> Vec<(String, String)> {
    let mut list = List::default();
    server(of, &mut list);
    storage(of, &mut list);
    rules_and_queries(of, &mut list);
    compaction(of, &mut list);
    list.0
}

fn server(of: &Blueprint<'_>, list: &mut List) {
    let (spec, version) = (of.spec, of.version);
    list.add(
        "config.file",
        "/etc/prometheus/config_out/prometheus.env.yaml",
    );
    if version.major() == 2 {
        list.add("web.console.templates", "/etc/prometheus/consoles");
        list.add("web.console.libraries", "/etc/prometheus/console_libraries");
    }
    list.flag("web.enable-lifecycle");
    if let Some(web) = &spec.web {
        list.some(
            "web.page-title",
            web.page_title.as_ref().filter(|_| version.since(2, 6)),
        );
        list.some("web.max-connections", web.max_connections);
    }
    if spec.enable_remote_write_receiver && version.since(2, 33) {
        list.flag("web.enable-remote-write-receiver");
        let messages = messages(&spec.remote_write_receiver_message_versions);
        if version.since(2, 54) {
            list.filled(
                "web.remote-write-receiver.accepted-protobuf-messages",
                &messages,
            );
        }
    }
    if spec.enable_otlp_receiver.unwrap_or(spec.otlp.is_some()) {
        match version.major() {
            2 if version.since(2, 47) => list.add("enable-feature", "otlp-write-receiver"),
            2 => {}
            _ => list.flag("web.enable-otlp-receiver"),
        }
    }
    if version.since(2, 25) {
        list.filled("enable-feature", &spec.enable_features.join(","));
    }
    list.filled("web.external-url", &spec.external_url);
    list.add("web.route-prefix", &of.prefix());
    list.filled(
        "log.level",
        Some(spec.log_level.as_str())
            .filter(|level| *level != "info")
            .unwrap_or_default(),
    );
    list.filled(
        "log.format",
        Some(spec.log_format.as_str())
            .filter(|format| *format != "logfmt")
            .unwrap_or_default(),
    );
    if spec.listen_local {
        list.add("web.listen-address", "127.0.0.1:9090");
    }
}

fn messages(versions: &[String]) -> String {
    let names = versions.iter().map(|version| match version.as_str() {
        "V2.0" => "io.prometheus.write.v2.Request",
        _ => "prometheus.WriteRequest",
    });
    names.collect::<Vec<_>>().join(",")
}

fn storage(of: &Blueprint<'_>, list: &mut List) {
    let (spec, version) = (of.spec, of.version);
    let by_time = version.since(2, 7);
    let flag = match by_time {
        true => "storage.tsdb.retention.time",
        false => "storage.tsdb.retention",
    };
    let retention = match spec.retention.as_str() {
        "" if spec.retention_size.is_empty() || !by_time => "24h",
        retention => retention,
    };
    list.filled(flag, retention);
    if by_time {
        list.filled("storage.tsdb.retention.size", &spec.retention_size);
    }
    list.add("storage.tsdb.path", "/prometheus");
    if spec.enable_admin_api {
        list.flag("web.enable-admin-api");
    }
}

fn rules_and_queries(of: &Blueprint<'_>, list: &mut List) {
    let (spec, version) = (of.spec, of.version);
    let alert = &spec.rules.alert;
    list.filled(
        "rules.alert.for-outage-tolerance",
        &alert.for_outage_tolerance,
    );
    list.filled("rules.alert.for-grace-period", &alert.for_grace_period);
    list.filled("rules.alert.resend-delay", &alert.resend_delay);
    if let Some(query) = &spec.query {
        list.some("query.lookback-delta", query.lookback_delta.as_ref());
        list.some(
            "query.max-samples",
            query.max_samples.filter(|most| *most > 0),
        );
        list.some(
            "query.max-concurrency",
            query.max_concurrency.filter(|most| *most > 1),
        );
        list.some("query.timeout", query.timeout.as_ref());
    }
    if spec.allow_overlapping_blocks && version.since(2, 11) && !version.since(2, 39) {
        list.flag("storage.tsdb.allow-overlapping-blocks");
    }
    if let Some(compressed) = spec.wal_compression.filter(|_| version.since(2, 11)) {
        list.flag(match compressed {
            true => "storage.tsdb.wal-compression",
            false => "no-storage.tsdb.wal-compression",
        });
    }
}

fn compaction(of: &Blueprint<'_>, list: &mut List) {
    if !of.spec.disable_compaction {
        return;
    }
    list.add("storage.tsdb.max-block-duration", "2h");
    list.add("storage.tsdb.min-block-duration", "2h");
    let window = of
        .spec
        .tsdb
        .as_ref()
        .and_then(|tsdb| tsdb.out_of_order_time_window.as_ref());
    if window.is_some() && of.version.since(2, 55) {
        list.flag("no-storage.tsdb.allow-overlapping-compaction");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::PrometheusSpec;
    use crate::names::Names;
    use crate::version::Version;

    fn of(spec: &str, version: &str) -> (Vec<String>, usize) {
        let spec: PrometheusSpec = serde_json::from_str(spec).unwrap();
        let (names, version) = (Names::of("main"), Version::parse(version).unwrap());
        let blueprint = Blueprint {
            names: &names,
            spec: &spec,
            labels: Default::default(),
            version: &version,
            reloader: "",
            rules: &[],
        };
        (arguments(&blueprint), refused(&blueprint).len())
    }

    #[test]
    fn retention_is_a_day_unless_time_or_size_is_set() {
        for (spec, wanted) in [
            ("{}", "--storage.tsdb.retention.time=24h"),
            (
                r#"{"retention": "15d"}"#,
                "--storage.tsdb.retention.time=15d",
            ),
            (
                r#"{"retentionSize": "5GB"}"#,
                "--storage.tsdb.retention.size=5GB",
            ),
        ] {
            let (arguments, _) = of(spec, "v3.5.0");
            let retention: Vec<_> = arguments
                .iter()
                .filter(|argument| argument.contains("retention"))
                .collect();
            assert_eq!(retention, [wanted]);
        }
    }

    #[test]
    fn an_argument_of_the_operator_is_not_overridden() {
        let (arguments, refused) = of(
            r#"{"additionalArgs": [{"name": "web.enable-lifecycle"}, {"name": "scrape.x", "value": "1"}]}"#,
            "v2.55.0",
        );
        assert_eq!(refused, 1);
        assert!(arguments.contains(&"--scrape.x=1".to_owned()));
        assert_eq!(
            arguments
                .iter()
                .filter(|argument| argument.contains("lifecycle"))
                .count(),
            1
        );
        assert!(
            arguments
                .contains(&"--web.console.libraries=/etc/prometheus/console_libraries".to_owned())
        );
    }
}
