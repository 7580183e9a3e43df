//! From `kubectl apply` to `kubectl delete`, and back on the volumes that stayed.

use std::time::Duration;

use k8s_openapi::api::core::v1::PersistentVolumeClaim;
use kube::ResourceExt;
use kube::api::ListParams;
use windlass_e2e::prelude::*;

use super::subject::{Redis, SAMPLE};

#[tokio::test]
async fn the_sample_runs_and_is_listed_as_a_person_expects() -> Result<()> {
    scenario(async |ns| {
        let redis = Redis::held(ns).await;
        ns.apply(SAMPLE).await?;
        redis
            .expect()
            .within(Duration::from_secs(60))
            .to("run", |redis| redis.data["status"]["phase"] == "Running")
            .await?;
        redis.settled("be complete", 3).await?;

        let printed = ns
            .cluster()
            .kubectl(&["get", "redis", "-n", ns.name()])
            .await?;
        let rows: Vec<Vec<&str>> = printed
            .lines()
            .map(|line| line.split_whitespace().collect())
            .collect();
        let heading = ["NAME", "VERSION", "MASTER", "REPLICAS", "PHASE"];
        let row = ["my-redis", "7.2", "Ready", "2", "Running"];
        ensure!(rows.len() == 2, "kubectl printed {printed:?}");
        ensure!(rows[0].starts_with(&heading), "kubectl printed {printed:?}");
        ensure!(rows[1].starts_with(&row), "kubectl printed {printed:?}");

        let mut names: Vec<String> = redis
            .pods()
            .await?
            .iter()
            .map(|pod| pod.name_any())
            .collect();
        names.sort();
        let wanted = [
            "my-redis-master-0",
            "my-redis-replica-0",
            "my-redis-replica-1",
        ];
        ensure!(names == wanted, "the Pods are {names:?}");

        redis.set("ship", "windlass").await?;
        redis.expect_value("replicas", "ship", "windlass").await
    })
    .await
}

#[tokio::test]
async fn a_deleted_redis_leaves_its_volumes_and_finds_its_data_again() -> Result<()> {
    scenario(async |ns| {
        let redis = Redis::running(ns).await?;
        redis.set("ship", "windlass").await?;
        redis.expect_value("replicas", "ship", "windlass").await?;

        redis.delete().await?;
        redis.expect().to_be_gone().await?;
        eventually("no Pod is left", async || {
            let left = redis.pods().await?;
            ensure!(left.is_empty(), "{} are left", left.len());
            Ok(())
        })
        .await?;
        let volumes = ns.api::<PersistentVolumeClaim>();
        let volumes = volumes.list(&ListParams::default()).await?.items;
        ensure!(volumes.len() == 3, "{} volumes are left", volumes.len());

        let redis = Redis::running(ns).await?;
        redis.expect_value("master", "ship", "windlass").await
    })
    .await
}

#[tokio::test]
async fn a_namespace_with_a_redis_can_be_deleted() -> Result<()> {
    // What `scenario` does at its end, and waits for: here it is the point.
    scenario(async |ns| Redis::running(ns).await.map(|_| ())).await
}
