//! The network is cut between a primary, its replicas and the host, and heals.

use std::time::Duration;

use tokio::time::Instant;
use windlass_e2e::host;
use windlass_e2e::prelude::*;

use super::failover::{PROMISE, survives};
use super::subject::{Mysql, condition};
use super::writer::Writer;

#[tokio::test]
async fn a_cut_network_stops_commits_only_while_it_must_and_loses_none() -> Result<()> {
    scenario(async |ns| {
        let mysql = Mysql::running(ns).await?;
        between_primary_and_host(&mysql).await?;
        between_primary_and_replicas(&mysql).await?;
        between_replica_and_everyone(&mysql).await?;
        survives(
            &mysql,
            "primary cut off from everyone",
            async |mysql, primary| {
                let epoch = mysql.epoch().await?;
                let cut = primary.cut_off(From::Everyone).await?;
                mysql.replaced(epoch).await?;
                cut.heal()
            },
        )
        .await
    })
    .await
}

/// Replicas hear from it: it stays.
async fn between_primary_and_host(mysql: &Mysql<'_>) -> Result<()> {
    let (primary, epoch) = (mysql.primary().await?, mysql.epoch().await?);
    let mut writer = Writer::start(mysql).await?;

    let hosts = host::pods(mysql.ns().cluster()).await?;
    let cut = primary
        .cut_off(From::Pods(&hosts.iter().collect::<Vec<_>>()))
        .await?;
    mysql
        .expect()
        .to("say that it is not certain", |mysql| {
            condition(mysql, "Ready") == Some("Unknown")
        })
        .await?;
    throughout(Duration::from_secs(15), "the primary stays", async || {
        ensure!(mysql.epoch().await? == epoch, "another primary was chosen");
        Ok(())
    })
    .await?;
    writer.writes().await?;
    cut.heal()?;

    mysql.settled("be certain again", 3).await?;
    ensure!(mysql.epoch().await? == epoch, "another primary was chosen");
    let outcome = writer.finish(mysql).await?;
    outcome.check("primary cut off from the host", Duration::from_secs(5))
}

/// Nobody can acknowledge: commits wait, and go on as soon as the cut heals.
async fn between_primary_and_replicas(mysql: &Mysql<'_>) -> Result<()> {
    let (primary, epoch) = (mysql.primary().await?, mysql.epoch().await?);
    let mut writer = Writer::start(mysql).await?;

    let replicas = mysql.replicas().await?;
    let cut = primary
        .cut_off(From::Pods(&replicas.iter().collect::<Vec<_>>()))
        .await?;
    mysql
        .expect()
        .to("say that writes wait", |mysql| {
            condition(mysql, "WritesBlocked") == Some("True")
        })
        .await?;
    cut.heal()?;
    let healed = Instant::now();
    writer.writes().await?;
    let took = healed.elapsed();
    ensure!(took <= PROMISE, "commits waited for {took:?} after the cut");

    mysql.settled("be whole again", 3).await?;
    ensure!(mysql.epoch().await? == epoch, "another primary was chosen");
    println!(
        "commits went on {:.1} s after the cut healed",
        took.as_secs_f32()
    );
    // How long commits wait is how long the cut lasts.
    let outcome = writer.finish(mysql).await?;
    outcome.check("primary cut off from its replicas", PATIENCE)
}

/// The other replica acknowledges: nobody notices, and what was cut off follows again as it is.
async fn between_replica_and_everyone(mysql: &Mysql<'_>) -> Result<()> {
    let epoch = mysql.epoch().await?;
    let mut writer = Writer::start(mysql).await?;

    let replicas = mysql.replicas().await?;
    let replica = replicas.last().context("there is a replica")?;
    let cut = replica.cut_off(From::Everyone).await?;
    mysql
        .expect()
        .to("miss an instance", |mysql| {
            mysql.data["status"]["readyReplicas"] == 2
        })
        .await?;
    writer.writes().await?;
    cut.heal()?;

    mysql.settled("be whole again", 3).await?;
    ensure!(mysql.epoch().await? == epoch, "another primary was chosen");
    let told = mysql.events().await?;
    ensure!(
        told.iter().all(|(reason, _)| reason != "RebuildStarted"),
        "it was rebuilt: {told:?}"
    );
    let outcome = writer.finish(mysql).await?;
    outcome.check("replica cut off from everyone", Duration::from_secs(10))
}

/// Clients still reach a primary that neither its replicas nor the host reach any more. Semi-synchronous, it can
/// acknowledge nothing. Not so, it acknowledges what is lost: that the check sees it shows that it is one.
#[tokio::test]
async fn what_an_isolated_primary_acknowledges_is_nothing_unless_it_waits_for_nobody() -> Result<()>
{
    scenario(async |ns| {
        let mysql = Mysql::running(ns).await?;
        survives(
            &mysql,
            "primary cut off from all but clients",
            async |mysql, primary| isolate(mysql, primary, async |_| Ok(())).await,
        )
        .await?;

        let epoch = mysql.epoch().await?;
        let writer = Writer::start(&mysql).await?;
        isolate(&mysql, &mysql.primary().await?, async |primary| {
            let asynchronous = "SET GLOBAL rpl_semi_sync_source_enabled = OFF";
            mysql.root(primary, asynchronous).await.map(|_| ())
        })
        .await?;
        mysql.settled("be whole again", 3).await?;
        ensure!(mysql.epoch().await? > epoch);
        let outcome = writer.finish(&mysql).await?;
        outcome.tell("the same without semi-synchronous replication");
        ensure!(outcome.lost() > 0, "the check misses what must be lost");
        mysql
            .told(&[
                ("ErrantTransactions", "has transactions that"),
                ("Rebuilt", "is a copy"),
            ])
            .await
    })
    .await
}

/// Cuts a primary off from all other Pods until another one is chosen; `then` happens right after the cut.
async fn isolate(
    mysql: &Mysql<'_>,
    primary: &Pod,
    then: impl AsyncFnOnce(&Pod) -> Result<()>,
) -> Result<()> {
    let epoch = mysql.epoch().await?;
    let mut others = mysql.replicas().await?;
    others.extend(host::pods(mysql.ns().cluster()).await?);
    let cut = primary
        .cut_off(From::Pods(&others.iter().collect::<Vec<_>>()))
        .await?;
    then(primary).await?;
    mysql.replaced(epoch).await?;
    cut.heal()
}
