//! The API server goes and comes back. On a cluster of its own, because others would feel it.

use std::collections::BTreeMap;
use std::time::Duration;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use kube::api::{ObjectMeta, PostParams};
use serde_json::json;
use windlass_e2e::prelude::*;

#[tokio::test]
async fn the_api_server_can_be_stopped_for_some_seconds_and_comes_back() -> Result<()> {
    let cluster = OwnCluster::control_plane("test-outage").await?;
    let ns = Namespace::create(&cluster, "outage").await?;
    let log: Api<ConfigMap> = ns.api();
    log.create(&PostParams::default(), &log_book("departure"))
        .await?;

    let outage = cluster.stop_api_server().await?;
    throughout(
        Duration::from_secs(5),
        "the API server is away",
        async || {
            ensure!(log.get("log-book").await.is_err(), "it answered");
            Ok(())
        },
    )
    .await?;

    // This watch begins while nobody answers, and must see what is written later.
    let arrival = ns.expect::<ConfigMap>("log-book");
    let arrival = arrival.to("tell of the arrival", |log| entry(log) == Some("arrival"));
    let back = async {
        outage.end().await?;
        let kept = log.get("log-book").await?;
        ensure!(
            entry(&kept) == Some("departure"),
            "the log book became {kept:?}"
        );
        ns.patch::<ConfigMap>("log-book", json!({"data": {"entry": "arrival"}}))
            .await
    };
    tokio::try_join!(arrival, back)?;
    Ok(())
}

fn log_book(entry: &str) -> ConfigMap {
    ConfigMap {
        metadata: ObjectMeta {
            name: Some("log-book".to_owned()),
            ..ObjectMeta::default()
        },
        data: Some(BTreeMap::from([("entry".to_owned(), entry.to_owned())])),
        ..ConfigMap::default()
    }
}

fn entry(log: &ConfigMap) -> Option<&str> {
    log.data.as_ref()?.get("entry").map(String::as_str)
}
