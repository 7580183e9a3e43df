//! Law 1: where nothing happens, nothing is written.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Seek, SeekFrom};
use std::time::Duration;

use serde_json::Value;
use windlass_e2e::prelude::*;

use super::subject::Redis;

const WATCHED: Duration = Duration::from_secs(30);

#[tokio::test]
async fn a_redis_that_is_well_causes_no_write() -> Result<()> {
    scenario(async |ns| {
        let redis = Redis::running(ns).await?;
        redis.settled("be settled", 3).await?;
        let version = redis.get().await?.metadata.resource_version;
        let log = ns.cluster().audit_log();
        let mut file = std::fs::File::open(log)?;
        let mark = file.seek(SeekFrom::End(0))?;

        throughout(WATCHED, "status stays as it is", async || {
            let now = redis.get().await?.metadata.resource_version;
            ensure!(now == version, "the Redis was written");
            Ok(())
        })
        .await?;

        let mut writes: BTreeMap<String, usize> = BTreeMap::new();
        file.seek(SeekFrom::Start(mark))?;
        for line in BufReader::new(file).lines() {
            if let Some(write) = write_of_the_host(&line?, ns.name()) {
                *writes.entry(write).or_default() += 1;
            }
        }
        ensure!(writes.is_empty(), "the host wrote {writes:?}");
        Ok(())
    })
    .await
}

/// What an audit event of the host changed in a namespace, if it is one.
fn write_of_the_host(line: &str, namespace: &str) -> Option<String> {
    let event: Value = serde_json::from_str(line).ok()?;
    let text = |pointer: &str| event.pointer(pointer).and_then(Value::as_str);
    let verb = text("/verb")?;
    let is_write = !["get", "list", "watch"].contains(&verb);
    let is_ours = text("/user/username")? == "system:serviceaccount:windlass-system:windlass"
        && text("/objectRef/namespace") == Some(namespace);
    let what = text("/requestURI").unwrap_or_default();
    (is_write && is_ours).then(|| format!("{verb} {what}"))
}
