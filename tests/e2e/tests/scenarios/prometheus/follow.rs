//! What is scraped follows the monitors, in every Pod, and is told only then.

use kube::api::{Api, DeleteParams, Patch, PatchParams};
use serde_json::{Value, json};
use windlass_e2e::prelude::*;

use super::monitors::{job_of, pod_monitor, probe, rule, service_monitor, service_monitor_with};
use super::subject::{Prometheus, condition, kind};

#[tokio::test]
async fn monitors_are_live_jobs_soon_and_go_when_they_go() -> Result<()> {
    scenario(async |ns| {
        let all = json!({
            "serviceMonitorSelector": {}, "podMonitorSelector": {}, "probeSelector": {}, "ruleSelector": {},
        });
        let prometheus = Prometheus::running(ns, "main", &all).await?;
        let monitors = [service_monitor("self"), pod_monitor("pods", "main"), probe("harbour")];
        for monitor in &monitors {
            prometheus.scrapes(monitor, 1).await?;
        }
        prometheus.settled(1).await?;

        prometheus.server(0).check_with_promtool().await?;

        rules_come_and_go(ns, &prometheus).await?;
        a_changed_monitor_changes_its_job(ns, &prometheus).await?;

        for monitor in &monitors {
            delete(ns, monitor).await?;
            prometheus.forgets(&job_of(ns.name(), monitor)).await?;
        }
        prometheus.settled(1).await.map(drop)
    })
    .await
}

async fn rules_come_and_go(ns: &Namespace, prometheus: &Prometheus<'_>) -> Result<()> {
    let tide = rule("tide", &[super::monitors::group("tide", "vector(1)")]);
    ns.apply(&tide.to_string()).await?;
    let server = prometheus.server(0);
    eventually("the rule is evaluated", async || {
        let series = server.series("windlass:tide").await?;
        ensure!(series.len() == 1, "it gives {series:?}");
        Ok(())
    })
    .await?;
    delete(ns, &tide).await?;
    eventually("the rule is gone", async || {
        let groups = server.groups().await?;
        ensure!(groups.is_empty(), "there are {groups:?}");
        Ok(())
    })
    .await
}

async fn a_changed_monitor_changes_its_job(
    ns: &Namespace,
    prometheus: &Prometheus<'_>,
) -> Result<()> {
    let label = json!({"targetLabel": "tide", "replacement": "high"});
    let changed = service_monitor_with("self", &json!({"relabelings": [label]}));
    ns.apply(&changed.to_string()).await?;
    let job = job_of(ns.name(), &changed);
    eventually("the target has the new label", async || {
        let targets = prometheus.server(0).check_up(&job, 1).await?;
        ensure!(targets[0].labels["tide"] == "high", "it has {targets:?}");
        Ok(())
    })
    .await
}

#[tokio::test]
async fn reconciled_waits_for_the_last_pod() -> Result<()> {
    scenario(async |ns| {
        let spec = json!({"replicas": 2, "serviceMonitorSelector": {}});
        let prometheus = Prometheus::running(ns, "main", &spec).await?;
        let late = prometheus.server(1).pod.container("config-reloader");
        let frozen = late.freeze().await?;
        let monitor = service_monitor("self");
        ns.apply(&monitor.to_string()).await?;
        let job = job_of(ns.name(), &monitor);
        eventually("the first Pod has the job", async || {
            let jobs = prometheus.server(0).jobs().await?;
            ensure!(jobs.contains(&job), "it has {jobs:?}");
            Ok(())
        })
        .await?;
        prometheus
            .expect()
            .to("wait for the second Pod", |prometheus| {
                condition(prometheus, "Reconciled").is_some_and(|(status, _, message)| {
                    status == "False"
                        && message.contains("prometheus-main-1")
                        && !message.contains("prometheus-main-0")
                })
            })
            .await?;
        let jobs = prometheus.server(1).jobs().await?;
        ensure!(!jobs.contains(&job), "the second Pod has {jobs:?}");
        frozen.thaw();
        prometheus.settled(2).await?;
        let jobs = prometheus.server(1).jobs().await?;
        ensure!(
            jobs.contains(&job),
            "Reconciled is True and the second Pod has {jobs:?}"
        );
        Ok(())
    })
    .await
}

#[tokio::test]
async fn labels_of_a_namespace_decide() -> Result<()> {
    scenario(async |ns| {
        let other = format!("{}-b", ns.name());
        let spec = json!({
            "serviceMonitorSelector": {},
            "serviceMonitorNamespaceSelector": {"matchLabels": {"harbour": ns.name()}},
        });
        let prometheus = Prometheus::running(ns, "main", &spec).await?;
        let namespace =
            json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": other}});
        ns.apply(&namespace.to_string()).await?;
        let other = Namespace::existing(ns.cluster(), &other).await?;

        // From the other namespace it looks at the Pods of this one.
        let mut monitor = service_monitor("afar");
        monitor["spec"]["namespaceSelector"] = json!({"matchNames": [ns.name()]});
        other.apply(&monitor.to_string()).await?;
        let job = job_of(other.name(), &monitor);
        let jobs = prometheus.server(0).jobs().await?;
        ensure!(jobs.is_empty(), "nothing is chosen, and there are {jobs:?}");

        relabel(&other, json!(ns.name())).await?;
        prometheus.has_job(&job).await?;
        prometheus.scrapes_job(&job, 1).await?;
        relabel(&other, Value::Null).await?;
        prometheus.forgets(&job).await?;
        prometheus.settled(1).await?;
        other.remove().await
    })
    .await
}

async fn relabel(namespace: &Namespace, value: Value) -> Result<()> {
    let api: Api<k8s_openapi::api::core::v1::Namespace> = Api::all(namespace.client());
    let change = json!({"metadata": {"labels": {"harbour": value}}});
    let parameters = PatchParams::default();
    api.patch(namespace.name(), &parameters, &Patch::Merge(&change))
        .await?;
    Ok(())
}

async fn delete(ns: &Namespace, object: &Value) -> Result<()> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let (name, of) = (text(&object["metadata"]["name"]), text(&object["kind"]));
    let plural = format!("{}s", of.to_lowercase());
    let api = ns.dynamic(&kind(&of, &plural));
    api.delete(&name, &DeleteParams::default()).await?;
    Ok(())
}
