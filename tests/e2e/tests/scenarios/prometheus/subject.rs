//! The Prometheus under test, and what is asked of it.

use std::time::{Duration, Instant};

use k8s_openapi::api::core::v1::Pod as PodObject;
use k8s_openapi::api::events::v1::Event;
use kube::ResourceExt;
use kube::api::{ApiResource, DeleteParams, DynamicObject, ListParams, Patch, PatchParams};
use kube::core::GroupVersionKind;
use serde_json::{Value, json};
use windlass_e2e::host::{self, InUse};
use windlass_e2e::prelude::*;
use windlass_e2e::wait::{Expectation, eventually_within};

use super::monitors::{job_of, merged};
use super::served::Server;

/// Its ServiceAccount and what that may do.
pub(super) const SCRAPER: &str = include_str!("../../../manifests/scraper.yaml");

/// From `kubectl apply` of a monitor to its job in the configuration that every Pod runs.
pub(super) const LIVE: Duration = Duration::from_secs(10);

/// How a kind of the group is called in URLs.
pub(super) fn kind(kind: &str, plural: &str) -> ApiResource {
    let kind = GroupVersionKind::gvk("monitoring.coreos.com", "v1", kind);
    ApiResource::from_gvk_with_plural(&kind, plural)
}

/// An object of the kind Prometheus in a scenario's namespace.
pub(super) struct Prometheus<'a> {
    ns: &'a Namespace,
    name: String,
    _host: Option<InUse>,
}

impl<'a> Prometheus<'a> {
    /// Applies one with the parts of a spec that matter and waits until all of it runs; nobody ends
    /// the host meanwhile.
    pub(super) async fn running(ns: &'a Namespace, name: &str, spec: &Value) -> Result<Self> {
        let prometheus = Self::applied(ns, name, spec).await?;
        let replicas = spec["replicas"].as_u64().unwrap_or(1);
        prometheus.settled(usize::try_from(replicas)?).await?;
        Ok(prometheus)
    }

    /// The same without waiting.
    pub(super) async fn applied(ns: &'a Namespace, name: &str, spec: &Value) -> Result<Self> {
        let prometheus = Self::held(ns, name).await;
        prometheus.apply(spec).await?;
        Ok(prometheus)
    }

    /// The same for a scenario that has the host alone.
    pub(super) async fn running_alone(ns: &'a Namespace, name: &str, spec: &Value) -> Result<Self> {
        let prometheus = Self::of(ns, name);
        prometheus.apply(spec).await?;
        prometheus.settled(1).await?;
        Ok(prometheus)
    }

    async fn apply(&self, spec: &Value) -> Result<()> {
        self.ns.apply(SCRAPER).await?;
        let manifest = manifest(&self.name, spec);
        self.ns.apply(&manifest.to_string()).await
    }

    /// A handle that keeps others from ending the host.
    pub(super) async fn held(ns: &'a Namespace, name: &str) -> Self {
        let held = host::in_use().await;
        Self {
            _host: Some(held),
            ..Self::of(ns, name)
        }
    }

    /// A handle on an object that need not exist yet.
    pub(super) fn of(ns: &'a Namespace, name: &str) -> Self {
        Self {
            ns,
            name: name.to_owned(),
            _host: None,
        }
    }

    /// Waits until so many Pods run the newest configuration, and status says so.
    pub(super) async fn settled(&self, replicas: usize) -> Result<DynamicObject> {
        let what = format!("run its newest configuration in {replicas} Pods");
        let wanted = i64::try_from(replicas)?;
        self.expect()
            .to(&what, |prometheus| {
                let status = &prometheus.data["status"];
                let is = |type_| condition(prometheus, type_).map(|found| found.0) == Some("True");
                is("Available")
                    && is("Reconciled")
                    && status["availableReplicas"].as_i64() == Some(wanted)
                    && status["updatedReplicas"].as_i64() == Some(wanted)
                    && observed(prometheus, "Reconciled") == prometheus.metadata.generation
            })
            .await
    }

    pub(super) fn expect(&self) -> Expectation<DynamicObject> {
        let kind = kind("Prometheus", "prometheuses");
        self.ns.expect_dynamic(&kind, &self.name)
    }

    fn api(&self) -> kube::Api<DynamicObject> {
        self.ns.dynamic(&kind("Prometheus", "prometheuses"))
    }

    /// Changes it as `kubectl patch --type merge` does.
    pub(super) async fn patch(&self, change: Value) -> Result<()> {
        let parameters = PatchParams::default();
        self.api()
            .patch(&self.name, &parameters, &Patch::Merge(&change))
            .await
            .with_context(|| format!("failed to patch the Prometheus with {change}"))?;
        Ok(())
    }

    pub(super) async fn delete(&self) -> Result<()> {
        let parameters = DeleteParams::default();
        self.api().delete(&self.name, &parameters).await?;
        Ok(())
    }

    pub(super) async fn pods(&self) -> Result<Vec<PodObject>> {
        let list = self.ns.api::<PodObject>();
        let selector = format!("prometheus={}", self.name);
        let parameters = ListParams::default().labels(&selector);
        let mut pods = list.list(&parameters).await?.items;
        pods.sort_by_key(ResourceExt::name_any);
        Ok(pods)
    }

    /// The uids of the Pods and how often their containers were restarted.
    pub(super) async fn lives(&self) -> Result<Vec<(String, i32)>> {
        let pods = self.pods().await?;
        let life = |pod: &PodObject| {
            let statuses = pod
                .status
                .iter()
                .flat_map(|status| status.container_statuses.iter().flatten());
            let restarts = statuses.map(|status| status.restart_count).sum();
            (pod.uid().unwrap_or_default(), restarts)
        };
        Ok(pods.iter().map(life).collect())
    }

    /// The Pod of a number, as a server.
    pub(super) fn server(&self, number: usize) -> Server {
        let name = format!("prometheus-{}-{number}", self.name);
        Server {
            pod: self.ns.pod(&name),
        }
    }

    /// All Pods, as servers.
    pub(super) async fn servers(&self) -> Result<Vec<Server>> {
        let pods = self.pods().await?.into_iter();
        Ok(pods
            .map(|pod| Server {
                pod: self.ns.pod(&pod.name_any()),
            })
            .collect())
    }

    /// Applies a monitor and waits until it is a job of every Pod with so many targets, all up.
    /// Returns how long it took until the job was in the configuration that every Pod runs.
    pub(super) async fn scrapes(&self, monitor: &Value, targets: usize) -> Result<Duration> {
        let job = job_of(self.ns.name(), monitor);
        let start = Instant::now();
        self.ns.apply(&monitor.to_string()).await?;
        self.has_job_within(LIVE, &job).await?;
        let live = start.elapsed();
        self.scrapes_job(&job, targets).await?;
        println!(
            "{job}: live in {:.1} s, targets up in {:.1} s",
            live.as_secs_f32(),
            start.elapsed().as_secs_f32()
        );
        Ok(live)
    }

    /// Waits until a job is in the configuration that every Pod runs.
    pub(super) async fn has_job(&self, job: &str) -> Result<()> {
        self.has_job_within(PATIENCE, job).await
    }

    async fn has_job_within(&self, patience: Duration, job: &str) -> Result<()> {
        let what = format!("every Pod has the job {job}");
        eventually_within(patience, &what, async || {
            for server in self.servers().await? {
                let jobs = server.jobs().await?;
                ensure!(jobs.contains(job), "{} has {jobs:?}", server.pod.name());
            }
            Ok(())
        })
        .await
    }

    /// Waits until every Pod scrapes so many targets of a job, all of them up.
    pub(super) async fn scrapes_job(&self, job: &str, targets: usize) -> Result<()> {
        eventually(&format!("all targets of {job} are up"), async || {
            for server in self.servers().await? {
                server.check_up(job, targets).await?;
            }
            Ok(())
        })
        .await
    }

    /// Waits until no Pod has a job any more.
    pub(super) async fn forgets(&self, job: &str) -> Result<()> {
        eventually(&format!("no Pod has the job {job}"), async || {
            for server in self.servers().await? {
                let jobs = server.jobs().await?;
                ensure!(!jobs.contains(job), "{} has {jobs:?}", server.pod.name());
            }
            Ok(())
        })
        .await
    }

    /// Waits until status tells of an object in reach whether it was picked, and why not.
    pub(super) async fn tells_of(&self, name: &str, picked: bool, reason: &str) -> Result<()> {
        let what = format!("tell of {name} that picked is {picked}, because of {reason:?}");
        self.expect()
            .to(&what, |prometheus| {
                let objects = &prometheus.data["status"]["selection"]["objects"];
                let mut objects = objects.as_array().into_iter().flatten();
                objects.any(|object| {
                    let why = object["reason"].as_str().unwrap_or_default();
                    object["name"] == name && object["picked"] == picked && why.contains(reason)
                })
            })
            .await
            .map(drop)
    }
}

/// A Prometheus that starts and scrapes as fast as a test wants it.
fn manifest(name: &str, spec: &Value) -> Value {
    let quick = json!({
        "version": "v3.5.0",
        "serviceAccountName": "prometheus",
        "scrapeInterval": "1s",
        "evaluationInterval": "1s",
        // The removal of a namespace looks again after half of it.
        "terminationGracePeriodSeconds": 5,
        "resources": {"requests": {"cpu": "50m", "memory": "64Mi"}},
        "containers": [{
            "name": "prometheus",
            "startupProbe": {"periodSeconds": 1, "failureThreshold": 180},
            "readinessProbe": {"periodSeconds": 1},
        }],
    });
    json!({
        "apiVersion": "monitoring.coreos.com/v1", "kind": "Prometheus",
        "metadata": {"name": name},
        "spec": merged(quick, spec),
    })
}

/// The status and the message of a condition.
pub(super) fn condition<'o>(
    object: &'o DynamicObject,
    type_: &str,
) -> Option<(&'o str, &'o str, &'o str)> {
    let conditions = object.data["status"]["conditions"].as_array()?;
    let found = conditions
        .iter()
        .find(|condition| condition["type"] == type_)?;
    let text = |field: &str| found[field].as_str().unwrap_or_default();
    Some((text("status"), text("reason"), text("message")))
}

/// The generation that a condition is about. Upstream's status has none of its own.
fn observed(object: &DynamicObject, type_: &str) -> Option<i64> {
    let mut conditions = object.data["status"]["conditions"].as_array()?.iter();
    let found = conditions.find(|condition| condition["type"] == type_)?;
    found["observedGeneration"].as_i64()
}

/// Waits for an Event on an object, and returns what it says.
pub(super) async fn told(ns: &Namespace, name: &str, reason: &str) -> Result<String> {
    eventually(
        &format!("an Event {reason} tells it on {name}"),
        async || {
            let events = ns.api::<Event>().list(&ListParams::default()).await?.items;
            let mut about = events.into_iter().filter(|event| {
                let regarding = event.regarding.as_ref();
                regarding.and_then(|object| object.name.as_deref()) == Some(name)
                    && event.reason.as_deref() == Some(reason)
            });
            let event = about.next().context("there is none")?;
            event.note.context("it says nothing")
        },
    )
    .await
}
