//! Where nothing happens nothing is written, also when the host starts again.

use std::time::Duration;

use serde_json::json;
use windlass_e2e::audit::{Writes, rests};
use windlass_e2e::host;
use windlass_e2e::prelude::*;

use super::monitors::{group, rule, service_monitor};
use super::subject::Prometheus;

const WATCHED: Duration = Duration::from_secs(20);

#[tokio::test]
async fn a_host_that_starts_again_restarts_no_prometheus_and_writes_nothing() -> Result<()> {
    scenario(async |ns| {
        let spec = json!({"replicas": 2, "serviceMonitorSelector": {}, "ruleSelector": {}});
        let prometheus = Prometheus::running(ns, "main", &spec).await?;
        prometheus.scrapes(&service_monitor("self"), 2).await?;
        ns.apply(&rule("tide", &[group("tide", "vector(1)")]).to_string())
            .await?;
        eventually("the rule is evaluated", async || {
            let groups = prometheus.server(1).groups().await?;
            ensure!(groups.contains("tide"), "there are {groups:?}");
            Ok(())
        })
        .await?;
        prometheus.settled(2).await?;
        let lives = prometheus.lives().await?;
        rests(ns, WATCHED).await?;
        drop(prometheus);

        let absence = host::end(ns.cluster()).await?;
        let writes = Writes::begin(ns)?;
        absence.end().await?;
        writes.none_for(WATCHED).await?;
        let now = Prometheus::of(ns, "main").lives().await?;
        ensure!(
            now == lives,
            "a Pod was restarted: {lives:?} became {now:?}"
        );
        Ok(())
    })
    .await
}
