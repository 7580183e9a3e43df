//! The host is killed in the middle of a failover, and away altogether: no commit is lost, and it goes on where it
//! ended.

use windlass_e2e::host;
use windlass_e2e::prelude::*;

use super::failover::PROMISE;
use super::subject::{GROUP, Mysql};
use super::writer::Writer;

#[tokio::test]
async fn a_failover_goes_on_when_the_host_that_began_it_is_killed() -> Result<()> {
    scenario(async |ns| {
        let mysql = Mysql::running(ns).await?;
        let (primary, epoch) = (mysql.primary().await?, mysql.epoch().await?);
        let mut writer = Writer::start(&mysql).await?;
        // Others may use the host from now on only when this one is through with it.
        drop(mysql);
        let alone = host::alone().await;
        let mysql = Mysql::of(ns, GROUP, "shop");
        let acting = host::acting(ns.cluster()).await?;
        primary.kill().await?;
        mysql
            .expect()
            .to("have decided on a failover or done it", |mysql| {
                let status = &mysql.data["status"];
                status["intent"]["kind"] == "Failover" || status["epoch"].as_i64() > Some(epoch)
            })
            .await?;
        acting.force_delete().await?;
        mysql.replaced(epoch).await?;
        writer.writes().await?;
        mysql.settled("be whole again", 3).await?;
        let outcome = writer.finish(&mysql).await?;
        outcome.check("host killed in the middle of a failover", PROMISE * 2)?;
        host_is_whole(ns).await?;
        drop(alone);
        Ok(())
    })
    .await
}

/// Both Pods of the host are ready again, for those who come after.
async fn host_is_whole(ns: &Namespace) -> Result<()> {
    for pod in host::pods(ns.cluster()).await? {
        pod.expect()
            .within(host::START)
            .to("be ready", windlass_e2e::pod::is_ready)
            .await?;
    }
    Ok(())
}

#[tokio::test]
async fn a_primary_lost_while_no_host_ran_is_replaced_when_one_returns() -> Result<()> {
    scenario(async |ns| {
        let (primary, mut writer) = {
            let mysql = Mysql::running(ns).await?;
            (mysql.primary().await?, Writer::start(&mysql).await?)
        };
        let absence = host::end(ns.cluster()).await?;
        let lost = primary.force_delete().await?;
        // It boots read-only: nothing but the host may open it.
        primary.ready_again(&lost).await?;
        absence.end().await?;
        tokio::time::timeout(PROMISE, writer.writes())
            .await
            .context("no commit was taken in time after the host's return")??;
        let mysql = Mysql::held(ns, GROUP, "shop").await;
        mysql.settled("be whole again", 3).await?;
        let outcome = writer.finish(&mysql).await?;
        outcome.tell("primary lost while no host ran");
        ensure!(outcome.lost() == 0, "acknowledged commits are lost");
        Ok(())
    })
    .await
}
