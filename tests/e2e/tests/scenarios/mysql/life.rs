//! From `kubectl apply` to `kubectl delete`, and back on the volumes that stayed.

use std::time::Duration;

use k8s_openapi::api::core::v1::{PersistentVolumeClaim, Secret};
use kube::ResourceExt;
use kube::api::ListParams;
use serde_json::json;
use windlass_e2e::prelude::*;

use super::subject::{GROUP, Mysql, SMALL};

/// The two files that a user has, under one group each.
const SAMPLES: &str = include_str!("../../../../../deploy/samples/mysql/clusters.yaml");

/// Within which a new cluster runs with all its instances.
const PROMISE: Duration = Duration::from_secs(90);

#[tokio::test]
async fn the_samples_run_and_are_listed_as_a_person_expects() -> Result<()> {
    scenario(async |ns| {
        let mut samples = SAMPLES.split("---\n");
        for (group, name) in [
            ("db.example.com", "production-mysql"),
            (GROUP, "my-database"),
        ] {
            let mysql = Mysql::held(ns, group, name).await;
            ns.apply(samples.next().context("there are two samples")?)
                .await?;
            mysql
                .expect()
                .within(PROMISE)
                .to("run with 3 instances", |mysql| {
                    mysql.data["status"]["phase"] == "Running"
                        && mysql.data["status"]["readyReplicas"] == 3
                })
                .await?;
            is_listed(&mysql, group).await?;
            serves_an_application(&mysql).await?;
            if group == GROUP {
                both_are_of_the_category(ns).await?;
            }
        }
        Ok(())
    })
    .await
}

/// What `kubectl get` prints.
async fn is_listed(mysql: &Mysql<'_>, group: &str) -> Result<()> {
    // Of a short name kubectl knows one kind.
    let kind = match group {
        "db.example.com" => "mc".to_owned(),
        group => format!("mysqlclusters.{group}"),
    };
    let get = ["get", &kind, "-n", mysql.ns().name()];
    let printed = mysql.ns().cluster().kubectl(&get).await?;
    let mut lines = printed
        .lines()
        .map(|line| line.split_whitespace().collect::<Vec<_>>());
    let heading = lines.next().unwrap_or_default();
    let primary = mysql.primary_name().await?;
    let row = [mysql.name(), "Running", "3", &primary];
    ensure!(
        heading == ["NAME", "PHASE", "READY", "PRIMARY", "AGE"],
        "kubectl printed {printed:?}"
    );
    ensure!(
        lines.any(|line| line.starts_with(&row)),
        "kubectl printed {printed:?}"
    );
    let pods = mysql.pods().await?;
    ensure!(
        pods.iter().any(|pod| pod.name_any() == primary),
        "{primary} is no Pod"
    );
    Ok(())
}

async fn both_are_of_the_category(ns: &Namespace) -> Result<()> {
    let printed = ns
        .cluster()
        .kubectl(&["get", "mysql", "-n", ns.name()])
        .await?;
    for name in ["production-mysql", "my-database"] {
        ensure!(printed.contains(name), "kubectl printed {printed:?}");
    }
    Ok(())
}

/// A client with what stands in the Secret writes at one Service and reads at the other.
async fn serves_an_application(mysql: &Mysql<'_>) -> Result<()> {
    mysql
        .write("CREATE TABLE ships (name VARCHAR(20) PRIMARY KEY)")
        .await?;
    mysql.write("INSERT INTO ships VALUES ('windlass')").await?;
    eventually("a replica gives the row", async || {
        let mut replica = mysql.connect("replicas").await?;
        let name: String = replica.row("SELECT name FROM ships").await?;
        ensure!(name == "windlass", "it gives {name:?}");
        Ok(())
    })
    .await?;
    let mut replica = mysql.connect("replicas").await?;
    let refused = replica.run("INSERT INTO ships VALUES ('anchor')").await;
    let refused = format!("{:#}", refused.err().context("a replica took a write")?);
    ensure!(refused.contains("read-only"), "it says {refused:?}");
    Ok(())
}

#[tokio::test]
async fn a_deleted_cluster_leaves_its_volumes_and_finds_its_data_again_unless_they_are_to_go()
-> Result<()> {
    scenario(async |ns| {
        let mysql = Mysql::running(ns).await?;
        mysql.write("CREATE TABLE ships (name VARCHAR(20))").await?;
        mysql.write("INSERT INTO ships VALUES ('windlass')").await?;
        let (epoch, login) = (mysql.epoch().await?, mysql.login("primary").await?);

        gone(&mysql).await?;
        ensure!(volumes(ns).await? == 3, "volumes are gone");

        ns.apply(SMALL).await?;
        mysql.settled("run on the volumes that stayed", 3).await?;
        let kept = mysql.same_everywhere("SELECT name FROM ships").await?;
        ensure!(kept == "windlass", "the table holds {kept:?}");
        let (later, again) = (mysql.epoch().await?, mysql.login("primary").await?);
        ensure!(later > epoch, "epoch {epoch} was followed by {later}");
        ensure!(again.password == login.password, "the password is another");

        mysql
            .patch(json!({"spec": {"deletionPolicy": "Delete"}}))
            .await?;
        mysql.settled("have seen the policy", 3).await?;
        gone(&mysql).await?;
        eventually("neither volumes nor passwords are left", async || {
            let left = volumes(ns).await?;
            ensure!(left == 0, "{left} volumes are left");
            let secrets = ns.api::<Secret>().list(&ListParams::default()).await?.items;
            ensure!(secrets.is_empty(), "{} Secrets are left", secrets.len());
            Ok(())
        })
        .await
    })
    .await
}

/// Deletes it and waits until no Pod is left.
async fn gone(mysql: &Mysql<'_>) -> Result<()> {
    mysql.delete().await?;
    mysql.expect().to_be_gone().await?;
    eventually("no Pod is left", async || {
        let left = mysql.pods().await?.len();
        ensure!(left == 0, "{left} are left");
        Ok(())
    })
    .await
}

async fn volumes(ns: &Namespace) -> Result<usize> {
    let volumes = ns.api::<PersistentVolumeClaim>();
    Ok(volumes.list(&ListParams::default()).await?.items.len())
}
