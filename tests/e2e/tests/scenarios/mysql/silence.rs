//! Where nothing happens, nothing is written.

use std::time::Duration;

use windlass_e2e::audit::{Writes, rests};
use windlass_e2e::prelude::*;

use super::subject::Mysql;

/// Longer than what was done to bring it up stays noted in its status.
const AT_REST: Duration = Duration::from_secs(12);
const WATCHED: Duration = Duration::from_secs(30);

#[tokio::test]
async fn a_cluster_that_is_well_causes_no_write_to_the_api_server() -> Result<()> {
    scenario(async |ns| {
        let mysql = Mysql::running(ns).await?;
        rests(ns, AT_REST).await?;
        mysql.settled("stay well", 3).await?;
        let before = mysql.get().await?.metadata.resource_version;
        Writes::begin(ns)?.none_for(WATCHED).await?;
        let now = mysql.get().await?.metadata.resource_version;
        ensure!(now == before, "the MySQLCluster was written");
        Ok(())
    })
    .await
}
