//! Changes that a person asks for: nothing stops and nothing is lost.

use std::time::Duration;

use kube::ResourceExt;
use serde_json::json;
use windlass_e2e::prelude::*;

use super::subject::Redis;
use super::writer::Writer;

/// How long a hand-over from one primary to the next may take.
const HAND_OVER: Duration = Duration::from_secs(10);

#[tokio::test]
async fn replicas_go_from_two_to_four_to_one_under_writes() -> Result<()> {
    scenario(async |ns| {
        let redis = Redis::running(ns).await?;
        let writer = Writer::start(&redis).await?;
        for replicas in [4, 1] {
            redis.patch(json!({"spec": {"replicas": replicas}})).await?;
            let what = format!("have {replicas} replicas");
            redis.settled(&what, replicas + 1).await?;
        }
        let outcome = writer.finish(&redis).await?;
        outcome.check_nothing_lost("scaled from 2 to 4 to 1", HAND_OVER)
    })
    .await
}

#[tokio::test]
async fn a_setting_is_changed_live_without_a_restart() -> Result<()> {
    scenario(async |ns| {
        let redis = Redis::running(ns).await?;
        let before = lives(&redis).await?;
        redis
            .patch(json!({"spec": {"settings": {"maxmemory-policy": "allkeys-lru"}}}))
            .await?;
        for pod in redis.pods().await? {
            let pod = ns.pod(&pod.name_any());
            eventually("Redis has the new setting", async || {
                let found = redis.config_of(&pod, "maxmemory-policy").await?;
                ensure!(found == "allkeys-lru", "it has {found}");
                Ok(())
            })
            .await?;
        }
        redis.settled("have followed", 3).await?;
        ensure!(lives(&redis).await? == before, "a Pod was restarted");
        Ok(())
    })
    .await
}

#[tokio::test]
async fn changed_resources_roll_every_pod_and_lose_nothing() -> Result<()> {
    scenario(async |ns| {
        let redis = Redis::running(ns).await?;
        let before = lives(&redis).await?;
        let writer = Writer::start(&redis).await?;
        redis
            .patch(json!({"spec": {"resources": {"requests": {"cpu": "60m"}}}}))
            .await?;
        redis.settled("have rolled", 3).await?;
        eventually("every Pod is a new one", async || {
            let now = lives(&redis).await?;
            let kept = now.iter().filter(|life| before.contains(life)).count();
            ensure!(kept == 0, "{kept} Pods are still the old ones");
            Ok(())
        })
        .await?;
        redis.settled("be whole again", 3).await?;
        let outcome = writer.finish(&redis).await?;
        outcome.check_nothing_lost("rolled", HAND_OVER)
    })
    .await
}

/// The uids of the Pods.
async fn lives(redis: &Redis<'_>) -> Result<Vec<Option<String>>> {
    let mut lives: Vec<_> = redis.pods().await?.iter().map(|pod| pod.uid()).collect();
    lives.sort();
    Ok(lives)
}
