//! What of a Prometheus' spec can be followed.

use super::Checker;
use super::http::Ways;
use super::relabel;
use crate::api::{Alertmanager, PrometheusSpec, RemoteRead, ScrapeClass};
use crate::known::Known;
use crate::units;
use crate::version::Version;

/// A field that is not followed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// Its path, such as `spec.remoteRead[0]`.
    pub field: String,
    /// Why, and what to do.
    pub why: String,
}

/// The parts of a spec that can be followed, and those that cannot.
pub fn prometheus(
    known: &dyn Known,
    version: &Version,
    namespace: &str,
    spec: &PrometheusSpec,
) -> (PrometheusSpec, Vec<Refused>) {
    let checker = Checker {
        known,
        version,
        spec,
    };
    let mut left = spec.clone();
    let mut refused = Vec::new();
    let mut refuse = |field: String, why: String| {
        refused.push(Refused {
            field: format!("spec.{field}"),
            why,
        })
    };

    standard_durations(&mut left, &mut refuse);
    if let Err(why) = checker.timeout() {
        left.scrape_timeout.clear();
        refuse("scrapeTimeout".into(), why);
    }
    left.scrape_classes = keep(
        &spec.scrape_classes,
        "scrapeClasses",
        &mut refuse,
        |class| checker.scrape_class(namespace, class),
    );
    only_one_default(&mut left.scrape_classes, &mut refuse);
    left.remote_read = keep(&spec.remote_read, "remoteRead", &mut refuse, |server| {
        checker.remote_read(namespace, server)
    });
    if let Some(alerting) = &mut left.alerting {
        let servers = &alerting.alertmanagers;
        alerting.alertmanagers = keep(servers, "alerting.alertmanagers", &mut refuse, |server| {
            checker.alertmanager(namespace, server)
        });
    }
    if let Err(why) = checker.api_server(namespace) {
        refuse(
            "apiserverConfig".into(),
            format!("{why}; the configuration names it all the same"),
        );
    }
    if let Err(why) = checker.otlp() {
        left.otlp = None;
        refuse("otlp".into(), why);
    }
    if let Err(why) = checker.tracing(namespace) {
        left.tracing_config = None;
        refuse("tracingConfig".into(), why);
    }
    left.pod_target_labels = keep(
        &spec.pod_target_labels,
        "podTargetLabels",
        &mut refuse,
        |label| match relabel::is_takeable(version, label) {
            true => Ok(()),
            false => Err(format!("\"{label}\" is not the name of a label")),
        },
    );
    for (field, key) in [
        (
            "additionalScrapeConfigs",
            &mut left.additional_scrape_configs,
        ),
        (
            "additionalAlertRelabelConfigs",
            &mut left.additional_alert_relabel_configs,
        ),
        (
            "additionalAlertManagerConfigs",
            &mut left.additional_alert_manager_configs,
        ),
    ] {
        let Some(of) = key else { continue };
        if let Err(why) = known.secret(namespace, of) {
            let optional = of.optional == Some(true);
            *key = None;
            if !optional {
                refuse(field.into(), why);
            }
        }
    }
    (left, refused)
}

/// What is no duration has the value that holds where nothing is written.
fn standard_durations(left: &mut PrometheusSpec, refuse: &mut impl FnMut(String, String)) {
    let standard = PrometheusSpec::default();
    for (field, own, standard) in [
        (
            "scrapeInterval",
            &mut left.scrape_interval,
            standard.scrape_interval,
        ),
        (
            "evaluationInterval",
            &mut left.evaluation_interval,
            standard.evaluation_interval,
        ),
        ("retention", &mut left.retention, standard.retention),
    ] {
        if let Err(why) = units::duration(own)
            && !own.is_empty()
        {
            *own = standard;
            refuse(field.into(), why);
        }
    }
}

/// The items of a list that are in order; the others are refused, each by its index.
fn keep<T: Clone>(
    list: &[T],
    field: &str,
    refuse: &mut impl FnMut(String, String),
    check: impl Fn(&T) -> Result<(), String>,
) -> Vec<T> {
    let mut kept = Vec::new();
    for (at, item) in list.iter().enumerate() {
        match check(item) {
            Ok(()) => kept.push(item.clone()),
            Err(why) => refuse(format!("{field}[{at}]"), why),
        }
    }
    kept
}

fn only_one_default(classes: &mut [ScrapeClass], refuse: &mut impl FnMut(String, String)) {
    let defaults = classes
        .iter_mut()
        .filter(|class| class.default == Some(true));
    for second in defaults.skip(1) {
        second.default = None;
        let why = "another class is the default already: write default in one of them".to_owned();
        refuse(format!("scrapeClasses: {}", second.name), why);
    }
}

impl Checker<'_> {
    fn timeout(&self) -> Result<(), String> {
        match self.spec.scrape_timeout.as_str() {
            "" => Ok(()),
            timeout => units::timeout_within(timeout, &self.spec.scrape_interval),
        }
    }

    fn scrape_class(&self, namespace: &str, class: &ScrapeClass) -> Result<(), String> {
        let same = self
            .spec
            .scrape_classes
            .iter()
            .filter(|other| other.name == class.name);
        if same.count() > 1 {
            return Err(format!("two classes are called \"{}\"", class.name));
        }
        self.relabelings("relabelings", &class.relabelings)?;
        self.relabelings("metricRelabelings", &class.metric_relabelings)?;
        self.tls(namespace, class.tls_config.as_ref())?;
        self.authorization(namespace, class.authorization.as_ref())
    }

    fn remote_read(&self, namespace: &str, server: &RemoteRead) -> Result<(), String> {
        self.basic_auth(namespace, server.basic_auth.as_ref())?;
        self.oauth2(namespace, server.oauth2.as_ref())?;
        self.tls(namespace, server.tls_config.as_ref())?;
        self.authorization(namespace, server.authorization.as_ref())?;
        self.proxy(namespace, server.into())?;
        Ways {
            basic_auth: server.basic_auth.is_some(),
            oauth2: server.oauth2.is_some(),
            authorization: server.authorization.is_some(),
            bearer_token: !server.bearer_token.is_empty(),
            bearer_token_file: !server.bearer_token_file.is_empty(),
        }
        .one()
    }

    fn alertmanager(&self, namespace: &str, server: &Alertmanager) -> Result<(), String> {
        Ways {
            basic_auth: server.basic_auth.is_some(),
            authorization: server.authorization.is_some(),
            bearer_token_file: !server.bearer_token_file.is_empty(),
            ..Ways::default()
        }
        .one()?;
        let others = server.basic_auth.is_some()
            || server.authorization.is_some()
            || !server.bearer_token_file.is_empty();
        if server.sigv4.is_some() && others {
            return Err(
                "sigv4 and another way to authenticate are set; write one of them".to_owned(),
            );
        }
        self.relabelings("relabelings", &server.relabelings)?;
        self.relabelings("alertRelabelings", &server.alert_relabelings)?;
        self.basic_auth(namespace, server.basic_auth.as_ref())?;
        self.safe_authorization(namespace, server.authorization.as_ref())?;
        self.sigv4(namespace, server.sigv4.as_ref())?;
        self.tls(namespace, server.tls_config.as_ref())?;
        self.proxy(namespace, server.into())
    }

    fn api_server(&self, namespace: &str) -> Result<(), String> {
        let Some(server) = &self.spec.apiserver_config else {
            return Ok(());
        };
        self.basic_auth(namespace, server.basic_auth.as_ref())?;
        self.authorization(namespace, server.authorization.as_ref())?;
        self.tls(namespace, server.tls_config.as_ref())?;
        self.proxy(namespace, server.into())
    }

    fn tracing(&self, namespace: &str) -> Result<(), String> {
        let tracing = self.spec.tracing_config.as_ref();
        self.tls(
            namespace,
            tracing.and_then(|tracing| tracing.tls_config.as_ref()),
        )
    }

    fn otlp(&self) -> Result<(), String> {
        let Some(otlp) = &self.spec.otlp else {
            return Ok(());
        };
        let strategy = otlp.translation_strategy.as_deref();
        let legacy = self.spec.name_validation_scheme.as_deref() == Some("Legacy");
        let all = otlp.promote_all_resource_attributes == Some(true);
        let why = match () {
            () if !self.version.since(2, 55) => "it needs Prometheus 2.55 or newer",
            () if strategy == Some("NoUTF8EscapingWithSuffixes") && legacy => {
                "translationStrategy NoUTF8EscapingWithSuffixes does not go with nameValidationScheme Legacy"
            }
            () if strategy == Some("NoTranslation") && !self.version.since(3, 4) => {
                "translationStrategy NoTranslation needs Prometheus 3.4 or newer"
            }
            () if !self.version.since(3, 5) => return Ok(()),
            () if all && !otlp.promote_resource_attributes.is_empty() => {
                "promoteAllResourceAttributes and promoteResourceAttributes are set; write one of them"
            }
            () if !all && !otlp.ignore_resource_attributes.is_empty() => {
                "ignoreResourceAttributes needs promoteAllResourceAttributes"
            }
            () => return Ok(()),
        };
        Err(why.to_owned())
    }
}
