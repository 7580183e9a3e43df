//! Backups: on request and by the clock, to S3-compatible storage and to a volume, and back by hand.

use k8s_openapi::api::core::v1::Secret;
use kube::api::{DynamicObject, ObjectMeta, PostParams};
use object_store::aws::AmazonS3;
use object_store::path::Path;
use object_store::{ObjectStore as _, ObjectStoreExt as _};
use serde_json::{Value, json};
use windlass_e2e::prelude::*;
use windlass_e2e::tools::S3Server;

use super::subject::{Mysql, SMALL, condition};

/// A backup is made whenever its value changes.
const NOW: &str = "mysql.example.com/backup";

const ROWS: &str = "INSERT INTO ships VALUES ('windlass'), ('anchor'), ('ünï€')";
const SUM: &str = "SELECT GROUP_CONCAT(name ORDER BY name) FROM app.ships";

#[tokio::test]
async fn a_backup_on_request_goes_to_s3_says_why_it_fails_and_outlives_its_days_alone() -> Result<()>
{
    scenario(async |ns| {
        let two = SMALL.replace("replicas: 3", "replicas: 2");
        let mysql = Mysql::running_as(ns, &two, 2).await?;
        fill(&mysql).await?;
        let server = S3Server::start_at(ns.pod("shop-0").machine_ip().await?).await?;
        store_in(&mysql, &server).await?;

        let failed = backup(&mysql, "without bucket", "Failed").await?;
        ensure!(
            text(&failed["why"]).contains("NoSuchBucket"),
            "it says {failed}"
        );
        mysql.told(&[("BackupFailed", "NoSuchBucket")]).await?;
        ensure!(condition(&mysql.get().await?, "BackupSucceeded") == Some("False"));

        let bucket = server.bucket("backups")?;
        let first = backup(&mysql, "first", "Succeeded").await?;
        ensure!(condition(&mysql.get().await?, "BackupSucceeded") == Some("True"));
        let primary = mysql.primary().await?;
        ensure!(first["source"] != primary.name(), "it burdens the primary");
        ensure!(first["size"].as_u64() > Some(0) && first["duration"].as_u64() > Some(0));
        let committed = mysql.root(&primary, "SELECT @@gtid_executed").await?;
        ensure!(first["gtidSet"] == committed.as_str(), "it holds {first}");

        let id = text(&first["id"]).to_owned();
        ensure!(first["location"] == format!("s3://backups/shop/{id}"));
        age(&bucket, &format!("shop/{id}")).await?;
        let second = backup(&mysql, "second", "Succeeded").await?;
        let left = bucket
            .list_with_delimiter(Some(&Path::from("shop")))
            .await?;
        let wanted = Path::from(format!("shop/{}", text(&second["id"])));
        ensure!(
            left.common_prefixes == [wanted],
            "these are left: {:?}",
            left.common_prefixes
        );
        Ok(())
    })
    .await
}

async fn fill(mysql: &Mysql<'_>) -> Result<()> {
    mysql
        .write("CREATE TABLE ships (name VARCHAR(20) PRIMARY KEY) CHARACTER SET utf8mb4")
        .await?;
    mysql.write(ROWS).await
}

async fn store_in(mysql: &Mysql<'_>, server: &S3Server) -> Result<()> {
    let keys = server.credentials();
    let keys = keys.map(|(key, value)| (key.to_owned(), value.to_owned()));
    let secret = Secret {
        metadata: ObjectMeta {
            name: Some("storage".to_owned()),
            ..ObjectMeta::default()
        },
        string_data: Some(keys.into()),
        ..Secret::default()
    };
    let secrets = mysql.ns().api::<Secret>();
    secrets.create(&PostParams::default(), &secret).await?;
    let backup = json!({
        "storagePath": "s3://backups/shop",
        "endpoint": server.endpoint(),
        "credentialsSecret": "storage",
        "retentionDays": 7,
    });
    mysql.patch(json!({"spec": {"backup": backup}})).await
}

/// Asks for a backup and waits until it ended like this; returns what status says of it.
async fn backup(mysql: &Mysql<'_>, request: &str, state: &str) -> Result<Value> {
    let before = newest(&mysql.get().await?)["id"].clone();
    mysql.annotate(NOW, request).await?;
    let ended = mysql
        .expect()
        .to(&format!("have another backup that {state}"), |mysql| {
            let newest = newest(mysql);
            newest["id"] != before && newest["state"] == state
        })
        .await?;
    Ok(newest(&ended).clone())
}

fn newest(mysql: &DynamicObject) -> &Value {
    &mysql.data["status"]["backups"][0]
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// Makes a backup years old.
async fn age(bucket: &AmazonS3, folder: &str) -> Result<()> {
    let path = Path::from(format!("{folder}/backup.json"));
    let manifest = bucket.get(&path).await?.bytes().await?;
    let mut manifest: Value = serde_json::from_slice(&manifest)?;
    for moment in ["begun", "finished"] {
        ensure!(manifest[moment].is_string(), "the manifest is {manifest}");
        manifest[moment] = json!("2023-10-25T02:00:00Z");
    }
    bucket.put(&path, manifest.to_string().into()).await?;
    Ok(())
}

#[tokio::test]
async fn a_backup_by_the_clock_goes_to_a_volume_and_comes_back_by_hand() -> Result<()> {
    scenario(async |ns| {
        let one = SMALL.replace("replicas: 3", "replicas: 1");
        let mysql = Mysql::running_as(ns, &one, 1).await?;
        fill(&mysql).await?;
        let every_minute = json!({"schedule": "* * * * *", "size": "1Gi"});
        mysql
            .patch(json!({"spec": {"backup": every_minute}}))
            .await?;
        let made = mysql
            .expect()
            .to("have a backup", |mysql| {
                newest(mysql)["state"] == "Succeeded"
            })
            .await?;
        let id = text(&newest(&made)["id"]);
        // None begins while the volume is looked at.
        mysql
            .patch(json!({"spec": {"backup": {"schedule": "0 2 * * *"}}}))
            .await?;

        ns.apply(include_str!("../../../manifests/empty-mysql.yaml"))
            .await?;
        let empty = ns.pod("empty");
        empty.ready().await?;
        let client = "mysql --user=root --socket=/tmp/mysqld.sock --default-character-set=utf8mb4";
        let restore =
            format!("set -o pipefail; gzip -dc /backups/shop/{id}/data/dump.sql.gz | {client}");
        empty.exec(&["bash", "-c", &restore]).await?;
        let read = format!("{client} --batch --skip-column-names --execute \"{SUM}\"");
        let rows = empty.exec(&["bash", "-c", &read]).await?;
        ensure!(
            rows == "anchor,ünï€,windlass",
            "the restored table holds {rows:?}"
        );
        Ok(())
    })
    .await
}
