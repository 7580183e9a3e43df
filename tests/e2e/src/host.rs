//! Windlass itself, as it runs on the cluster: ended and started again.
//!
//! All scenarios of a run share the host. One that needs it holds [`in_use`], one that ends it waits
//! until nobody does.

use std::time::Duration;

use anyhow::{Context, Result};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::Pod as PodObject;
use kube::ResourceExt;
use kube::api::ListParams;
use serde_json::json;
use tokio::sync::{RwLock, RwLockReadGuard, RwLockWriteGuard};

use crate::cluster::Cluster;
use crate::namespace::Namespace;
use crate::pod::Pod;
use crate::wait::eventually;

/// Where it lives.
pub(crate) const NAMESPACE: &str = "windlass-system";
const DEPLOYMENT: &str = "windlass";

/// A host that starts compiles its plugins first, beside another that does the same.
pub const START: Duration = Duration::from_secs(480);

static HOST: RwLock<()> = RwLock::const_new(());

/// While this is held nobody ends the host.
pub type InUse = RwLockReadGuard<'static, ()>;

/// Keeps others from ending the host.
pub async fn in_use() -> InUse {
    HOST.read().await
}

/// The Pods of the host.
///
/// # Errors
/// When Windlass is not installed.
pub async fn pods(cluster: &Cluster) -> Result<Vec<Pod>> {
    let namespace = Namespace::existing(cluster, NAMESPACE).await?;
    let list = namespace.api::<PodObject>();
    let pods = list.list(&ListParams::default()).await?.items;
    Ok(pods
        .iter()
        .map(|pod| namespace.pod(&pod.name_any()))
        .collect())
}

/// The Pod of the host that acts, as the Lease says.
///
/// # Errors
/// When Windlass is not installed or no host acts.
pub async fn acting(cluster: &Cluster) -> Result<Pod> {
    let namespace = Namespace::existing(cluster, NAMESPACE).await?;
    let lease: Lease = namespace.api().get(DEPLOYMENT).await?;
    let holder = lease.spec.and_then(|spec| spec.holder_identity);
    let holder = holder.context("no host holds the lease")?;
    let pods = pods(cluster).await?;
    let acting = pods.into_iter().find(|pod| holder.starts_with(pod.name()));
    acting.with_context(|| format!("{holder} is no Pod of the host"))
}

/// Ends the process of every host, one after the other, and waits until each serves again. What it compiled stays.
///
/// # Errors
/// When one does not come back.
pub async fn restart(cluster: &Cluster, _alone: &Alone) -> Result<()> {
    for pod in pods(cluster).await? {
        let ended = pod.kill().await?;
        pod.ready_again(&ended).await?;
    }
    Ok(())
}

/// Waits until no scenario needs the host, and keeps it from all others.
pub async fn alone() -> Alone {
    HOST.write().await
}

/// While this is held no other scenario needs the host.
pub type Alone = RwLockWriteGuard<'static, ()>;

/// A time without host. A scenario that fails in it starts the host again for the others.
#[must_use = "the host comes back when this is dropped"]
pub struct Absence {
    namespace: Namespace,
    replicas: i32,
    ended: bool,
    _alone: Alone,
}

/// Waits until no scenario needs the host, and ends it.
///
/// # Errors
/// When it does not end.
pub async fn end(cluster: &Cluster) -> Result<Absence> {
    let alone = alone().await;
    let namespace = Namespace::existing(cluster, NAMESPACE).await?;
    let deployment: Deployment = namespace.api().get(DEPLOYMENT).await?;
    let replicas = deployment.spec.and_then(|spec| spec.replicas);
    let absence = Absence {
        namespace,
        replicas: replicas.context("the Deployment has no number of replicas")?,
        ended: false,
        _alone: alone,
    };
    absence.scale(0).await?;
    eventually("no Pod of the host is left", async || {
        let left = pods(cluster).await?.len();
        anyhow::ensure!(left == 0, "{left} are left");
        Ok(())
    })
    .await?;
    Ok(absence)
}

impl Absence {
    /// Starts the host again and waits until it is ready.
    ///
    /// # Errors
    /// When it does not come up.
    pub async fn end(mut self) -> Result<()> {
        self.scale(self.replicas).await?;
        self.ended = true;
        let replicas = self.replicas;
        self.namespace
            .expect::<Deployment>(DEPLOYMENT)
            .within(START)
            .to("be ready", |deployment| {
                let status = deployment.status.as_ref();
                status.and_then(|status| status.ready_replicas) == Some(replicas)
            })
            .await?;
        Ok(())
    }

    async fn scale(&self, replicas: i32) -> Result<()> {
        let change = json!({"spec": {"replicas": replicas}});
        self.namespace
            .patch::<Deployment>(DEPLOYMENT, change)
            .await
            .map(|_| ())
    }
}

impl Drop for Absence {
    fn drop(&mut self) {
        if self.ended {
            return;
        }
        let replicas = format!("--replicas={}", self.replicas);
        let scale = [
            "scale",
            "deployment",
            DEPLOYMENT,
            "-n",
            NAMESPACE,
            &replicas,
        ];
        if let Err(error) = self.namespace.cluster().kubectl_now(&scale) {
            eprintln!("the host stays away: {error:#}");
        }
    }
}
