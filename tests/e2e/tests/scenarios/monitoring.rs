//! Prometheus runs on the cluster and sees it.

use serde_json::Value;
use windlass_e2e::prelude::*;

#[tokio::test]
async fn prometheus_scrapes_the_api_server() -> Result<()> {
    scenario(async |ns| {
        ns.apply(include_str!("../../manifests/prometheus.yaml"))
            .await?;
        let prometheus = ns.pod("prometheus");
        prometheus.ready().await?;

        eventually("the API server is up", async || {
            let up = value_of(&prometheus, "up").await?;
            ensure!(up == "1", "up is {up}");
            Ok(())
        })
        .await?;
        let requests = value_of(&prometheus, "sum(apiserver_request_total)").await?;
        ensure!(
            requests.parse::<f64>()? > 0.0,
            "it counts {requests} requests"
        );
        Ok(())
    })
    .await
}

async fn value_of(prometheus: &Pod, expression: &str) -> Result<String> {
    let answer = prometheus
        .http_get(9090, &format!("/api/v1/query?query={expression}"))
        .await?;
    let answer: Value = serde_json::from_str(&answer)?;
    let value = answer["data"]["result"][0]["value"][1].as_str();
    Ok(value
        .with_context(|| format!("no value of {expression} in {answer}"))?
        .to_owned())
}
