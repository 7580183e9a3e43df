//! What the host wrote, as the API server's audit log tells.

use std::fs::File;
use std::io::{BufRead, BufReader, Seek, SeekFrom};
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Result, ensure};
use k8s_openapi::jiff::Timestamp;
use serde_json::Value;

use crate::host::{self, Alone};
use crate::namespace::Namespace;
use crate::pod::Pod;
use crate::wait::{eventually, throughout};

/// Who the host is to the API server.
const HOST: &str = "system:serviceaccount:windlass-system:windlass";

/// Waits until the host has written nothing into a namespace for so long: an Event that tells what a status brought
/// about is written a moment after that status is seen.
///
/// # Errors
/// When it does not come to rest: with what it wrote last.
pub async fn rests(ns: &Namespace, duration: Duration) -> Result<()> {
    eventually("the host comes to rest", async || {
        Writes::begin(ns)?.none_for(duration).await
    })
    .await
}

/// What the host writes into a namespace from a moment on.
pub struct Writes {
    namespace: String,
    /// Also what it writes for itself, but for its Lease.
    its_own: bool,
    source: Option<IpAddr>,
    log: PathBuf,
    begin: u64,
    since: Timestamp,
}

impl Writes {
    /// Counts from this moment on.
    ///
    /// # Errors
    /// When the audit log cannot be read.
    pub fn begin(ns: &Namespace) -> Result<Self> {
        let log = ns.cluster().audit_log().to_owned();
        let begin = std::fs::metadata(&log)?.len();
        Ok(Self {
            namespace: ns.name().to_owned(),
            its_own: false,
            source: None,
            log,
            begin,
            since: Timestamp::now(),
        })
    }

    /// Only what comes from this Pod.
    ///
    /// # Errors
    /// When the Pod has no address.
    pub async fn from(self, pod: &Pod) -> Result<Self> {
        let source = Some(pod.ip().await?);
        Ok(Self { source, ..self })
    }

    /// Also what it writes for itself: into its own namespace, but for the Lease, and to what is in none. Only a
    /// scenario that has the host for itself knows whose doing that is.
    #[must_use]
    pub fn of_its_own_too(self, _alone: &Alone) -> Self {
        Self {
            its_own: true,
            ..self
        }
    }

    /// Watches for a while.
    ///
    /// # Errors
    /// At the first write: with what was written.
    pub async fn none_for(&self, duration: Duration) -> Result<()> {
        throughout(duration, "the host writes nothing", async || {
            let writes = self.so_far()?;
            ensure!(writes.is_empty(), "it wrote {writes:?}");
            Ok(())
        })
        .await
    }

    fn so_far(&self) -> Result<Vec<String>> {
        let mut file = File::open(&self.log)?;
        let length = file.metadata()?.len();
        ensure!(
            length >= self.begin,
            "the audit log began anew: nothing is known"
        );
        file.seek(SeekFrom::Start(self.begin))?;
        let lines: Vec<String> = BufReader::new(file).lines().collect::<Result<_, _>>()?;
        Ok(lines
            .iter()
            .filter_map(|line| self.write_of_the_host(line))
            .collect())
    }

    /// What an audit event of the host changed in the namespace, if it is one.
    fn write_of_the_host(&self, line: &str) -> Option<String> {
        let event: Value = serde_json::from_str(line).ok()?;
        let text = |pointer: &str| event.pointer(pointer).and_then(Value::as_str);
        // The log is written a moment after the request: what was asked before comes late.
        let asked: Timestamp = text("/requestReceivedTimestamp")?.parse().ok()?;
        let verb = text("/verb")?;
        let is_write = !["get", "list", "watch"].contains(&verb);
        let is_ours = asked >= self.since
            && text("/user/username")? == HOST
            && self.is_watched(text("/objectRef/namespace"), text("/objectRef/resource"))
            && self.is_from_source(text("/sourceIPs/0"));
        let what = text("/requestURI").unwrap_or_default();
        (is_write && is_ours).then(|| format!("{verb} {what}"))
    }

    fn is_watched(&self, namespace: Option<&str>, resource: Option<&str>) -> bool {
        match namespace {
            Some(namespace) if namespace == self.namespace => true,
            Some(namespace) => {
                self.its_own && namespace == host::NAMESPACE && resource != Some("leases")
            }
            None => self.its_own,
        }
    }

    fn is_from_source(&self, address: Option<&str>) -> bool {
        let address = address.and_then(|address| address.parse().ok());
        self.source.is_none() || self.source == address
    }
}
