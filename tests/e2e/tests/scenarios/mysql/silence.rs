//! Where nothing happens, nothing is written.

use std::time::Duration;

use windlass_e2e::audit::Writes;
use windlass_e2e::prelude::*;

use super::subject::Mysql;

const WATCHED: Duration = Duration::from_secs(30);

#[tokio::test]
async fn a_cluster_that_is_well_causes_no_write_to_the_api_server() -> Result<()> {
    scenario(async |ns| {
        let mysql = Mysql::running(ns).await?;
        // What was done to bring it up is noted until it has been well for a while.
        throughout(Duration::from_secs(12), "it stays well", async || {
            mysql.settled("stay well", 3).await.map(|_| ())
        })
        .await?;
        let before = mysql.get().await?.metadata.resource_version;
        Writes::begin(ns)?.none_for(WATCHED).await?;
        let now = mysql.get().await?.metadata.resource_version;
        ensure!(now == before, "the MySQLCluster was written");
        Ok(())
    })
    .await
}
