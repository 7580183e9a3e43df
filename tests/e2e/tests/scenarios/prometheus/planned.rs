//! Changes that a person asks for: they happen, and as gently as they can.

use std::collections::BTreeMap;
use std::time::Duration;

use futures::{StreamExt, pin_mut};
use k8s_openapi::api::apps::v1::StatefulSet;
use k8s_openapi::api::core::v1::{PersistentVolumeClaim, Pod as PodObject};
use kube::ResourceExt;
use kube::api::ListParams;
use kube::runtime::{WatchStreamExt, watcher};
use serde_json::json;
use windlass_e2e::pod::is_ready;
use windlass_e2e::prelude::*;

use super::monitors::{job_of, service_monitor};
use super::subject::Prometheus;

fn claim(size: &str) -> serde_json::Value {
    json!({"volumeClaimTemplate": {"spec": {"resources": {"requests": {"storage": size}}}}})
}

#[tokio::test]
async fn storage_retention_and_version_change_one_pod_at_a_time() -> Result<()> {
    scenario(async |ns| {
        let spec = json!({
            "replicas": 2, "version": "v2.55.0", "retention": "15d",
            "serviceMonitorSelector": {}, "storage": claim("64Mi"),
        });
        let prometheus = Prometheus::running(ns, "main", &spec).await?;
        storage_grows(ns, &prometheus).await?;

        let change = json!({"spec": {"retention": "30d"}});
        rolls_gently(ns, &prometheus, change).await?;
        for server in prometheus.servers().await? {
            let info = server.ask("status/runtimeinfo").await?;
            ensure!(info["storageRetention"] == "30d", "it says {info}");
        }

        rolls_gently(ns, &prometheus, json!({"spec": {"version": "v3.5.0"}})).await?;
        for pod in prometheus.pods().await? {
            let image = pod
                .spec
                .and_then(|spec| spec.containers.into_iter().next()?.image);
            let wanted = Some("quay.io/prometheus/prometheus:v3.5.0");
            ensure!(image.as_deref() == wanted, "a Pod runs {image:?}");
        }
        an_image_that_does_not_exist_stops_nothing(&prometheus).await
    })
    .await
}

/// The volumes are mounted all the while: nothing restarts.
async fn storage_grows(ns: &Namespace, prometheus: &Prometheus<'_>) -> Result<()> {
    let before = prometheus.lives().await?;
    prometheus
        .patch(json!({"spec": {"storage": claim("128Mi")}}))
        .await?;
    eventually("both volumes have grown", async || {
        let claims = ns.api::<PersistentVolumeClaim>();
        let claims = claims.list(&ListParams::default()).await?.items;
        let sizes: Vec<_> = claims
            .iter()
            .map(|claim| {
                Some(
                    claim
                        .status
                        .as_ref()?
                        .capacity
                        .as_ref()?
                        .get("storage")?
                        .0
                        .clone(),
                )
            })
            .collect();
        let wanted = Some("128Mi".to_owned());
        ensure!(sizes == [wanted.clone(), wanted], "they are {sizes:?}");
        Ok(())
    })
    .await?;
    prometheus.settled(2).await?;
    let now = prometheus.lives().await?;
    ensure!(
        now == before,
        "a Pod was restarted: {before:?} became {now:?}"
    );
    Ok(())
}

/// Makes a change that replaces every Pod, and sees that one of two is ready all the while.
async fn rolls_gently(
    ns: &Namespace,
    prometheus: &Prometheus<'_>,
    change: serde_json::Value,
) -> Result<()> {
    let before = prometheus.lives().await?;
    let rolled = async {
        prometheus.patch(change.clone()).await?;
        eventually("every Pod is a new one", async || {
            let now = prometheus.lives().await?;
            let kept = now.iter().filter(|life| before.contains(life)).count();
            ensure!(
                kept == 0 && now.len() == 2,
                "{kept} of {} are old",
                now.len()
            );
            Ok(())
        })
        .await?;
        prometheus.settled(2).await.map(drop)
    };
    tokio::select! {
        rolled = rolled => rolled,
        dark = until_none_is_ready(ns) => bail!("{dark:?} while {change} was rolled out"),
    }
}

/// Watches the Pods until none is ready, and returns how they were then.
async fn until_none_is_ready(ns: &Namespace) -> Result<BTreeMap<String, bool>> {
    let config = watcher::Config::default().labels("prometheus=main");
    let events = watcher(ns.api::<PodObject>(), config).default_backoff();
    pin_mut!(events);
    let mut ready = BTreeMap::new();
    while let Some(event) = events.next().await {
        match event? {
            watcher::Event::Apply(pod) | watcher::Event::InitApply(pod) => {
                ready.insert(pod.name_any(), is_ready(&pod));
            }
            watcher::Event::Delete(pod) => {
                ready.insert(pod.name_any(), false);
            }
            watcher::Event::Init | watcher::Event::InitDone => continue,
        }
        if ready.len() == 2 && ready.values().all(|ready| !ready) {
            return Ok(ready);
        }
    }
    bail!("the watch ended by itself")
}

/// One Pod waits for the image, the other goes on, and the right image replaces the one that waits.
async fn an_image_that_does_not_exist_stops_nothing(prometheus: &Prometheus<'_>) -> Result<()> {
    let image = json!({"spec": {"image": "registry.invalid/prometheus:v3.5.0"}});
    prometheus.patch(image).await?;
    let waits = prometheus.server(1).pod;
    waits
        .expect()
        .to("wait for its image", |pod| {
            let statuses = pod
                .status
                .iter()
                .flat_map(|status| &status.container_statuses);
            let mut waiting = statuses
                .flatten()
                .filter_map(|status| status.state.as_ref()?.waiting.as_ref()?.reason.clone());
            waiting.any(|reason| reason.contains("Image"))
        })
        .await?;
    prometheus.server(0).jobs().await?;
    prometheus.patch(json!({"spec": {"image": null}})).await?;
    prometheus.settled(2).await.map(drop)
}

#[tokio::test]
async fn a_paused_prometheus_is_left_alone() -> Result<()> {
    scenario(async |ns| {
        let spec = json!({"serviceMonitorSelector": {}});
        let prometheus = Prometheus::running(ns, "main", &spec).await?;
        prometheus.patch(json!({"spec": {"paused": true}})).await?;
        prometheus
            .expect()
            .to("be paused", |prometheus| {
                prometheus.data["status"]["paused"] == true
            })
            .await?;
        let monitor = service_monitor("self");
        ns.apply(&monitor.to_string()).await?;
        prometheus
            .patch(json!({"spec": {"retention": "30d", "replicas": 2}}))
            .await?;
        let before = prometheus.lives().await?;
        throughout(Duration::from_secs(10), "nothing is changed", async || {
            let set = ns.api::<StatefulSet>().get("prometheus-main").await?;
            let replicas = set.spec.and_then(|spec| spec.replicas);
            ensure!(replicas == Some(1), "replicas are {replicas:?}");
            ensure!(prometheus.lives().await? == before, "a Pod was replaced");
            let jobs = prometheus.server(0).jobs().await?;
            ensure!(jobs.is_empty(), "there are {jobs:?}");
            Ok(())
        })
        .await?;

        prometheus.patch(json!({"spec": {"paused": false}})).await?;
        prometheus.settled(2).await?;
        prometheus.has_job(&job_of(ns.name(), &monitor)).await
    })
    .await
}
