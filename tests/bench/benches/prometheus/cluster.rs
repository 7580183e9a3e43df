//! The objects: one Prometheus and many ServiceMonitors.

use std::io::Read;
use std::ops::Range;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use flate2::read::GzDecoder;
use futures::stream::{self, StreamExt, TryStreamExt};
use k8s_openapi::api::apps::v1::StatefulSet;
use k8s_openapi::api::core::v1::Secret;
use kube::Client;
use kube::api::{Api, DeleteParams};
use kube::runtime::{WatchStreamExt, watcher};
use serde_json::{Value, json};
use windlass_bench::control_plane;

const NAMESPACE: &str = "bench";
const NAME: &str = "main";
const PROMETHEUS: &str = "monitoring.coreos.com/v1/Prometheus";
const MONITOR: &str = "monitoring.coreos.com/v1/ServiceMonitor";
const ONE_MORE: &str = "one-more";
/// Longer than any operator needs.
const PATIENCE: Duration = Duration::from_secs(120);

/// The API server and what is in it.
pub(crate) struct Cluster {
    client: Client,
}

impl Cluster {
    /// Installs the CRDs of this folder.
    ///
    /// # Errors
    /// When the API server refuses one.
    pub(crate) async fn prepare(crds: &Path) -> Result<Self> {
        let (client, _) = control_plane::client().await?;
        let mut texts = Vec::new();
        for entry in std::fs::read_dir(crds)? {
            let path = entry?.path();
            if path
                .extension()
                .is_some_and(|extension| extension == "yaml")
            {
                texts.push(std::fs::read_to_string(path)?);
            }
        }
        control_plane::install(&client, texts.iter().map(String::as_str)).await?;
        control_plane::make_namespace(&client, NAMESPACE).await?;
        Ok(Self { client })
    }

    /// A Prometheus that takes all monitors of its namespace.
    pub(crate) async fn make_prometheus(&self) -> Result<()> {
        let spec = json!({"serviceMonitorSelector": {}});
        control_plane::make(&self.client, NAMESPACE, PROMETHEUS, NAME, &spec).await
    }

    pub(crate) async fn make_monitors(&self, numbers: Range<usize>) -> Result<()> {
        stream::iter(numbers.map(Ok))
            .try_for_each_concurrent(control_plane::AT_ONCE, |number| async move {
                let name = format!("other-{number}");
                self.make_monitor(&name).await
            })
            .await
    }

    async fn make_monitor(&self, name: &str) -> Result<()> {
        let spec = monitor(name);
        control_plane::make(&self.client, NAMESPACE, MONITOR, name, &spec).await
    }

    async fn remove(&self, kind: &str, name: &str) -> Result<()> {
        control_plane::api(&self.client, Some(NAMESPACE), kind)?
            .delete(name, &DeleteParams::default())
            .await?;
        Ok(())
    }

    /// Waits until the configuration has this many jobs.
    pub(crate) async fn configured_with(&self, jobs: usize) -> Result<()> {
        self.until(|configuration| configuration.matches("job_name:").count() == jobs)
            .await
    }

    /// Makes another monitor; returns how long it took until the configuration held it.
    pub(crate) async fn one_more(&self) -> Result<Duration> {
        let job = format!("serviceMonitor/{NAMESPACE}/{ONE_MORE}/0");
        let seen = self.until(|configuration| configuration.contains(&job));
        let made = async {
            // The watch is open by then, and whoever looked once more before has ended.
            tokio::time::sleep(Duration::from_secs(1)).await;
            let begun = Instant::now();
            self.make_monitor(ONE_MORE).await?;
            Ok::<Instant, anyhow::Error>(begun)
        };
        let seen = async {
            seen.await?;
            Ok(Instant::now())
        };
        let (begun, seen) = tokio::try_join!(made, seen)?;
        Ok(seen - begun)
    }

    /// Takes it away again, and waits until the configuration does not hold it.
    pub(crate) async fn one_less(&self) -> Result<()> {
        self.remove(MONITOR, ONE_MORE).await?;
        self.until(|configuration| !configuration.contains(ONE_MORE))
            .await
    }

    /// Removes the Prometheus and what an operator made for it: nobody collects it here.
    pub(crate) async fn clear(&self) -> Result<()> {
        self.remove(PROMETHEUS, NAME).await?;
        let parameters = DeleteParams::default();
        let everything = kube::api::ListParams::default();
        let client = || self.client.clone();
        Api::<Secret>::namespaced(client(), NAMESPACE)
            .delete_collection(&parameters, &everything)
            .await?;
        Api::<StatefulSet>::namespaced(client(), NAMESPACE)
            .delete_collection(&parameters, &everything)
            .await?;
        Ok(())
    }

    /// Waits until the configuration is as wanted.
    async fn until(&self, wanted: impl Fn(&str) -> bool) -> Result<()> {
        let secrets: Api<Secret> = Api::namespaced(self.client.clone(), NAMESPACE);
        let field = format!("metadata.name=prometheus-{NAME}");
        let seen = watcher(secrets, watcher::Config::default().fields(&field))
            .default_backoff()
            .applied_objects();
        let mut seen = std::pin::pin!(seen);
        let found = async {
            while let Some(secret) = seen.next().await {
                if configuration(&secret?)?.is_some_and(|configuration| wanted(&configuration)) {
                    return Ok(());
                }
            }
            bail!("the watch ended")
        };
        tokio::time::timeout(PATIENCE, found)
            .await
            .with_context(|| format!("the configuration is not as wanted within {PATIENCE:?}"))?
    }
}

fn monitor(name: &str) -> Value {
    json!({
        "selector": {"matchLabels": {"app": name}},
        "endpoints": [{"port": "web", "interval": "30s",
            "relabelings": [{"sourceLabels": ["__meta_kubernetes_pod_node_name"], "targetLabel": "node"}]}],
    })
}

/// What an operator generated, unpacked.
fn configuration(secret: &Secret) -> Result<Option<String>> {
    let data = secret.data.as_ref();
    let Some(packed) = data.and_then(|data| data.get("prometheus.yaml.gz")) else {
        return Ok(None);
    };
    let mut text = String::new();
    GzDecoder::new(packed.0.as_slice()).read_to_string(&mut text)?;
    Ok(Some(text))
}
