//! The objects of an installation and of the sample.

use std::path::PathBuf;

use anyhow::Result;

use super::image;
use crate::cluster::Cluster;
use crate::command;
use crate::stage::Log;
use crate::workplace::Workplace;

pub(super) const NAMESPACE: &str = "windlass-system";
const DEPLOYMENT: &str = "deployment/windlass";

/// Loads the image, applies what `deploy/kustomize` lists, and waits until the host is ready.
pub(super) fn install(workplace: &Workplace, cluster: &dyn Cluster, log: &Log) -> Result<()> {
    cluster.load_image(&image::archive(workplace), log)?;
    let base = workplace.checkout().join("deploy/kustomize/base");
    let mut apply = cluster.kubectl()?;
    log.run(
        apply
            .args(["apply", "--server-side", "--force-conflicts", "-k"])
            .arg(base),
    )?;
    mark_image(workplace, cluster, log)?;
    install_plugins(workplace, cluster, log)?;
    let mut wait = cluster.kubectl()?;
    wait.args(["rollout", "status", DEPLOYMENT, "--namespace", NAMESPACE]);
    log.run(wait.args(["--timeout", "10m"]))?;
    wait_for_plugins(cluster, log)
}

/// kubectl names all that it did not come to, also those that are well: each is waited for by itself.
fn wait_for_plugins(cluster: &dyn Cluster, log: &Log) -> Result<()> {
    let mut list = cluster.kubectl()?;
    let plugins = command::capture(list.args(["get", "plugins", "--output", "name"]))?;
    for plugin in plugins.lines() {
        let mut wait = cluster.kubectl()?;
        wait.args(["wait", plugin, "--for", "condition=Serving"]);
        let served = log.run(wait.args(["--timeout", "5m"]));
        if served.is_err() {
            let mut describe = cluster.kubectl()?;
            log.run(describe.args(["describe", plugin]))?;
        }
        served?;
    }
    Ok(())
}

/// Applies the plugins that ship with the host, once their own kind is served.
fn install_plugins(workplace: &Workplace, cluster: &dyn Cluster, log: &Log) -> Result<()> {
    let mut wait = cluster.kubectl()?;
    wait.args([
        "wait",
        "crd/plugins.windlass.dev",
        "--for",
        "condition=Established",
    ]);
    log.run(&mut wait)?;
    let mut apply = cluster.kubectl()?;
    apply.args(["apply", "--server-side", "--force-conflicts", "-k"]);
    log.run(apply.arg(workplace.checkout().join("deploy/plugins")))
}

/// The image's name stays, so the Pods carry its digest: a new image replaces them, the same one
/// leaves them alone.
fn mark_image(workplace: &Workplace, cluster: &dyn Cluster, log: &Log) -> Result<()> {
    let digest = image::digest(workplace)?;
    let annotations = serde_json::json!({"windlass.dev/image": digest});
    let patch = serde_json::json!({
        "spec": {"template": {"metadata": {"annotations": annotations}}}
    });
    let mut kubectl = cluster.kubectl()?;
    kubectl.args([
        "patch",
        DEPLOYMENT,
        "--namespace",
        NAMESPACE,
        "--type",
        "merge",
    ]);
    log.run(kubectl.args(["--patch", &patch.to_string()]))
}

/// Applies the sample and waits until it runs.
pub(crate) fn apply_sample(workplace: &Workplace, cluster: &dyn Cluster, log: &Log) -> Result<()> {
    log.run(
        cluster
            .kubectl()?
            .args(["apply", "-f"])
            .arg(sample(workplace)),
    )?;
    let mut wait = cluster.kubectl()?;
    wait.args(["wait", "--for", "condition=Ready", "--timeout", "3m", "-f"]);
    log.run(wait.arg(sample(workplace)))
}

/// What a person sees of the sample.
pub(crate) fn show_sample(workplace: &Workplace, cluster: &dyn Cluster) -> Result<String> {
    let mut get = cluster.kubectl()?;
    command::capture(get.args(["get", "-f"]).arg(sample(workplace)))
}

/// The one sample that comes with every start; the others are for people to apply.
pub(super) fn sample(workplace: &Workplace) -> PathBuf {
    workplace.checkout().join("deploy/samples/redis.yaml")
}
