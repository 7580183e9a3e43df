//! Real databases run on the cluster and keep what they were told.

use k8s_openapi::api::apps::v1::StatefulSet;
use k8s_openapi::api::core::v1::PersistentVolumeClaim;
use windlass_e2e::prelude::*;

const REDIS: &str = include_str!("../../manifests/redis.yaml");
const MYSQL: &str = include_str!("../../manifests/mysql.yaml");
const CLIENT: &str = include_str!("../../manifests/client.yaml");

#[tokio::test]
async fn a_stateful_set_of_redis_comes_up_with_its_volumes() -> Result<()> {
    scenario(async |ns| {
        ns.apply(REDIS).await?;

        ns.expect::<StatefulSet>("redis")
            .to("have 3 ready replicas", has_three_ready)
            .await?;

        for claim in ["data-redis-0", "data-redis-1", "data-redis-2"] {
            ns.expect::<PersistentVolumeClaim>(claim)
                .to("be bound", is_bound)
                .await?;
        }
        Ok(())
    })
    .await
}

#[tokio::test]
async fn a_service_and_a_dns_name_reach_redis_from_another_pod() -> Result<()> {
    scenario(async |ns| {
        ns.apply(REDIS).await?;
        ns.apply(CLIENT).await?;
        let client = ns.pod("client");
        client.ready().await?;
        ns.pod("redis-0").ready().await?;

        let by_address = ns.service_address("redis").await?;
        let by_name = ns.service_host("redis");
        let by_pod_name = format!("redis-0.{}", ns.service_host("redis-pods"));
        for host in [by_address, by_name, by_pod_name] {
            let answer = eventually(&format!("redis answers at {host}"), async || {
                client
                    .exec(&["timeout", "5", "redis-cli", "-e", "-h", &host, "PING"])
                    .await
            })
            .await?;
            ensure!(answer == "PONG", "{host} answered {answer:?}");
        }
        Ok(())
    })
    .await
}

#[tokio::test]
async fn a_killed_pod_returns_with_its_data() -> Result<()> {
    scenario(async |ns| {
        ns.apply(REDIS).await?;
        let redis = ns.pod("redis-0");
        redis.ready().await?;
        redis
            .exec(&["redis-cli", "-e", "SET", "ship", "windlass"])
            .await?;

        let killed = redis.kill().await?;
        redis.ready_again(&killed).await?;
        let deleted = redis.delete().await?;
        redis.ready_again(&deleted).await?;

        let kept = redis.exec(&["redis-cli", "-e", "GET", "ship"]).await?;
        ensure!(kept == "windlass", "the value became {kept:?}");
        Ok(())
    })
    .await
}

#[tokio::test]
async fn mysql_initialises_and_keeps_a_row_through_a_restart() -> Result<()> {
    scenario(async |ns| {
        ns.apply(MYSQL).await?;
        let mysql = ns.pod("mysql-0");
        mysql.ready().await?;
        sql(
            &mysql,
            "CREATE DATABASE port; CREATE TABLE port.ships (name VARCHAR(20))",
        )
        .await?;
        sql(&mysql, "INSERT INTO port.ships VALUES ('windlass')").await?;

        let killed = mysql.kill().await?;
        mysql.ready_again(&killed).await?;

        let kept = sql(&mysql, "SELECT name FROM port.ships").await?;
        ensure!(kept == "windlass", "the table holds {kept:?}");
        Ok(())
    })
    .await
}

async fn sql(mysql: &Pod, statement: &str) -> Result<String> {
    let client = [
        "mysql",
        "--user=root",
        "--socket=/tmp/mysqld.sock",
        "--skip-column-names",
    ];
    let command = [&client[..], &["--execute", statement]].concat();
    mysql.exec(&command).await
}

fn has_three_ready(set: &StatefulSet) -> bool {
    set.status.as_ref().and_then(|status| status.ready_replicas) == Some(3)
}

fn is_bound(claim: &PersistentVolumeClaim) -> bool {
    claim
        .status
        .as_ref()
        .and_then(|status| status.phase.as_deref())
        == Some("Bound")
}
