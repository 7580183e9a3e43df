//! Which monitors a Prometheus follows, and what it says about the others.

use k8s_openapi::api::core::v1::Secret;
use serde_json::json;
use windlass_e2e::prelude::*;

use super::monitors::{job_of, labelled, pod_monitor, service_monitor};
use super::subject::{Prometheus, condition};

#[tokio::test]
async fn two_prometheuses_choose_from_the_same_monitors() -> Result<()> {
    scenario(async |ns| {
        let team = json!({"team": "frontend"});
        let shared = labelled(service_monitor("shared"), &team);
        let other = service_monitor("other");
        let pods = labelled(pod_monitor("pods", "all"), &team);
        for monitor in [&shared, &other, &pods] {
            ns.apply(&monitor.to_string()).await?;
        }
        // No selector of PodMonitors: none is chosen. An empty one of ServiceMonitors: every one is.
        let all = json!({"serviceMonitorSelector": {}});
        let all = Prometheus::applied(ns, "all", &all).await?;
        let frontend = json!({
            "serviceMonitorSelector": {"matchLabels": {"team": "frontend"}},
            "podMonitorSelector": {"matchExpressions": [{"key": "team", "operator": "Exists"}]},
        });
        let frontend = Prometheus::applied(ns, "frontend", &frontend).await?;
        all.settled(1).await?;
        frontend.settled(1).await?;

        let jobs = |of: &[&serde_json::Value]| -> std::collections::BTreeSet<String> {
            of.iter()
                .map(|monitor| job_of(ns.name(), monitor))
                .collect()
        };
        let found = all.server(0).jobs().await?;
        ensure!(found == jobs(&[&shared, &other]), "all has {found:?}");
        let found = frontend.server(0).jobs().await?;
        ensure!(found == jobs(&[&shared, &pods]), "frontend has {found:?}");
        for prometheus in [&all, &frontend] {
            prometheus
                .scrapes_job(&job_of(ns.name(), &shared), 2)
                .await?;
        }

        frontend.tells_of("shared", true, "").await?;
        frontend.tells_of("other", false, "label selector").await
    })
    .await
}

#[tokio::test]
async fn without_selectors_the_configuration_is_the_users() -> Result<()> {
    scenario(async |ns| {
        ns.apply(&service_monitor("self").to_string()).await?;
        let prometheus = Prometheus::running(ns, "main", &json!({})).await?;
        let jobs = prometheus.server(0).jobs().await?;
        ensure!(jobs.is_empty(), "there are {jobs:?}");

        let text =
            "scrape_configs: [{job_name: mine, static_configs: [{targets: ['127.0.0.1:9090']}]}]\n";
        let change = json!({"stringData": {"prometheus.yaml.gz": text}});
        ns.patch::<Secret>("prometheus-main", change).await?;
        // Nobody but the user changes it, so only the kubelet's own pace brings it to the Pod.
        prometheus.has_job("mine").await?;
        let settled = prometheus.settled(1).await?;
        let reconciled = condition(&settled, "Reconciled").map(|found| found.1);
        ensure!(
            reconciled == Some("ConfigurationUnmanaged"),
            "Reconciled is for {reconciled:?}"
        );
        let secret = ns.api::<Secret>().get("prometheus-main").await?;
        let kept = secret
            .data
            .and_then(|mut data| data.remove("prometheus.yaml.gz"));
        ensure!(
            kept.is_some_and(|kept| kept.0 == text.as_bytes()),
            "the user's configuration was changed"
        );
        Ok(())
    })
    .await
}
