//! Law 1: where nothing happens, nothing is written.

use std::time::Duration;

use windlass_e2e::audit::Writes;
use windlass_e2e::prelude::*;

use super::subject::Redis;

const WATCHED: Duration = Duration::from_secs(30);

#[tokio::test]
async fn a_redis_that_is_well_causes_no_write() -> Result<()> {
    scenario(async |ns| {
        let redis = Redis::running(ns).await?;
        redis.settled("be settled", 3).await?;
        let version = redis.get().await?.metadata.resource_version;
        let writes = Writes::begin(ns)?;
        writes.none_for(WATCHED).await?;
        let now = redis.get().await?.metadata.resource_version;
        ensure!(now == version, "the Redis was written");
        Ok(())
    })
    .await
}
