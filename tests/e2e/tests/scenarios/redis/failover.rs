//! The primary dies under a client that writes: another takes over, and the journal says what it cost.

use std::time::Duration;

use kube::ResourceExt;
use redis::AsyncCommands;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use windlass_e2e::host;
use windlass_e2e::prelude::*;

use super::subject::{Redis, SAMPLE, condition, connect};
use super::writer::Writer;

/// Within which a primary that is certainly lost is replaced.
const PROMISE: Duration = Duration::from_secs(15);
/// With the six seconds in which a silence may still be a hiccup.
const PROMISE_AFTER_SILENCE: Duration = Duration::from_secs(25);

/// Runs a Redis under a writer, lets `fault` happen to the primary, and checks that another one took
/// over, that the old one came back as a replica, and that status, labels and servers agree.
async fn survives(
    story: &str,
    longest: Duration,
    fault: impl AsyncFnOnce(&Namespace, &Redis<'_>, &Pod) -> Result<()>,
) -> Result<()> {
    survives_as(SAMPLE, story, longest, fault).await
}

async fn survives_as(
    yaml: &str,
    story: &str,
    longest: Duration,
    fault: impl AsyncFnOnce(&Namespace, &Redis<'_>, &Pod) -> Result<()>,
) -> Result<()> {
    scenario(async |ns| {
        let redis = Redis::running_as(ns, yaml).await?;
        let (old, epoch) = (redis.primary().await?, redis.epoch().await?);
        let mut writer = Writer::start(&redis).await?;

        fault(ns, &redis, &old).await?;
        replaced(&redis, epoch).await?;
        writer.writes().await?;

        redis.settled("be whole again", 3).await?;
        ensure!(
            redis.primary_name().await? != old.name(),
            "{} is the primary again",
            old.name()
        );
        let told = redis.events().await?;
        ensure!(
            told.iter()
                .any(|reason| reason == "FailoverStarted" || reason == "PrimaryMoved"),
            "no Event tells of the new primary, only {told:?}"
        );
        writer.finish(&redis).await?.check(story, longest)
    })
    .await
}

async fn replaced(redis: &Redis<'_>, epoch: i64) -> Result<()> {
    redis
        .expect()
        .to("have another primary", |redis| {
            redis.data["status"]["epoch"].as_i64() > Some(epoch)
        })
        .await
        .map(|_| ())
}

#[tokio::test]
async fn a_deleted_primary_is_replaced() -> Result<()> {
    survives("primary deleted", PROMISE, async |_, _, primary| {
        primary.delete().await.map(|_| ())
    })
    .await
}

#[tokio::test]
async fn a_primary_deleted_by_force_is_replaced() -> Result<()> {
    survives(
        "primary deleted by force",
        PROMISE,
        async |_, _, primary| primary.force_delete().await.map(|_| ()),
    )
    .await
}

#[tokio::test]
async fn a_killed_primary_is_replaced() -> Result<()> {
    survives("primary killed", PROMISE, async |_, _, primary| {
        primary.kill().await.map(|_| ())
    })
    .await
}

#[tokio::test]
async fn a_frozen_primary_is_replaced() -> Result<()> {
    survives(
        "primary frozen",
        PROMISE_AFTER_SILENCE,
        async |_, redis, primary| {
            let epoch = redis.epoch().await?;
            let frozen = primary.freeze().await?;
            replaced(redis, epoch).await?;
            frozen.thaw();
            Ok(())
        },
    )
    .await
}

#[tokio::test]
async fn a_primary_with_a_full_disk_is_replaced() -> Result<()> {
    // The volume is as small as a test can fill.
    let small = SAMPLE.replace("10Gi", "64Mi");
    survives_as(
        &small,
        "primary's disk full",
        PROMISE_AFTER_SILENCE,
        async |_, redis, primary| {
            let epoch = redis.epoch().await?;
            let full = primary.fill_disk("/data").await?;
            replaced(redis, epoch).await?;
            full.relieve()
        },
    )
    .await
}

#[tokio::test]
async fn a_primary_cut_off_from_everyone_is_replaced() -> Result<()> {
    survives(
        "primary cut off from everyone",
        PROMISE_AFTER_SILENCE,
        async |_, redis, primary| {
            let epoch = redis.epoch().await?;
            let cut = primary.cut_off(From::Everyone).await?;
            replaced(redis, epoch).await?;
            cut.heal()
        },
    )
    .await
}

#[tokio::test]
async fn a_primary_cut_off_from_its_replicas_goes_on_alone() -> Result<()> {
    scenario(async |ns| {
        let redis = Redis::running(ns).await?;
        let (primary, epoch) = (redis.primary().await?, redis.epoch().await?);
        let mut writer = Writer::start(&redis).await?;

        let replicas = redis.replicas().await?;
        let others: Vec<&Pod> = replicas.iter().collect();
        let cut = primary.cut_off(From::Pods(&others)).await?;
        redis
            .expect()
            .to("have no replica in sync", |redis| {
                redis.data["status"]["inSync"].as_array().is_none()
            })
            .await?;
        writer.writes().await?;
        cut.heal()?;

        redis.settled("be whole again", 3).await?;
        ensure!(redis.epoch().await? == epoch, "another primary was made");
        writer
            .finish(&redis)
            .await?
            .check_nothing_lost("primary cut off from its replicas", PROMISE_AFTER_SILENCE)
    })
    .await
}

#[tokio::test]
async fn a_primary_that_only_the_host_cannot_reach_stays() -> Result<()> {
    scenario(async |ns| {
        let redis = Redis::running(ns).await?;
        let (primary, epoch) = (redis.primary().await?, redis.epoch().await?);
        let mut writer = Writer::start(&redis).await?;

        let hosts = host::pods(ns.cluster()).await?;
        let hosts: Vec<&Pod> = hosts.iter().collect();
        let cut = primary.cut_off(From::Pods(&hosts)).await?;
        redis
            .expect()
            .to("say that it is not certain", |redis| {
                condition(redis, "Ready") == Some("Unknown")
            })
            .await?;
        throughout(Duration::from_secs(10), "the primary stays", async || {
            ensure!(redis.epoch().await? == epoch, "another primary was made");
            Ok(())
        })
        .await?;
        writer.writes().await?;
        cut.heal()?;

        redis.settled("be certain again", 3).await?;
        ensure!(redis.epoch().await? == epoch, "another primary was made");
        writer
            .finish(&redis)
            .await?
            .check_nothing_lost("primary cut off from the host", Duration::from_secs(5))
    })
    .await
}

#[tokio::test]
async fn all_pods_killed_at_once_come_back_with_their_data() -> Result<()> {
    scenario(async |ns| {
        let redis = Redis::running(ns).await?;
        redis.set("ship", "windlass").await?;
        // A second for the append-only file to reach the disk, which `appendfsync everysec` grants.
        redis.expect_value("replicas", "ship", "windlass").await?;
        let reader = empty_primary_watch(&redis).await?;

        for pod in redis.pods().await? {
            ns.pod(&pod.name_any()).force_delete().await?;
        }
        redis.settled("be whole again", 3).await?;
        reader.finish().await?;
        redis.expect_value("master", "ship", "windlass").await?;
        redis.expect_value("replicas", "ship", "windlass").await
    })
    .await
}

/// Reads through the primary's Service all the time: an answer without the data is a primary that
/// should not have been opened.
struct EmptyPrimaryWatch {
    stop: watch::Sender<bool>,
    task: JoinHandle<Result<()>>,
}

async fn empty_primary_watch(redis: &Redis<'_>) -> Result<EmptyPrimaryWatch> {
    let (host, password) = redis.address_and_password("master").await?;
    let (stop, stopped) = watch::channel(false);
    let task = tokio::spawn(async move {
        while !*stopped.borrow() {
            if let Ok(mut connection) = connect(&host, &password).await
                && let Ok(found) = connection.get::<_, Option<String>>("ship").await
            {
                ensure!(found.is_some(), "an empty primary answered");
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        Ok(())
    });
    Ok(EmptyPrimaryWatch { stop, task })
}

impl EmptyPrimaryWatch {
    async fn finish(self) -> Result<()> {
        self.stop.send(true)?;
        self.task.await?
    }
}
