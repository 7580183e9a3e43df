//! Changes that a person asks for: commits stop for a moment, and none is lost.

use std::time::Duration;

use serde_json::json;
use windlass_e2e::prelude::*;

use super::subject::{Mysql, SMALL};
use super::writer::Writer;

/// How long a hand-over from one primary to the next may stop commits, on a machine that is busy.
const HAND_OVER: Duration = Duration::from_secs(10);

#[tokio::test]
async fn a_primary_hands_over_on_request_and_tells_for_how_long_it_stopped() -> Result<()> {
    scenario(async |ns| {
        let mysql = Mysql::running(ns).await?;
        let epoch = mysql.epoch().await?;
        let replicas = mysql.replicas().await?;
        let target = replicas.last().context("there is a replica")?;
        let mut writer = Writer::start(&mysql).await?;
        mysql
            .annotate("mysql.example.com/switchover", target.name())
            .await?;
        mysql.replaced(epoch).await?;
        writer.writes().await?;
        mysql.settled("have handed over", 3).await?;
        let primary = mysql.primary_name().await?;
        ensure!(primary == target.name(), "{primary} became the primary");
        let paused = format!("{primary} takes writes after ");
        mysql
            .told(&[("SwitchoverStarted", &primary), ("PrimaryReady", &paused)])
            .await?;
        writer.finish(&mysql).await?.check("handed over", HAND_OVER)
    })
    .await
}

#[tokio::test]
async fn instances_go_from_one_to_three_to_five_to_two_under_writes() -> Result<()> {
    scenario(async |ns| {
        let one = SMALL.replace("replicas: 3", "replicas: 1");
        let mysql = Mysql::running_as(ns, &one, 1).await?;
        let mut writer = Writer::start(&mysql).await?;
        for instances in [3, 5] {
            scale(&mysql, instances).await?;
            writer.writes().await?;
        }
        // The primary is among those that go: it moves first.
        let epoch = mysql.epoch().await?;
        mysql
            .annotate("mysql.example.com/switchover", "shop-4")
            .await?;
        mysql.replaced(epoch).await?;
        mysql.settled("have handed over", 5).await?;
        scale(&mysql, 2).await?;
        let primary = mysql.primary_name().await?;
        ensure!(
            ["shop-0", "shop-1"].contains(&primary.as_str()),
            "{primary} is the primary"
        );
        let outcome = writer.finish(&mysql).await?;
        outcome.check("scaled from 1 to 3 to 5 to 2", HAND_OVER)
    })
    .await
}

async fn scale(mysql: &Mysql<'_>, instances: usize) -> Result<()> {
    mysql
        .patch(json!({"spec": {"replicas": instances}}))
        .await?;
    let what = format!("have {instances} instances");
    mysql.settled(&what, instances).await.map(|_| ())
}
