//! A disk is full, or gone with everything on it.

use k8s_openapi::api::core::v1::PersistentVolumeClaim;
use kube::ResourceExt;
use kube::api::DeleteParams;
use windlass_e2e::prelude::*;

use super::failover::survives;
use super::subject::{Mysql, SMALL};
use super::writer::Writer;

#[tokio::test]
async fn a_primary_without_room_or_without_volume_is_replaced() -> Result<()> {
    scenario(async |ns| {
        let mysql = Mysql::running(ns).await?;
        survives(&mysql, "primary's disk full", async |mysql, primary| {
            let epoch = mysql.epoch().await?;
            let full = primary.fill_disk("/var/lib/mysql").await?;
            mysql.replaced(epoch).await?;
            full.relieve()
        })
        .await?;
        survives(&mysql, "primary's volume lost", lose_with_volume).await?;
        a_lost_replica_becomes_a_copy(&mysql).await
    })
    .await
}

async fn a_lost_replica_becomes_a_copy(mysql: &Mysql<'_>) -> Result<()> {
    let epoch = mysql.epoch().await?;
    let mut writer = Writer::start(mysql).await?;
    let replicas = mysql.replicas().await?;
    let lost = replicas.first().context("there is a replica")?;
    lose_with_volume(mysql, lost).await?;
    writer.writes().await?;
    mysql.settled("be whole again", 3).await?;
    ensure!(mysql.epoch().await? == epoch, "another primary was chosen");
    let (started, done) = (
        format!("{} becomes a copy of", lost.name()),
        format!("{} is a copy by now", lost.name()),
    );
    mysql
        .told(&[("RebuildStarted", &started), ("Rebuilt", &done)])
        .await?;
    let outcome = writer.finish(mysql).await?;
    outcome.check(
        "replica lost with its volume",
        std::time::Duration::from_secs(10),
    )
}

/// Nobody can acknowledge until the only other instance has everything again, and a commit that waits holds up the
/// copy that would give it: some of the commits that wait must end in an error.
#[tokio::test]
async fn a_replica_of_two_that_lost_its_volume_becomes_a_copy_while_commits_wait() -> Result<()> {
    scenario(async |ns| {
        let two = SMALL.replace("replicas: 3", "replicas: 2");
        let mysql = Mysql::running_as(ns, &two, 2).await?;
        let epoch = mysql.epoch().await?;
        let mut writer = Writer::start(&mysql).await?;
        let replicas = mysql.replicas().await?;
        let lost = replicas.first().context("there is a replica")?;
        lose_with_volume(&mysql, lost).await?;
        mysql.settled("be whole again", 2).await?;
        writer.writes().await?;
        ensure!(mysql.epoch().await? == epoch, "another primary was chosen");
        let outcome = writer.finish(&mysql).await?;
        // For as long as the copy takes.
        outcome.check("the only replica lost with its volume", PATIENCE)
    })
    .await
}

/// Takes the Pod and its volume, as a node that burns does.
async fn lose_with_volume(mysql: &Mysql<'_>, pod: &Pod) -> Result<()> {
    let claims = mysql.ns().api::<PersistentVolumeClaim>();
    let name = format!("data-{}", pod.name());
    let before = claims.get(&name).await?.uid();
    claims.delete(&name, &DeleteParams::default()).await?;
    // The claim is kept as long as a Pod uses it, so the Pod must stay away until it is gone.
    pod.force_delete().await?;
    eventually("the volume is another", async || {
        let claim = claims.get(&name).await?;
        if claim.uid() == before && claim.metadata.deletion_timestamp.is_some() {
            // A Pod that was quicker than the claim's end waits for it for ever.
            let _ = pod.force_delete().await;
        }
        ensure!(claim.uid() != before, "the claim is still the old one");
        Ok(())
    })
    .await
}
