//! The primary dies under a client that commits: another takes over, and the journal says what it cost.
//!
//! Making three MySQLs takes longer than most stories about them: several happen to one cluster, each from where
//! all was well again.

use std::time::Duration;

use kube::ResourceExt;
use windlass_e2e::prelude::*;

use super::subject::Mysql;
use super::writer::Writer;

/// Within which commits are taken again after a primary was lost.
pub(super) const PROMISE: Duration = Duration::from_secs(30);

/// Lets `fault` happen to the primary under a writer, and checks that another one took over, that the old one came
/// back as a replica, that status, labels and servers agree, and that no acknowledged commit is missing anywhere.
pub(super) async fn survives(
    mysql: &Mysql<'_>,
    story: &str,
    fault: impl AsyncFnOnce(&Mysql<'_>, &Pod) -> Result<()>,
) -> Result<()> {
    let (old, epoch) = (mysql.primary().await?, mysql.epoch().await?);
    let mut writer = Writer::start(mysql).await?;
    let survived = async {
        fault(mysql, &old).await?;
        mysql.replaced(epoch).await?;
        writer.writes().await?;
        mysql.settled("be whole again", 3).await?;
        let new = mysql.primary_name().await?;
        ensure!(new != old.name(), "{new} is the primary again");
        let moved = format!("{new} becomes the primary in epoch {}", epoch + 1);
        mysql.told(&[("PrimaryChosen", &moved)]).await?;
        writer.finish(mysql).await?.check(story, PROMISE)
    };
    survived.await.with_context(|| story.to_owned())
}

#[tokio::test]
async fn a_primary_that_ends_is_replaced_and_no_acknowledged_commit_is_lost() -> Result<()> {
    scenario(async |ns| {
        let mysql = Mysql::running(ns).await?;
        survives(&mysql, "primary killed", async |_, primary| {
            primary.kill().await.map(|_| ())
        })
        .await?;
        survives(&mysql, "primary deleted by force", async |_, primary| {
            primary.force_delete().await.map(|_| ())
        })
        .await?;
        survives(&mysql, "primary deleted", async |_, primary| {
            primary.delete().await.map(|_| ())
        })
        .await?;
        two_in_a_row(&mysql).await
    })
    .await
}

/// The second dies as soon as it takes commits, while the first is coming back: until one of them is back with all
/// that was committed, nobody can acknowledge anything.
async fn two_in_a_row(mysql: &Mysql<'_>) -> Result<()> {
    let epoch = mysql.epoch().await?;
    let mut writer = Writer::start(mysql).await?;
    for times in 0..2 {
        mysql.primary().await?.force_delete().await?;
        mysql.replaced(epoch + times).await?;
        writer.writes().await?;
    }
    mysql.settled("be whole again", 3).await?;
    let outcome = writer.finish(mysql).await?;
    outcome.check("two primaries deleted in a row", PATIENCE)
}

#[tokio::test]
async fn a_frozen_primary_is_replaced_and_refuses_commits_when_it_thaws() -> Result<()> {
    scenario(async |ns| {
        let mysql = Mysql::running(ns).await?;
        survives(&mysql, "primary frozen", async |mysql, primary| {
            let epoch = mysql.epoch().await?;
            let frozen = primary.freeze().await?;
            mysql.replaced(epoch).await?;
            frozen.thaw();
            Ok(())
        })
        .await
    })
    .await
}

#[tokio::test]
async fn all_instances_end_at_once_and_come_back_with_every_acknowledged_commit() -> Result<()> {
    scenario(async |ns| {
        let mysql = Mysql::running(ns).await?;
        all_end(&mysql, "all killed", async |pod| {
            pod.kill().await.map(|_| ())
        })
        .await?;
        all_end(&mysql, "all deleted by force", async |pod| {
            pod.force_delete().await.map(|_| ())
        })
        .await
    })
    .await
}

async fn all_end(
    mysql: &Mysql<'_>,
    story: &str,
    end: impl AsyncFn(&Pod) -> Result<()>,
) -> Result<()> {
    let mut writer = Writer::start(mysql).await?;
    for pod in mysql.pods().await? {
        end(&mysql.ns().pod(&pod.name_any())).await?;
    }
    writer.writes().await?;
    mysql.settled("be whole again", 3).await?;
    let outcome = writer.finish(mysql).await?;
    // As long as MySQL takes to start.
    outcome.check(story, PATIENCE)
}
