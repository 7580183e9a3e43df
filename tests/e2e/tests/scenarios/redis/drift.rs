//! What somebody changed or deleted by hand is put right, once, and told.

use k8s_openapi::api::apps::v1::StatefulSet;
use k8s_openapi::api::core::v1::{ConfigMap, Service};
use kube::ResourceExt;
use kube::api::DeleteParams;
use serde_json::json;
use windlass_e2e::prelude::*;

use super::subject::Redis;

#[tokio::test]
async fn an_edited_stateful_set_is_put_right_and_what_others_added_stays() -> Result<()> {
    scenario(async |ns| {
        let redis = Redis::running(ns).await?;
        let set = "my-redis-replica";
        ns.patch::<StatefulSet>(
            set,
            json!({
                "metadata": {"labels": {"example.com/team": "harbour"}},
                "spec": {"replicas": 1},
            }),
        )
        .await?;
        let mended = ns
            .expect::<StatefulSet>(set)
            .to("have 2 replicas again", |set| {
                set.spec.as_ref().and_then(|spec| spec.replicas) == Some(2)
            })
            .await?;
        ensure!(
            mended.labels().contains_key("example.com/team"),
            "the label that somebody added is gone"
        );
        told(&redis, "ChildPutRight").await
    })
    .await
}

#[tokio::test]
async fn an_edited_config_map_is_put_right() -> Result<()> {
    scenario(async |ns| {
        let redis = Redis::running(ns).await?;
        let map = "my-redis-config";
        let before = ns.api::<ConfigMap>().get(map).await?.data;
        ns.patch::<ConfigMap>(map, json!({"data": {"redis.conf": "port 1\n"}}))
            .await?;
        ns.expect::<ConfigMap>(map)
            .to("be as it was", |map| map.data == before)
            .await?;
        told(&redis, "ChildPutRight").await
    })
    .await
}

#[tokio::test]
async fn a_deleted_service_comes_back() -> Result<()> {
    scenario(async |ns| {
        let redis = Redis::running(ns).await?;
        let services = ns.api::<Service>();
        let before = services.get("my-redis-master").await?.uid();
        services
            .delete("my-redis-master", &DeleteParams::default())
            .await?;
        ns.expect::<Service>("my-redis-master")
            .to("be made again", |service| service.uid() != before)
            .await?;
        redis.set("ship", "windlass").await?;
        told(&redis, "ChildMadeAgain").await
    })
    .await
}

/// One Event, and no more, tells it.
async fn told(redis: &Redis<'_>, reason: &str) -> Result<()> {
    eventually("an Event tells it", async || {
        let told = redis.events().await?;
        let count = told.iter().filter(|told| *told == reason).count();
        ensure!(count == 1, "{count} of {told:?} do");
        Ok(())
    })
    .await
}
