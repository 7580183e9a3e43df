//! An administrator replaces the plugin under a client that writes: nothing is lost, and the new one heals.

use std::time::Duration;

use kube::api::{Api, ApiResource, DynamicObject, Patch, PatchParams};
use kube::core::GroupVersionKind;
use serde_json::{Value, json};
use windlass_e2e::host;
use windlass_e2e::plugins::PodRegistry;
use windlass_e2e::prelude::*;

use super::subject::{Redis, SAMPLE, condition};
use super::writer::Writer;

/// How long a primary that was killed may be missed.
const FAILOVER: Duration = Duration::from_secs(15);

/// The Plugin `redis` of the cluster.
struct Installed(Api<DynamicObject>);

impl Installed {
    fn of(ns: &Namespace) -> Self {
        let kind = GroupVersionKind::gvk("windlass.dev", "v1alpha1", "Plugin");
        Self(Api::all_with(
            ns.client(),
            &ApiResource::from_gvk_with_plural(&kind, "plugins"),
        ))
    }

    async fn get(&self) -> Result<DynamicObject> {
        self.0
            .get("redis")
            .await
            .context("the plugin is not installed")
    }

    async fn patch(&self, spec: Value) -> Result<()> {
        let patch = Patch::Merge(json!({"spec": spec}));
        self.0
            .patch("redis", &PatchParams::default(), &patch)
            .await?;
        Ok(())
    }

    /// Waits until the present spec is looked at and `told` says so of the Plugin.
    async fn until(
        &self,
        what: &str,
        told: impl Fn(&DynamicObject) -> bool,
    ) -> Result<DynamicObject> {
        eventually(what, async || {
            let plugin = self.get().await?;
            let observed = plugin.data["status"]["observedGeneration"].as_i64();
            ensure!(
                observed == plugin.metadata.generation,
                "it was not looked at"
            );
            ensure!(told(&plugin), "status is {}", plugin.data["status"]);
            Ok(plugin)
        })
        .await
    }
}

fn serving_reason(plugin: &DynamicObject) -> Option<&str> {
    let conditions = plugin.data["status"]["conditions"].as_array()?;
    let serving = conditions
        .iter()
        .find(|condition| condition["type"] == "Serving")?;
    serving["reason"].as_str()
}

#[tokio::test]
async fn the_plugin_is_replaced_from_a_registry_under_writes() -> Result<()> {
    scenario(async |ns| {
        // All Redis of the cluster share the plugin.
        let _alone = host::alone().await;
        let redis = Redis::of(ns);
        ns.apply(SAMPLE).await?;
        redis.settled("be complete", 3).await?;
        let installed = Installed::of(ns);
        let shipped = installed.get().await?.data["spec"]["source"]["layout"].clone();
        let registry = PodRegistry::start(ns).await?;
        let digest = registry.push("redis", "redis:next", ns.name()).await?;
        let mut writer = Writer::start(&redis).await?;

        let source = json!({"layout": null, "oci": registry.source("redis:next")});
        installed
            .patch(json!({"source": source, "registry": {"insecure": true}}))
            .await?;
        let replaced = installed.until("the new one is served", |plugin| {
            plugin.data["status"]["digest"] == *digest && serving_reason(plugin) == Some("Serving")
        });
        replaced.await?;
        let (old, epoch) = (redis.primary().await?, redis.epoch().await?);
        old.kill().await?;
        let healed = redis.expect().to("have another primary", |redis| {
            redis.data["status"]["epoch"].as_i64() > Some(epoch)
                && condition(redis, "Ready") == Some("True")
        });
        healed.await?;
        writer.writes().await?;

        let missing = json!({"source": {"oci": registry.source("redis:missing")}});
        installed.patch(missing).await?;
        let goes_on = installed.until("the one before goes on", |plugin| {
            plugin.data["status"]["digest"] == *digest
                && serving_reason(plugin) == Some("PreviousVersion")
        });
        let told = goes_on.await?.data["status"]["conditions"].to_string();
        ensure!(
            told.contains("NotFound"),
            "nothing tells that the tag is missing: {told}"
        );
        redis.settled("be whole again", 3).await?;

        let back = json!({"source": {"oci": null, "layout": shipped}, "registry": null});
        installed.patch(back).await?;
        let served = installed.until("the shipped one is served", |plugin| {
            plugin.data["status"]["digest"] != *digest && serving_reason(plugin) == Some("Serving")
        });
        served.await?;
        writer.writes().await?;
        writer
            .finish(&redis)
            .await?
            .check("plugin replaced, primary killed", FAILOVER)
    })
    .await
}
