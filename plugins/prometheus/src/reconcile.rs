//! One call: ask, check, generate, plan.

use std::collections::BTreeMap;
use std::time::Duration;

use k8s_openapi::api::apps::v1::StatefulSet;
use k8s_openapi::api::core::v1::{ConfigMap, PersistentVolumeClaim, Secret};
use kube::Resource;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use windlass_sdk::{
    Action, Child, Context, Controller, Error, Partial, Plan, Query, Step, fingerprint,
};

use crate::api::status::PrometheusStatus;
use crate::api::{Prometheus, PrometheusSpec};
use crate::check::{self, Checker, Refused};
use crate::config::{self, Selected, Setting};
use crate::digest::digest;
use crate::facts::{Asking, Objects};
use crate::names::{GOVERNING, Names, REVISION, RULES_OF};
use crate::pick::Verdicts;
use crate::pods::{self, Pods};
use crate::report::{self, Findings};
use crate::rules;
use crate::settings::PluginConfig;
use crate::units;
use crate::version::{self, Version};
use crate::workload::{self, Blueprint, Live};
use crate::yaml::Piece;

/// Between two looks at Pods that should soon run what is written.
const SOON: Duration = Duration::from_secs(1);
/// How long that is soon: a kubelet brings a changed Secret to a marked Pod within seconds.
const AT_FIRST: Duration = Duration::from_secs(120);
/// Between two looks after that.
const LATER: Duration = Duration::from_secs(10);

/// Decides about objects of the kind Prometheus.
pub struct PrometheusController;

impl Controller for PrometheusController {
    type Object = Prometheus;

    fn reconcile(&self, prometheus: &Prometheus, cx: &Context<'_>) -> Result<Plan, Error> {
        let read = prometheus
            .spec
            .as_ref()
            .map_err(|why| Error::Invalid(why.clone()))?;
        let names = Names::of(cx.name());
        if read.spec.paused {
            return paused(prometheus, cx, &names);
        }
        let round = Round {
            cx,
            prometheus,
            spec: &read.spec,
            names: &names,
        };
        round.plan(&read.ignored)
    }
}

/// A Prometheus that a user wants left alone: everything that is there is named, nothing is changed.
fn paused(prometheus: &Prometheus, cx: &Context<'_>, names: &Names) -> Result<Plan, Error> {
    let mut plan = Plan::new();
    keep::<Secret>(cx, &mut plan, &names.base())?;
    keep::<Secret>(cx, &mut plan, &names.tls_assets())?;
    for number in 0.. {
        if !keep::<ConfigMap>(cx, &mut plan, &names.rules(number))? {
            break;
        }
    }
    keep::<StatefulSet>(cx, &mut plan, &names.base())?;
    plan.child(Child::of(&workload::governing())?.shared());
    let status = prometheus.status::<PrometheusStatus>().unwrap_or_default();
    plan.status(&PrometheusStatus {
        paused: true,
        windlass: None,
        ..status
    })?;
    Ok(plan)
}

/// Names a child that is there, so that it stays as it is.
fn keep<K>(cx: &Context<'_>, plan: &mut Plan, name: &str) -> Result<bool, Error>
where
    K: Resource<DynamicType = ()> + DeserializeOwned,
{
    let there = cx.child::<Partial<K, Value>>(name)?.is_some();
    if there {
        let manifest = json!({
            "apiVersion": K::api_version(&()),
            "kind": K::kind(&()),
            "metadata": {"name": name},
        });
        plan.child(Child::of(&manifest)?.created_only());
    }
    Ok(there)
}

/// What one round is about.
struct Round<'r> {
    cx: &'r Context<'r>,
    prometheus: &'r Prometheus,
    spec: &'r PrometheusSpec,
    names: &'r Names,
}

impl Round<'_> {
    fn plan(&self, ignored: &[String]) -> Result<Plan, Error> {
        let cx = self.cx;
        let config: PluginConfig = cx.config()?;
        let version = self.version()?;
        let objects = Objects::ask(cx, self.spec);
        let pods = pods::ask(cx, self.names);
        let claims = cx
            .objects::<PersistentVolumeClaim>(Query::selector(&self.names.selector()))
            .get();
        let (objects, pods, claims) = (objects?, pods?, claims?);

        let asking = Asking::new(cx);
        let (spec, mut refused) = check::prometheus(&asking, &version, cx.namespace(), self.spec);
        let setting = self.setting(&spec, &version, &asking);
        let checker = Checker {
            known: &asking,
            version: &version,
            spec: &spec,
        };
        let mut verdicts = Verdicts::default();
        let rule_files = verdicts.pick_rules(&objects.rules, &setting);
        let rule_files = rule_files
            .into_iter()
            .map(|(name, file)| (name, file.text()))
            .collect();
        let packed = if spec.rule_selector.is_some() {
            rules::pack(rule_files)
        } else {
            Vec::new()
        };
        let rule_maps: Vec<String> = (0..packed.len())
            .map(|number| self.names.rules(number))
            .collect();
        let selected = Selected {
            service_monitors: verdicts.pick("ServiceMonitor", &objects.service_monitors, &checker),
            pod_monitors: verdicts.pick("PodMonitor", &objects.pod_monitors, &checker),
            probes: verdicts.pick("Probe", &objects.probes, &checker),
            rule_files: rule_maps.clone(),
        };
        let written = config::write(&setting, &selected);
        asking.complete()?;

        let blueprint = Blueprint {
            names: self.names,
            spec: &spec,
            labels: self.prometheus.metadata.labels.clone().unwrap_or_default(),
            version: &version,
            reloader: &config.reloader_image,
            rules: &rule_maps,
        };
        refused.extend(workload::refused_arguments(&blueprint));
        refused.extend(wrong_selectors(&objects));
        let mut plan = Plan::new();
        let mut revisions = BTreeMap::new();
        let managed = is_managed(self.spec, ignored);
        let configuration = managed.then_some(written.pieces);
        if let Some(revision) = self.add_configuration(&mut plan, configuration, &asking)? {
            revisions.insert("config".to_owned(), revision);
        }
        let assets = workload::tls_assets(self.names, &written.assets);
        plan.child(Child::of(&assets)?);
        for (name, files) in rule_maps.iter().zip(packed) {
            let revision = fingerprint(files.iter().flat_map(|(name, text)| [name, text]));
            plan.child(Child::of(&rules_map(cx.name(), name, files, &revision))?);
            revisions.insert(name.clone(), revision);
        }
        if workload::custom(&blueprint).is_none() {
            plan.child(Child::of(&workload::governing())?.shared());
        }
        let live = self.live()?;
        plan.child(
            Child::of(&workload::stateful_set(&blueprint, &live))?.recreated_around_dependents(),
        );

        let findings = Findings {
            managed,
            ignored: unsupported(ignored, &verdicts, self.spec),
            verdicts: &verdicts,
            pods: &pods,
            revisions: &revisions,
            wanted: blueprint.replicas(),
            set: cx.child(&self.names.base())?,
        };
        report::report(self.prometheus, cx, self.names, &findings, &mut plan)?;
        for Refused { field, why } in refused {
            plan.refuse(field, why);
        }
        plan.step(Step::of(refreshes(&pods, &revisions)));
        plan.step(Step::of(growth(&blueprint, &claims)));
        // Of a Pod that comes to be, or becomes ready, the watch tells; of what runs in it, nobody does.
        if pods.some_may_follow(&revisions) {
            plan.requeue_after(self.next_look());
        }
        Ok(plan)
    }

    /// How long to wait for Pods that do not run what they should.
    fn next_look(&self) -> Duration {
        let status = self.prometheus.status::<PrometheusStatus>();
        let conditions = status.map(|status| status.conditions).unwrap_or_default();
        let waited = conditions
            .iter()
            .find(|known| known.type_ == report::RECONCILED && known.status == "False")
            .map(|known| known.last_transition_time.0.as_millisecond())
            .and_then(|since| self.cx.now().checked_sub(u64::try_from(since).ok()?))
            .map(Duration::from_millis);
        match waited {
            Some(waited) if waited > AT_FIRST => LATER,
            _ => SOON,
        }
    }

    /// Adds the Secret with the configuration, and returns its revision; or an empty one for the user to fill.
    fn add_configuration(
        &self,
        plan: &mut Plan,
        pieces: Option<Vec<Piece>>,
        asking: &Asking<'_>,
    ) -> Result<Option<String>, Error> {
        let Some(pieces) = pieces else {
            let empty = Child::of(&workload::unmanaged(self.names))?;
            plan.child(empty.created_only().gzip(workload::CONFIGURATION));
            return Ok(None);
        };
        let revision = crate::workload::revision(&pieces, &asking.digests());
        let secret = workload::configuration(self.names, pieces, &revision);
        plan.child(Child::of(&secret)?.gzip(workload::CONFIGURATION));
        Ok(Some(revision))
    }

    fn version(&self) -> Result<Version, Error> {
        let text = match self.spec.version.as_str() {
            "" => version::DEFAULT,
            text => text,
        };
        Version::parse(text).map_err(|why| Error::Invalid(format!("spec.version: {why}")))
    }

    fn setting<'s>(
        &'s self,
        spec: &'s PrometheusSpec,
        version: &Version,
        known: &'s Asking<'_>,
    ) -> Setting<'s> {
        Setting {
            namespace: self.cx.namespace(),
            name: self.cx.name(),
            spec,
            version: version.clone(),
            endpoint_slices: true,
            classes: spec
                .scrape_classes
                .iter()
                .map(|class| (class.name.as_str(), class))
                .collect(),
            known,
        }
    }

    /// What of the live StatefulSet matters.
    fn live(&self) -> Result<Live, Error> {
        let set: Option<StatefulSet> = self.cx.child(&self.names.base())?;
        let Some(set) = set else {
            return Ok(Live::default());
        };
        let template = set
            .metadata
            .annotations
            .and_then(|mut all| all.remove(crate::names::TEMPLATE));
        let pod = set.spec.and_then(|spec| spec.template.spec);
        let reloader = pod
            .into_iter()
            .flat_map(|pod| pod.containers)
            .find(|container| container.name == "config-reloader");
        Ok(Live {
            template,
            reloader: reloader.and_then(|container| container.image),
        })
    }
}

/// Where no selector of monitors is set, the user writes the configuration.
fn is_managed(spec: &PrometheusSpec, ignored: &[String]) -> bool {
    spec.service_monitor_selector.is_some()
        || spec.pod_monitor_selector.is_some()
        || spec.probe_selector.is_some()
        || ignored
            .iter()
            .any(|path| path.starts_with("scrapeConfigSelector"))
}

/// What is set and does not work yet.
fn unsupported(ignored: &[String], verdicts: &Verdicts, spec: &PrometheusSpec) -> Vec<String> {
    let mut list: Vec<String> = ignored.iter().map(|path| format!("spec.{path}")).collect();
    if spec.shards.is_some_and(|shards| shards > 1) {
        list.push("spec.shards (1 is run)".to_owned());
    }
    if spec.reload_strategy.as_deref() == Some("ProcessSignal") {
        list.push("spec.reloadStrategy ProcessSignal (HTTP is used)".to_owned());
    }
    if !spec.enforced_namespace_label.is_empty() && spec.rule_selector.is_some() {
        list.push("spec.enforcedNamespaceLabel on PrometheusRules".to_owned());
    }
    if !matches!(spec.port_name.as_str(), "" | "web") && spec.service_name.is_none() {
        list.push(format!(
            "spec.portName {} on the Service {GOVERNING}",
            spec.port_name
        ));
    }
    list.extend(verdicts.ignored.iter().cloned());
    list
}

fn wrong_selectors(objects: &Objects) -> Vec<Refused> {
    let wrong = [
        ("serviceMonitorSelector", &objects.service_monitors.wrong),
        ("podMonitorSelector", &objects.pod_monitors.wrong),
        ("probeSelector", &objects.probes.wrong),
        ("ruleSelector", &objects.rules.wrong),
    ];
    let refused = wrong.into_iter().filter_map(|(field, why)| {
        let why = why.clone()?;
        Some(Refused {
            field: format!("spec.{field}"),
            why,
        })
    });
    refused.collect()
}

fn rules_map(
    prometheus: &str,
    name: &str,
    mut files: BTreeMap<String, String>,
    revision: &str,
) -> Value {
    files.insert("revision".to_owned(), revision.to_owned());
    json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "labels": {RULES_OF: prometheus}},
        "data": files,
    })
}

/// Annotates Pods that do not run what they should: the kubelet then looks at what they mount at once.
fn refreshes(pods: &Pods, revisions: &BTreeMap<String, String>) -> Vec<Action> {
    let revision = digest(revisions);
    let stale = pods
        .list
        .iter()
        .filter(|pod| !pod.runs(revisions) && !pod.is_marked(&revision));
    stale
        .map(|pod| {
            let patch = json!({"metadata": {"annotations": {REVISION: revision}}});
            Action::patch(format!("refresh/{}", pod.name), &pod.object, &patch)
        })
        .collect()
}

/// Claims that are smaller than wanted grow.
fn growth(of: &Blueprint<'_>, claims: &[PersistentVolumeClaim]) -> Vec<Action> {
    let Some((quantity, bytes)) = workload::wanted_size(of) else {
        return Vec::new();
    };
    let size = |claim: &PersistentVolumeClaim| {
        let requests = claim.spec.as_ref()?.resources.as_ref()?.requests.as_ref()?;
        units::quantity(&requests.get("storage")?.0)
    };
    let small = claims
        .iter()
        .filter(|claim| size(claim).is_some_and(|size| size < bytes));
    small
        .map(|claim| {
            let name = claim.metadata.name.as_deref().unwrap_or_default();
            let patch = json!({"spec": {"resources": {"requests": {"storage": quantity}}}});
            Action::patch(format!("grow/{name}"), claim, &patch)
        })
        .collect()
}
