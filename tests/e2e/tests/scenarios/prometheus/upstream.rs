//! Where prometheus-operator's CRDs are installed, they are used and left alone.

use std::path::Path;
use std::time::Duration;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::Api;
use serde_json::json;
use windlass_e2e::audit::rests;
use windlass_e2e::crds;
use windlass_e2e::host;
use windlass_e2e::prelude::*;
use windlass_e2e::tools::upstream_crds;

use super::monitors::{group, rule, service_monitor, service_monitor_with};
use super::subject::{Prometheus, condition, told};

const FILES: [&str; 5] = [
    "monitoring.coreos.com_podmonitors.yaml",
    "monitoring.coreos.com_probes.yaml",
    "monitoring.coreos.com_prometheuses.yaml",
    "monitoring.coreos.com_prometheusrules.yaml",
    "monitoring.coreos.com_servicemonitors.yaml",
];

#[tokio::test]
async fn upstreams_crds_are_used_and_left_alone() -> Result<()> {
    scenario(async |ns| {
        let alone = host::alone().await;
        let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../crds");
        let exchanged = crds::exchange(ns.cluster(), &upstream_crds()?, &own, &FILES)?;
        host::restart(ns.cluster(), &alone).await?;
        let before = generations(ns).await?;
        an_installation_leaves_them_out(ns).await?;

        let bad = service_monitor_with("bad", &json!({"scrapeTimeout": "2m"}));
        ns.apply(&bad.to_string()).await?;
        let spec = json!({"serviceMonitorSelector": {}, "ruleSelector": {}});
        let prometheus = Prometheus::running_alone(ns, "main", &spec).await?;
        prometheus.scrapes(&service_monitor("self"), 1).await?;
        ns.apply(&rule("tide", &[group("tide", "vector(1)")]).to_string())
            .await?;
        eventually("the rule is evaluated", async || {
            let groups = prometheus.server(0).groups().await?;
            ensure!(groups.contains("tide"), "there are {groups:?}");
            Ok(())
        })
        .await?;

        // Upstream's status has no place for it.
        let settled = prometheus.settled(1).await?;
        let selection = &settled.data["status"]["selection"];
        ensure!(selection.is_null(), "status has {selection}");
        let event = told(ns, "bad", "InvalidConfiguration").await?;
        ensure!(event.contains("scrape timeout"), "the Event says {event:?}");
        let left_out = condition(&settled, "ObjectsLeftOut").map(|found| found.2);
        ensure!(
            left_out.is_some_and(|why| why.contains("/bad: ") && why.contains("scrape timeout")),
            "the condition says {left_out:?}"
        );
        explains(ns, "bad").await?;

        rests(ns, Duration::from_secs(20)).await?;
        let now = generations(ns).await?;
        ensure!(
            now == before,
            "a CRD was written: {before:?} became {now:?}"
        );
        drop(exchanged);
        // A running host knows the status that it found.
        host::restart(ns.cluster(), &alone).await
    })
    .await
}

/// The kustomization for such a cluster has all CRDs but these.
async fn an_installation_leaves_them_out(ns: &Namespace) -> Result<()> {
    let folder = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../deploy/kustomize/keep-monitoring-crds"
    );
    let objects = ns.cluster().kubectl(&["kustomize", folder]).await?;
    ensure!(
        objects.contains("name: redis.redis.example.com"),
        "the CRD of Redis is missing"
    );
    ensure!(
        !objects.contains(".monitoring.coreos.com\nspec:"),
        "a CRD of upstream's kinds is among them"
    );
    Ok(())
}

/// How often each CRD's spec was written.
async fn generations(ns: &Namespace) -> Result<Vec<Option<i64>>> {
    let api: Api<CustomResourceDefinition> = Api::all(ns.client());
    let mut generations = Vec::new();
    for file in FILES {
        let plural = file.trim_start_matches("monitoring.coreos.com_");
        let plural = plural.trim_end_matches(".yaml");
        let crd = api.get(&format!("{plural}.monitoring.coreos.com")).await?;
        generations.push(crd.metadata.generation);
    }
    Ok(generations)
}

/// `windlass explain` tells why a monitor is left out.
async fn explains(ns: &Namespace, monitor: &str) -> Result<()> {
    let acting = host::acting(ns.cluster()).await?;
    let explain = [
        "windlass",
        "explain",
        "prometheus/main",
        "-n",
        ns.name(),
        "--address",
        "127.0.0.1:8081",
    ];
    let said = acting.exec(&explain).await?;
    ensure!(
        said.contains(monitor) && said.contains("scrape timeout"),
        "it says {said:?}"
    );
    Ok(())
}
