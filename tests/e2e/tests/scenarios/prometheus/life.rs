//! From `kubectl apply` to `kubectl delete`, with the files that users have.

use k8s_openapi::api::apps::v1::StatefulSet;
use k8s_openapi::api::core::v1::{ConfigMap, PersistentVolumeClaim, Secret};
use kube::api::ListParams;
use serde_json::json;
use windlass_e2e::prelude::*;

use super::subject::{Prometheus, SCRAPER};

/// The file that the README applies.
const SAMPLE: &str = include_str!("../../../../../deploy/samples/prometheus.yaml");

/// Files as users of prometheus-operator have them.
const USERS: &str = include_str!("../../../manifests/prometheus_users.yaml");

const CLIENT: &str = include_str!("../../../manifests/client.yaml");

/// Its ClusterRole has a name that others' samples have too, and its roles name a namespace.
fn sample() -> String {
    SAMPLE
        .replace("namespace: default", "namespace: ${NAMESPACE}")
        .replace(
            "kind: ClusterRole\nmetadata: {name: prometheus}",
            "kind: ClusterRole\nmetadata: {name: \"${NAMESPACE}\"}",
        )
        .replace(
            "kind: ClusterRoleBinding\nmetadata: {name: prometheus}",
            "kind: ClusterRoleBinding\nmetadata: {name: \"${NAMESPACE}\"}",
        )
        .replace(
            "kind: ClusterRole, name: prometheus}",
            "kind: ClusterRole, name: \"${NAMESPACE}\"}",
        )
}

#[tokio::test]
async fn the_sample_runs_grows_and_goes_but_for_its_volumes() -> Result<()> {
    scenario(async |ns| {
        let prometheus = Prometheus::held(ns, "my-prom").await;
        ns.apply(CLIENT).await?;
        ns.apply(&sample()).await?;
        prometheus.settled(2).await?;
        is_listed(ns).await?;
        answers_by_name(ns).await?;
        let job = format!("serviceMonitor/{}/prometheus/0", ns.name());
        prometheus.scrapes_job(&job, 2).await?;

        prometheus.patch(json!({"spec": {"replicas": 3}})).await?;
        prometheus.settled(3).await?;
        prometheus.scrapes_job(&job, 3).await?;

        prometheus.delete().await?;
        prometheus.expect().to_be_gone().await?;
        only_volumes_stay(ns, &prometheus).await
    })
    .await
}

async fn is_listed(ns: &Namespace) -> Result<()> {
    let get = ["get", "prometheuses", "-n", ns.name()];
    let printed = ns.cluster().kubectl(&get).await?;
    let rows: Vec<Vec<&str>> = printed
        .lines()
        .map(|line| line.split_whitespace().collect())
        .collect();
    let heading = [
        "NAME",
        "VERSION",
        "DESIRED",
        "READY",
        "RECONCILED",
        "AVAILABLE",
    ];
    let row = ["my-prom", "v3.5.0", "2", "2", "True", "True"];
    ensure!(rows.len() == 2, "kubectl printed {printed:?}");
    ensure!(rows[0].starts_with(&heading), "kubectl printed {printed:?}");
    ensure!(rows[1].starts_with(&row), "kubectl printed {printed:?}");
    Ok(())
}

async fn answers_by_name(ns: &Namespace) -> Result<()> {
    let client = ns.pod("client");
    client.ready().await?;
    let url = format!(
        "http://{}:9090/-/ready",
        ns.service_host("prometheus-operated")
    );
    eventually("prometheus-operated answers", async || {
        client.exec(&["curl", "--fail", "--silent", &url]).await
    })
    .await
    .map(drop)
}

async fn only_volumes_stay(ns: &Namespace, prometheus: &Prometheus<'_>) -> Result<()> {
    let all = ListParams::default();
    eventually("only the volumes are left", async || {
        let pods = prometheus.pods().await?.len();
        let sets = ns.api::<StatefulSet>().list(&all).await?.items.len();
        let secrets = ns.api::<Secret>().list(&all).await?.items.len();
        let maps = ns.api::<ConfigMap>().list(&all).await?.items;
        let maps = maps.iter().filter(|map| {
            let name = map.metadata.name.as_deref().unwrap_or_default();
            name.starts_with("prometheus-")
        });
        let left = [pods, sets, secrets, maps.count()];
        ensure!(
            left == [0; 4],
            "of Pods, StatefulSets, Secrets and ConfigMaps {left:?} are left"
        );
        Ok(())
    })
    .await?;
    let claims = ns.api::<PersistentVolumeClaim>().list(&all).await?.items;
    ensure!(claims.len() == 3, "{} claims are left", claims.len());
    Ok(())
}

#[tokio::test]
async fn files_of_users_apply_unchanged() -> Result<()> {
    scenario(async |ns| {
        let ours = Prometheus::held(ns, "my-prom").await;
        let main = Prometheus::of(ns, "main");
        ns.apply(SCRAPER).await?;
        ns.apply(USERS).await?;
        ours.settled(2).await?;
        main.settled(2).await?;
        let name = |monitor: &str| format!("serviceMonitor/{}/{monitor}/0", ns.name());
        // A kubelet has no Service here, so its job has no targets.
        ours.has_job(&name("kubelet-sm")).await?;
        main.forgets(&name("kubelet-sm")).await?;
        let info = main.server(0).ask("status/runtimeinfo").await?;
        ensure!(info["storageRetention"] == "30d", "it says {info}");

        for prometheus in [ours, main] {
            prometheus.delete().await?;
            eventually("its Pods are gone", async || {
                let left = prometheus.pods().await?.len();
                ensure!(left == 0, "{left} are left");
                Ok(())
            })
            .await?;
        }
        Ok(())
    })
    .await
}
