//! One Pod: what a scenario asks of it and does to it.

use std::net::{IpAddr, UdpSocket};

use anyhow::{Context, Result, bail, ensure};
use k8s_openapi::api::core::v1::Pod as PodObject;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Status;
use kube::api::{AttachParams, AttachedProcess, DeleteParams, LogParams};
use kube::{Api, ResourceExt};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tokio::io::{AsyncRead, AsyncReadExt};

use crate::faults::{CpuThrottle, Cut, Freeze, From, FullDisk};
use crate::namespace::Namespace;
use crate::wait::Expectation;

/// A handle on a Pod by name. It stays valid when the Pod is replaced by one of the same name.
///
/// Where a container matters (`exec`, `logs`, `kill`, the faults), it is the first of the Pod's spec
/// unless [`Pod::container`] says otherwise.
#[derive(Clone)]
pub struct Pod {
    namespace: Namespace,
    name: String,
    container: Option<String>,
}

/// One life of a Pod's container: a restart or a new Pod of the same name is another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Life {
    pod: Option<String>,
    container: Option<String>,
}

impl Pod {
    pub(crate) fn new(namespace: Namespace, name: &str) -> Self {
        Self {
            namespace,
            name: name.to_owned(),
            container: None,
        }
    }

    /// The same Pod, where a container matters this one.
    #[must_use]
    pub fn container(&self, name: &str) -> Self {
        Self {
            container: Some(name.to_owned()),
            ..self.clone()
        }
    }

    /// The Pod's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    fn api(&self) -> Api<PodObject> {
        self.namespace.api()
    }

    /// The object as it is now.
    ///
    /// # Errors
    /// When it does not exist or the API server does not answer.
    pub async fn get(&self) -> Result<PodObject> {
        let failure = || format!("failed to get Pod {}/{}", self.namespace.name(), self.name);
        self.api().get(&self.name).await.with_context(failure)
    }

    /// What a scenario expects of it.
    pub fn expect(&self) -> Expectation<PodObject> {
        self.namespace.expect(&self.name)
    }

    /// Waits until it is ready.
    ///
    /// # Errors
    /// When the deadline passes.
    pub async fn ready(&self) -> Result<PodObject> {
        self.expect().to("be ready", is_ready).await
    }

    /// The life that it lives now.
    ///
    /// # Errors
    /// When the Pod does not exist.
    pub async fn life(&self) -> Result<Life> {
        Ok(self.life_of(&self.get().await?))
    }

    /// The status lists containers by name, not as the spec does, so the right one is looked for.
    fn life_of(&self, pod: &PodObject) -> Life {
        let container = self.container_of(pod);
        let statuses = pod
            .status
            .iter()
            .flat_map(|status| &status.container_statuses)
            .flatten();
        let mut statuses = statuses.filter(|status| Some(&status.name) == container.as_ref());
        Life {
            pod: pod.uid(),
            container: statuses
                .next()
                .and_then(|status| status.container_id.clone()),
        }
    }

    fn container_of(&self, pod: &PodObject) -> Option<String> {
        let first = || Some(pod.spec.as_ref()?.containers.first()?.name.clone());
        self.container.clone().or_else(first)
    }

    async fn container_name(&self) -> Result<String> {
        let name = self.container_of(&self.get().await?);
        name.with_context(|| format!("Pod {} has no container", self.name))
    }

    /// Waits until it is ready in another life than `before`: restarted or replaced.
    ///
    /// # Errors
    /// When the deadline passes.
    pub async fn ready_again(&self, before: &Life) -> Result<PodObject> {
        let reborn = |pod: &PodObject| is_ready(pod) && self.life_of(pod) != *before;
        self.expect().to("be ready in a new life", reborn).await
    }

    /// The address, which this machine can reach directly.
    ///
    /// # Errors
    /// When the Pod has none yet.
    pub async fn ip(&self) -> Result<IpAddr> {
        let ip = self.get().await?.status.and_then(|status| status.pod_ip);
        let ip = ip.with_context(|| format!("Pod {} has no address yet", self.name))?;
        ip.parse().with_context(|| format!("{ip} is no IP address"))
    }

    /// The address of the node it runs on: where the kubelet's probes come from.
    ///
    /// # Errors
    /// When the Pod is not scheduled yet.
    pub async fn node_ip(&self) -> Result<IpAddr> {
        let ip = self.get().await?.status.and_then(|status| status.host_ip);
        let ip = ip.with_context(|| format!("Pod {} is on no node yet", self.name))?;
        ip.parse().with_context(|| format!("{ip} is no IP address"))
    }

    /// The address of this machine, as the Pod can reach it.
    ///
    /// # Errors
    /// When the Pod has no address yet.
    pub async fn machine_ip(&self) -> Result<IpAddr> {
        own_address_towards(self.ip().await?)
    }

    /// Runs a command inside and returns what it printed, without the last line end.
    ///
    /// # Errors
    /// When it cannot be started or ends with another code than 0: with what it wrote to stderr.
    pub async fn exec(&self, command: &[&str]) -> Result<String> {
        let failure = || format!("failed to run {command:?} in Pod {}", self.name);
        let parameters = AttachParams::default().container(self.container_name().await?);
        let attached = self
            .api()
            .exec(&self.name, command.iter().copied(), &parameters)
            .await
            .with_context(failure)?;
        finish(attached).await.with_context(failure)
    }

    /// What the container has logged in this life.
    ///
    /// # Errors
    /// When the kubelet has no log of it.
    pub async fn logs(&self) -> Result<String> {
        let failure = || format!("failed to read the log of Pod {}", self.name);
        let container = Some(self.container_name().await?);
        let parameters = LogParams {
            container,
            ..LogParams::default()
        };
        self.api()
            .logs(&self.name, &parameters)
            .await
            .with_context(failure)
    }

    /// Gets a page of its HTTP server through the API server.
    ///
    /// # Errors
    /// When the answer is not a success.
    pub async fn http_get(&self, port: u16, path_and_query: &str) -> Result<String> {
        let uri = format!(
            "/api/v1/namespaces/{}/pods/{}:{port}/proxy{path_and_query}",
            self.namespace.name(),
            self.name
        );
        let request = http::Request::get(&uri).body(Vec::new())?;
        let failure = || format!("failed to get {uri}");
        self.namespace
            .client()
            .request_text(request)
            .await
            .with_context(failure)
    }

    /// The process id, on this machine, of the container's main process.
    ///
    /// # Errors
    /// When the container does not run.
    pub async fn host_pid(&self) -> Result<Pid> {
        let container = self.container_name().await?;
        let path = format!("{}/{}/{container}", self.namespace.name(), self.name);
        Ok(Pid::from_raw(
            self.namespace.cluster().container_pid(&path).await?,
        ))
    }

    /// Kills the main process (SIGKILL), and all others of the container with it, and returns the life that ended.
    ///
    /// # Errors
    /// When the container does not run.
    pub async fn kill(&self) -> Result<Life> {
        let ended = self.life().await?;
        let pid = self.host_pid().await?;
        kill(pid, Signal::SIGKILL).with_context(|| format!("failed to kill process {pid}"))?;
        Ok(ended)
    }

    /// Deletes the Pod with its usual grace and returns the life that ends.
    ///
    /// # Errors
    /// When the API server refuses.
    pub async fn delete(&self) -> Result<Life> {
        self.delete_with(&DeleteParams::default()).await
    }

    /// Deletes the Pod without grace, as `kubectl delete --force --grace-period=0` does.
    ///
    /// # Errors
    /// When the API server refuses.
    pub async fn force_delete(&self) -> Result<Life> {
        self.delete_with(&DeleteParams::default().grace_period(0))
            .await
    }

    async fn delete_with(&self, parameters: &DeleteParams) -> Result<Life> {
        let ended = self.life().await?;
        let failure = || format!("failed to delete Pod {}", self.name);
        self.api()
            .delete(&self.name, parameters)
            .await
            .with_context(failure)?;
        Ok(ended)
    }

    /// Stops every process of the container (SIGSTOP) until the returned value is dropped or thawed.
    ///
    /// # Errors
    /// When the container does not run.
    pub async fn freeze(&self) -> Result<Freeze> {
        Freeze::begin(self.host_pid().await?)
    }

    /// Drops every packet between this Pod and others until the returned value is dropped or healed.
    ///
    /// # Errors
    /// When the Pod does not run or the rules cannot be loaded.
    pub async fn cut_off(&self, from: From<'_>) -> Result<Cut> {
        Cut::begin(self, from).await
    }

    /// Fills the file system of a folder until not one byte fits, until the returned value is
    /// dropped or relieved.
    ///
    /// # Errors
    /// When the folder does not exist in the container.
    pub async fn fill_disk(&self, folder: &str) -> Result<FullDisk> {
        FullDisk::begin(self.host_pid().await?, folder).await
    }

    /// Gives the container so many thousandths of one CPU (at least 10), until the returned value is
    /// dropped or lifted.
    ///
    /// # Errors
    /// When the container does not run or its cgroup cannot be changed.
    pub async fn throttle_cpu(&self, millicores: u32) -> Result<CpuThrottle> {
        CpuThrottle::begin(self.host_pid().await?, millicores)
    }
}

/// Whether the Pod is ready and not on its way out.
#[must_use]
pub fn is_ready(pod: &PodObject) -> bool {
    let conditions = pod
        .status
        .as_ref()
        .and_then(|status| status.conditions.as_ref());
    let ready = conditions.is_some_and(|conditions| {
        conditions
            .iter()
            .any(|condition| condition.type_ == "Ready" && condition.status == "True")
    });
    ready && pod.metadata.deletion_timestamp.is_none()
}

/// The address from which this machine would speak to `peer`. Nothing is sent.
fn own_address_towards(peer: IpAddr) -> Result<IpAddr> {
    let socket = UdpSocket::bind("0.0.0.0:0")?;
    socket
        .connect((peer, 9))
        .with_context(|| format!("no route to {peer}"))?;
    Ok(socket.local_addr()?.ip())
}

/// Reads a remote command to its end.
async fn finish(mut attached: AttachedProcess) -> Result<String> {
    let (stdout, stderr) = (attached.stdout(), attached.stderr());
    let status = attached
        .take_status()
        .context("the exit code was taken before")?;
    let (stdout, stderr) = tokio::try_join!(text(stdout), text(stderr))?;
    let status = status
        .await
        .context("the connection ended before the command did")?;
    ensure!(
        succeeded(&status),
        "{}: {stderr}{stdout}",
        status.message.unwrap_or_default()
    );
    Ok(stdout.trim_end_matches('\n').to_owned())
}

fn succeeded(status: &Status) -> bool {
    status.status.as_deref() == Some("Success")
}

async fn text(stream: Option<impl AsyncRead + Unpin>) -> Result<String> {
    let Some(mut stream) = stream else {
        bail!("the command's output was not attached")
    };
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).await?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
