//! Somebody broke replication at 3 a.m.: it is repaired without a person, and Events tell what was found and done.

use std::time::Duration;

use windlass_e2e::prelude::*;

use super::subject::Mysql;
use super::writer::Writer;

/// How long commits may stop when one replica of two is broken: the other acknowledges.
const HICCUP: Duration = Duration::from_secs(15);

#[tokio::test]
async fn broken_replication_is_repaired_without_a_person() -> Result<()> {
    scenario(async |ns| {
        let mysql = Mysql::running(ns).await?;
        mysql
            .write("CREATE TABLE ships (name VARCHAR(20) PRIMARY KEY)")
            .await?;
        broken(&mysql, "receiver stopped", stop_the_receiver).await?;
        broken(&mysql, "replication account dropped", drop_the_account).await?;
        broken(&mysql, "foreign row", write_on_the_replica).await?;
        broken(&mysql, "binary logs purged", purge_what_it_lacks).await?;
        broken(&mysql, "data emptied", empty_the_data).await
    })
    .await
}

/// Lets `harm` happen to a replica under a writer, and checks that all is well again, that the primary stayed and
/// that every instance has what was acknowledged.
async fn broken(
    mysql: &Mysql<'_>,
    story: &str,
    harm: impl AsyncFnOnce(&Mysql<'_>, &Pod) -> Result<()>,
) -> Result<()> {
    let epoch = mysql.epoch().await?;
    let writer = Writer::start(mysql).await?;
    let repaired = async {
        let replicas = mysql.replicas().await?;
        harm(mysql, replicas.last().context("there is a replica")?).await?;
        mysql.settled("be whole again", 3).await?;
        ensure!(mysql.epoch().await? == epoch, "another primary was chosen");
        writer.finish(mysql).await?.check(story, HICCUP)
    };
    repaired.await.with_context(|| story.to_owned())
}

async fn stop_the_receiver(mysql: &Mysql<'_>, replica: &Pod) -> Result<()> {
    mysql.root(replica, "STOP REPLICA IO_THREAD").await?;
    let found = format!("the replication of {} was stopped", replica.name());
    mysql.told(&[("ReplicationStarted", &found)]).await
}

/// What is connected stays so: the replica notices when it connects again.
async fn drop_the_account(mysql: &Mysql<'_>, replica: &Pod) -> Result<()> {
    let primary = mysql.primary().await?;
    mysql.root(&primary, "DROP USER replication").await?;
    mysql.root(replica, "STOP REPLICA IO_THREAD").await?;
    let found = format!(
        "{} does not follow: the primary does not let it in (1045); the operator's accounts are made again",
        replica.name()
    );
    mysql.told(&[("ReplicaBroken", &found)]).await
}

/// A row that the primary gets later on too: the replica cannot apply it.
async fn write_on_the_replica(mysql: &Mysql<'_>, replica: &Pod) -> Result<()> {
    let uuid = uuid_of(mysql, replica).await?;
    let insert = "INSERT INTO app.ships VALUES ('anchor')";
    let statements =
        format!("SET GLOBAL super_read_only = OFF; {insert}; SET GLOBAL super_read_only = ON");
    mysql.root(replica, &statements).await?;
    mysql.write("INSERT INTO ships VALUES ('anchor')").await?;
    let foreign = format!("{uuid}:1");
    mysql
        .expect()
        .to("keep the foreign transaction in status", |mysql| {
            mysql.data["status"]["errant"][replica.name()] == foreign.as_str()
        })
        .await?;
    let found = format!("{} has transactions that", replica.name());
    was_rebuilt(mysql, replica, &uuid, ("ErrantTransactions", &found)).await?;
    let now = mysql.get().await?;
    let discarded = &now.data["status"]["discarded"][0];
    ensure!(
        discarded["pod"] == replica.name() && discarded["gtidSet"] == foreign.as_str(),
        "status says of what went with the old data: {discarded}"
    );
    Ok(())
}

/// The replica is away while the primary throws its binary logs away.
async fn purge_what_it_lacks(mysql: &Mysql<'_>, replica: &Pod) -> Result<()> {
    let uuid = uuid_of(mysql, replica).await?;
    let primary = mysql.primary().await?;
    let cut = replica.cut_off(From::Everyone).await?;
    let purged = eventually("the primary purges what the replica lacks", async || {
        purge(mysql, &primary, replica).await?;
        let purged = mysql.root(&primary, "SELECT @@gtid_purged").await?;
        let lacks = format!(
            "SELECT GTID_SUBTRACT('{}', @@gtid_executed)",
            joined(&purged)
        );
        let lacks = mysql.root(replica, &lacks).await?;
        ensure!(
            !lacks.is_empty(),
            "{purged} is purged, and the replica has it"
        );
        Ok(())
    });
    purged.await?;
    cut.heal()?;
    let found = format!("{} does not follow", replica.name());
    was_rebuilt(mysql, replica, &uuid, ("ReplicaBroken", &found)).await
}

/// Throws all binary logs away but the newest. One that a replica is being sent stays: the one that no longer
/// answers is hung up on first.
async fn purge(mysql: &Mysql<'_>, primary: &Pod, replica: &Pod) -> Result<()> {
    let dumps = format!(
        "SELECT CONCAT('KILL ', id) FROM information_schema.processlist \
         WHERE command LIKE 'Binlog Dump%' AND host LIKE '{}:%'",
        replica.ip().await?
    );
    for hang_up in mysql.root(primary, &dumps).await?.lines() {
        // It may have ended by itself.
        let _ = mysql.root(primary, hang_up).await;
    }
    mysql.root(primary, "FLUSH BINARY LOGS").await?;
    let logs = mysql.root(primary, "SHOW BINARY LOGS").await?;
    let newest = logs.lines().last().and_then(|line| line.split('\t').next());
    let newest = newest.context("there is a binary log")?;
    let purge = format!("PURGE BINARY LOGS TO '{newest}'");
    mysql.root(primary, &purge).await.map(|_| ())
}

/// MySQL finds nothing where its data was.
async fn empty_the_data(mysql: &Mysql<'_>, replica: &Pod) -> Result<()> {
    let uuid = uuid_of(mysql, replica).await?;
    let empty = "rm -rf /var/lib/mysql/data/* /var/lib/mysql/data/.[!.]*";
    replica.exec(&["sh", "-c", empty]).await?;
    replica.kill().await?;
    was_rebuilt(mysql, replica, &uuid, ("RebuildStarted", replica.name())).await
}

/// Events tell what was found and done, and the replica's data is no longer what had this uuid.
async fn was_rebuilt(
    mysql: &Mysql<'_>,
    replica: &Pod,
    uuid: &str,
    found: (&str, &str),
) -> Result<()> {
    let copied = format!("{} is a copy by now", replica.name());
    mysql.told(&[found, ("Rebuilt", &copied)]).await?;
    // Events of an earlier copy look the same: the data itself tells.
    eventually("the replica has other data", async || {
        let now = uuid_of(mysql, replica).await?;
        ensure!(now != uuid, "it is still {uuid}");
        Ok(())
    })
    .await
}

async fn uuid_of(mysql: &Mysql<'_>, pod: &Pod) -> Result<String> {
    mysql.root(pod, "SELECT @@server_uuid").await
}

fn joined(set: &str) -> String {
    set.replace("\\n", "").replace('\n', "")
}
