//! Plugins on their way to the cluster's host: a registry that its Pods reach, and what is pushed to it.

use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use tempfile::TempDir;
use tokio::net::TcpStream;
use tokio::process::Command;

use crate::binaries;
use crate::namespace::Namespace;
use crate::wait::eventually;

const IMAGE: &str = "windlass.dev/registry:test";
/// Its Pod and its Service.
const SERVICE: &str = "registry";
const PORT: u16 = 5000;

/// How long to wait for a connection before another try.
const ANSWER: Duration = Duration::from_secs(2);

/// A registry in a Pod of a scenario's namespace.
pub struct PodRegistry<'a> {
    ns: &'a Namespace,
}

impl<'a> PodRegistry<'a> {
    /// Makes its image, loads it, and waits until it answers.
    ///
    /// # Errors
    /// When it does not come up.
    pub async fn start(ns: &'a Namespace) -> Result<Self> {
        let folder = TempDir::new().context("failed to make a folder for an image")?;
        let archive = folder.path().join("registry.tar");
        let mut make = Command::new(binaries::path("windlass-image")?);
        make.args(["host", "--name", IMAGE, "--binary"]);
        make.arg(binaries::path("registry")?)
            .arg("--out")
            .arg(&archive);
        run(make).await?;
        ns.cluster().load_image(&archive).await?;
        ns.apply(include_str!("../manifests/registry.yaml")).await?;
        ns.pod(SERVICE).ready().await?;
        let address = ns.service_address(SERVICE).await?;
        // The proxy learns of the Pod a little later than the Pod is ready.
        eventually("the registry's Service answers", async || {
            let connected = TcpStream::connect((address.as_str(), PORT));
            let connected = tokio::time::timeout(ANSWER, connected).await;
            Ok(connected.context("no answer")?.map(drop)?)
        })
        .await?;
        Ok(Self { ns })
    }

    /// HOST:PORT, for this machine and for Pods.
    ///
    /// # Errors
    /// When its Service has gone.
    pub async fn address(&self) -> Result<String> {
        let address = self.ns.service_address(SERVICE).await?;
        Ok(format!("{address}:{PORT}"))
    }

    /// Where a Plugin finds what was pushed as `name`, such as `redis:2`.
    #[must_use]
    pub fn source(&self, name: &str) -> String {
        let namespace = self.ns.name();
        format!("oci://{SERVICE}.{namespace}.svc.cluster.local:{PORT}/plugins/{name}")
    }

    /// Pushes a plugin that `cargo xtask` built, as a person does; returns its digest. Another `edition` of the same
    /// component is another artifact.
    ///
    /// # Errors
    /// When it is not taken.
    pub async fn push(&self, plugin: &str, name: &str, edition: &str) -> Result<String> {
        let address = self.address().await?;
        let mut push = Command::new(built("windlass")?);
        push.args(["plugin", "push", "--insecure", "--annotation"]);
        push.arg(format!("org.opencontainers.image.description={edition}"));
        push.arg(component(plugin)?);
        push.arg(format!("oci://{address}/plugins/{name}"));
        let printed = run(push).await?;
        let digest = printed
            .trim()
            .rsplit_once('@')
            .map(|(_, digest)| digest.to_owned());
        digest.with_context(|| format!("no digest in {printed:?}"))
    }
}

/// A component as `cargo xtask` built it, such as that of `redis`.
fn component(plugin: &str) -> Result<PathBuf> {
    let file = format!("windlass_{plugin}.wasm");
    let target = built("windlass")?;
    let target = target.parent().and_then(|release| release.parent());
    let target = target.context("a program lies in target/release")?;
    Ok(target.join("wasm32-wasip2/guest").join(file))
}

/// A program that cargo built beside this one.
fn built(program: &str) -> Result<PathBuf> {
    let here = std::env::current_exe().context("failed to find this program")?;
    let release = here.parent().and_then(|deps| deps.parent());
    Ok(release
        .context("a test lies in target/release/deps")?
        .join(program))
}

async fn run(mut command: Command) -> Result<String> {
    let output = command.stdin(Stdio::null()).output().await;
    let output = output.with_context(|| format!("failed to start {command:?}"))?;
    let complaint = String::from_utf8_lossy(&output.stderr);
    ensure!(
        output.status.success(),
        "{command:?} failed: {}",
        complaint.trim()
    );
    Ok(String::from_utf8(output.stdout)?)
}
