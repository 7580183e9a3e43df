//! The cluster that scenarios run on: the command `windlass-cluster` and a client of its API server.

use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::process::Output;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use serde::Deserialize;
use tokio::process::Command;

use crate::binaries;

const PROGRAM: &str = "windlass-cluster";
const API_SERVER: &str = "kube-apiserver";

/// Names the cluster to run on.
const CLUSTER: &str = "WINDLASS_E2E_CLUSTER";

/// A running cluster on this machine.
#[derive(Clone)]
pub struct Cluster {
    name: String,
    kubeconfig: PathBuf,
    audit_log: PathBuf,
    client: Client,
}

/// What `windlass-cluster status --output json` says; only what the fixture needs.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Status {
    kubeconfig: PathBuf,
    audit_log: PathBuf,
}

impl Cluster {
    /// The cluster that the environment names.
    ///
    /// # Errors
    /// When the environment names none, or it does not run.
    pub async fn from_environment() -> Result<Self> {
        let Ok(name) = std::env::var(CLUSTER) else {
            bail!(
                "{CLUSTER} is not set: run `cargo xtask test`, which starts a cluster and sets it"
            )
        };
        Self::named(&name).await
    }

    /// A running cluster of this name.
    ///
    /// # Errors
    /// When it does not run or its kubeconfig cannot be used.
    pub async fn named(name: &str) -> Result<Self> {
        let status = status(name).await?;
        Ok(Self {
            name: name.to_owned(),
            client: connect(&status.kubeconfig).await?,
            kubeconfig: status.kubeconfig,
            audit_log: status.audit_log,
        })
    }

    /// A client of the API server, as administrator.
    #[must_use]
    pub fn client(&self) -> Client {
        self.client.clone()
    }

    /// The cluster's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The kubeconfig of an administrator.
    #[must_use]
    pub fn kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }

    /// What kubectl prints, as a person would see it.
    ///
    /// # Errors
    /// When kubectl fails: with what it said.
    pub async fn kubectl(&self, arguments: &[&str]) -> Result<String> {
        let kubeconfig = self.kubeconfig.to_string_lossy();
        let verb = ["kubectl", "--kubeconfig", &*kubeconfig];
        command(&[&verb, arguments].concat()).await
    }

    /// The same where nothing can be awaited.
    pub(crate) fn kubectl_now(&self, arguments: &[&str]) -> Result<()> {
        let mut kubectl = std::process::Command::new(binaries::path(PROGRAM)?);
        kubectl
            .arg("kubectl")
            .arg("--kubeconfig")
            .arg(&self.kubeconfig);
        let output = kubectl.args(arguments).output()?;
        let complaint = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "{}", complaint.trim());
        Ok(())
    }

    /// The audit log of the API server, one JSON event a line.
    #[must_use]
    pub fn audit_log(&self) -> &Path {
        &self.audit_log
    }

    /// Gives an image, as an archive, to the cluster's nodes.
    ///
    /// # Errors
    /// When it is not taken.
    pub async fn load_image(&self, archive: &Path) -> Result<()> {
        let archive = archive.to_string_lossy();
        command(&["load-image", "--name", &self.name, &archive])
            .await
            .map(drop)
    }

    /// The process id, on this machine, of the main process of a container, which is named as
    /// `NAMESPACE/POD/CONTAINER`.
    ///
    /// # Errors
    /// When the container does not run.
    pub(crate) async fn container_pid(&self, container: &str) -> Result<i32> {
        let pid = command(&["container-pid", "--name", &self.name, container]).await?;
        pid.trim()
            .parse()
            .with_context(|| format!("{pid:?} is not a process id"))
    }
}

/// A cluster that one scenario has for itself, because it breaks what others share. Goes when
/// dropped.
pub struct OwnCluster {
    cluster: Cluster,
}

impl OwnCluster {
    /// Makes a cluster of etcd and API server only: it runs no Pods and no controllers.
    ///
    /// # Errors
    /// When it does not come up.
    pub async fn control_plane(name: &str) -> Result<Self> {
        command(&["up", "--control-plane", "--name", name]).await?;
        Ok(Self {
            cluster: Cluster::named(name).await?,
        })
    }

    /// Ends the API server until [`Outage::end`].
    ///
    /// # Errors
    /// When it does not run.
    pub async fn stop_api_server(&self) -> Result<Outage<'_>> {
        command(&["stop-component", "--name", &self.name, API_SERVER]).await?;
        Ok(Outage { cluster: self })
    }
}

impl Deref for OwnCluster {
    type Target = Cluster;

    fn deref(&self) -> &Cluster {
        &self.cluster
    }
}

impl Drop for OwnCluster {
    fn drop(&mut self) {
        let down = binaries::path(PROGRAM).and_then(|program| {
            let mut down = std::process::Command::new(program);
            Ok(down.args(["down", "--name", &self.name]).output()?)
        });
        match down {
            Ok(output) if output.status.success() => (),
            Ok(output) => eprintln!("{}", String::from_utf8_lossy(&output.stderr)),
            Err(error) => eprintln!("cluster {} stays: {error:#}", self.name),
        }
    }
}

/// A time without API server.
#[must_use = "without `end` the API server does not come back"]
pub struct Outage<'a> {
    cluster: &'a OwnCluster,
}

impl Outage<'_> {
    /// Starts the API server again and waits until it is ready.
    ///
    /// # Errors
    /// When it does not come up.
    pub async fn end(self) -> Result<()> {
        command(&["start-component", "--name", &self.cluster.name, API_SERVER])
            .await
            .map(|_| ())
    }
}

/// A busy cluster may be called unhealthy for a moment, which is no reason to give up on it: what is
/// printed counts, not the exit code.
async fn status(name: &str) -> Result<Status> {
    let output = run(&["status", "--name", name, "--output", "json"]).await?;
    serde_json::from_slice(&output.stdout).with_context(|| {
        let complaint = String::from_utf8_lossy(&output.stderr);
        format!("cluster {name} does not run: {}", complaint.trim())
    })
}

/// Runs one verb of `windlass-cluster` and returns what it printed.
async fn command(arguments: &[&str]) -> Result<String> {
    let output = run(arguments).await?;
    ensure!(
        output.status.success(),
        "`{PROGRAM} {}` failed: {}",
        arguments.join(" "),
        String::from_utf8_lossy(&output.stderr).trim(),
    );
    String::from_utf8(output.stdout).context("windlass-cluster printed no UTF-8")
}

async fn run(arguments: &[&str]) -> Result<Output> {
    let program = binaries::path(PROGRAM)?;
    let output = Command::new(&program).args(arguments).output().await;
    output.with_context(|| format!("failed to start {}", program.display()))
}

async fn connect(kubeconfig: &Path) -> Result<Client> {
    use_ring();
    let context = || format!("failed to use {}", kubeconfig.display());
    let file = Kubeconfig::read_from(kubeconfig).with_context(context)?;
    let mut config = Config::from_custom_kubeconfig(file, &KubeConfigOptions::default())
        .await
        .with_context(context)?;
    config.connect_timeout = Some(Duration::from_secs(5));
    Client::try_from(config).with_context(context)
}

/// Makes ring the process's TLS provider. A second call changes nothing, which is no failure.
pub(crate) fn use_ring() {
    let _ = rustls::crypto::ring::default_provider().install_default();
}
