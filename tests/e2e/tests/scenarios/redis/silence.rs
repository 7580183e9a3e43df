//! Law 1: where nothing happens, nothing is written.

use std::time::Duration;

use futures::future::try_join_all;
use kube::api::{DynamicObject, PostParams};
use serde_json::{Value, json};
use windlass_e2e::audit::{Writes, rests};
use windlass_e2e::host;
use windlass_e2e::prelude::*;

use super::subject::{SAMPLE, is_well, kind};

/// Longer than it takes to tell by an Event what a status already shows.
const AT_REST: Duration = Duration::from_secs(5);
const WATCHED: Duration = Duration::from_secs(60);
const OBJECTS: usize = 20;

#[tokio::test]
async fn twenty_redis_cause_no_write_also_after_the_hosts_were_ended() -> Result<()> {
    scenario(async |ns| {
        let in_use = host::in_use().await;
        let names: Vec<String> = (0..OBJECTS).map(|number| format!("r-{number}")).collect();
        for name in &names {
            let api = ns.dynamic(&kind());
            api.create(&PostParams::default(), &small(name)?).await?;
        }
        try_join_all(names.iter().map(|name| settled(ns, name))).await?;
        rests(ns, AT_REST).await?;
        Writes::begin(ns)?.none_for(WATCHED).await?;

        drop(in_use);
        let alone = host::alone().await;
        let after = Writes::begin(ns)?.of_its_own_too(&alone);
        host::restart(ns.cluster(), &alone).await?;
        after.none_for(WATCHED).await?;
        try_join_all(names.iter().map(|name| settled(ns, name)))
            .await
            .map(drop)
    })
    .await
}

/// The sample with one replica and little of everything, so that twenty fit on a small machine.
fn small(name: &str) -> Result<DynamicObject> {
    let mut redis: Value = serde_saphyr::from_str(SAMPLE)?;
    redis["metadata"] = json!({"name": name});
    redis["spec"]["replicas"] = json!(1);
    redis["spec"]["persistence"]["size"] = json!("64Mi");
    redis["spec"]["resources"] = json!({"requests": {"cpu": "5m", "memory": "32Mi"},
        "limits": {"memory": "128Mi"}});
    Ok(serde_json::from_value(redis)?)
}

async fn settled(ns: &Namespace, name: &str) -> Result<DynamicObject> {
    let expectation = ns.expect_dynamic(&kind(), name);
    expectation.to("be well", is_well).await
}
