//! The host was away: what happened meanwhile is put right when it returns, and nothing else is done.

use std::time::Duration;

use windlass_e2e::audit::Writes;
use windlass_e2e::host;
use windlass_e2e::prelude::*;

use super::monitor::Monitor;
use super::subject::Redis;
use super::writer::Writer;

/// From the host's return.
const PROMISE: Duration = Duration::from_secs(15);

#[tokio::test]
async fn a_primary_lost_while_no_host_ran_is_replaced_when_one_returns() -> Result<()> {
    scenario(async |ns| {
        let (primary, mut writer) = {
            let redis = Redis::running(ns).await?;
            (redis.primary().await?, Writer::start(&redis).await?)
        };
        let absence = host::end(ns.cluster()).await?;
        let lost = primary.force_delete().await?;
        // It boots unwritable: nothing but the host may open it.
        primary.ready_again(&lost).await?;
        absence.end().await?;
        tokio::time::timeout(PROMISE, writer.writes())
            .await
            .context("no write was taken in time after the host's return")??;

        let redis = Redis::held(ns).await;
        redis.settled("be whole again", 3).await?;
        writer
            .finish(&redis)
            .await?
            .check_loss("primary lost while no host ran")
    })
    .await
}

#[tokio::test]
async fn a_redis_deleted_while_no_host_ran_goes_when_one_returns() -> Result<()> {
    scenario(async |ns| {
        drop(Redis::running(ns).await?);
        let absence = host::end(ns.cluster()).await?;
        let redis = Redis::of(ns);
        redis.delete().await?;
        absence.end().await?;
        redis.expect().to_be_gone().await
    })
    .await
}

#[tokio::test]
async fn a_host_that_was_frozen_for_longer_than_its_lease_does_nothing_when_it_thaws() -> Result<()>
{
    scenario(async |ns| {
        let (primary, epoch, mut writer) = {
            let redis = Redis::running(ns).await?;
            let writer = Writer::start(&redis).await?;
            (redis.primary().await?, redis.epoch().await?, writer)
        };
        let alone = host::alone().await;
        let acting = host::acting(ns.cluster()).await?;
        let frozen = acting.freeze().await?;
        // What it would act on, were it awake.
        primary.force_delete().await?;
        let redis = Redis::of(ns);
        redis
            .expect()
            .to("be taken over by the other host", |redis| {
                redis.data["status"]["epoch"].as_i64() > Some(epoch)
            })
            .await?;
        writer.writes().await?;

        let address = acting.ip().await?;
        let monitor = Monitor::of(&redis).await?;
        let writes = Writes::begin(ns)?.from(&acting).await?;
        frozen.thaw();
        writes.none_for(Duration::from_secs(20)).await?;
        // A question that was on its way when it froze still leaves; nothing follows from the answer.
        let acts = monitor.acting_from(address);
        ensure!(acts.is_empty(), "it acts on Redis: {acts:?}");
        let other = monitor.from(host::acting(ns.cluster()).await?.ip().await?);
        ensure!(!other.is_empty(), "MONITOR does not show the acting host");
        redis.settled("be whole again", 3).await?;
        drop(alone);
        writer
            .finish(&redis)
            .await?
            .check_loss("acting host frozen")
    })
    .await
}
