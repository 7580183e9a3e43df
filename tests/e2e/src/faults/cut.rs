//! Cuts in the network of a Pod: nftables rules inside its network namespace that drop packets.

use std::fs::File;
use std::io::Write;
use std::net::IpAddr;
use std::os::fd::AsRawFd;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use anyhow::{Context, Result, ensure};

use crate::pod::Pod;

/// From whom a Pod is cut off, in both directions.
#[derive(Clone, Copy)]
pub enum From<'a> {
    /// From these Pods: from its peers, or from an operator that runs as a Pod.
    Pods(&'a [&'a Pod]),
    /// From the processes of this machine, such as an operator beside the cluster and the test
    /// itself. The kubelet still reaches it.
    ThisMachine,
    /// From everyone but the kubelet, whose probes a cut between machines would not stop either.
    Everyone,
}

/// Cuts the network between two Pods.
///
/// # Errors
/// When one of them does not run or the rules cannot be loaded.
pub async fn partition(one: &Pod, other: &Pod) -> Result<Cut> {
    one.cut_off(From::Pods(&[other])).await
}

/// A cut in a Pod's network. Heals when dropped.
#[must_use = "the cut heals when this is dropped"]
pub struct Cut {
    table: String,
    network: Network,
    healed: bool,
}

impl Cut {
    pub(crate) async fn begin(pod: &Pod, from: From<'_>) -> Result<Self> {
        let failure = || format!("failed to cut off Pod {}", pod.name());
        let peers = Peers::of(pod, from).await.with_context(failure)?;
        let network = Network::of(pod).await.with_context(failure)?;
        let table = next_table();
        network.load(&rules(&table, &peers)).with_context(failure)?;
        Ok(Self {
            table,
            network,
            healed: false,
        })
    }

    /// Removes the rules.
    ///
    /// # Errors
    /// When nft refuses.
    pub fn heal(mut self) -> Result<()> {
        self.healed = true;
        self.network
            .load(&format!("delete table inet {}\n", self.table))
    }
}

impl Drop for Cut {
    fn drop(&mut self) {
        if !self.healed
            && let Err(error) = self
                .network
                .load(&format!("delete table inet {}\n", self.table))
        {
            eprintln!("a network cut did not heal: {error:#}");
        }
    }
}

/// Whose packets are dropped, as an nftables match without `saddr` or `daddr`.
enum Peers {
    Only(Vec<IpAddr>),
    AllBut(IpAddr),
}

impl Peers {
    async fn of(pod: &Pod, from: From<'_>) -> Result<Self> {
        Ok(match from {
            From::Pods(pods) => {
                let addresses = futures::future::join_all(pods.iter().map(|pod| pod.ip())).await;
                Self::Only(addresses.into_iter().collect::<Result<_>>()?)
            }
            From::ThisMachine => Self::Only(vec![pod.machine_ip().await?]),
            From::Everyone => Self::AllBut(pod.node_ip().await?),
        })
    }

    fn matching(&self) -> String {
        match self {
            Self::Only(addresses) => {
                let addresses: Vec<String> = addresses.iter().map(IpAddr::to_string).collect();
                format!("{{ {} }}", addresses.join(", "))
            }
            Self::AllBut(address) => format!("!= {address}"),
        }
    }
}

/// Each cut has a table of its own, so that several on one Pod heal one by one.
fn next_table() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    format!(
        "windlass_cut_{}_{}",
        std::process::id(),
        NEXT.fetch_add(1, Ordering::Relaxed)
    )
}

fn rules(table: &str, peers: &Peers) -> String {
    let peers = peers.matching();
    format!(
        "table inet {table} {{\n\
         chain input {{ type filter hook input priority -200; iif != lo ip saddr {peers} drop; }}\n\
         chain output {{ type filter hook output priority -200; oif != lo ip daddr {peers} drop; }}\n\
         }}\n"
    )
}

/// A Pod's network namespace, held open: it outlives a killed container, and so does the cut.
struct Network {
    namespace: File,
}

impl Network {
    async fn of(pod: &Pod) -> Result<Self> {
        let path = format!("/proc/{}/ns/net", pod.host_pid().await?);
        let namespace = File::open(&path).with_context(|| format!("failed to open {path}"))?;
        Ok(Self { namespace })
    }

    /// Runs an nftables script inside.
    fn load(&self, script: &str) -> Result<()> {
        let handle = format!(
            "/proc/{}/fd/{}",
            std::process::id(),
            self.namespace.as_raw_fd()
        );
        let mut nft = Command::new("nsenter")
            .args([&format!("--net={handle}"), "nft", "--file", "-"])
            .stdin(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .context("failed to start nsenter")?;
        let mut stdin = nft.stdin.take().context("nft has no stdin")?;
        stdin
            .write_all(script.as_bytes())
            .context("failed to hand the rules to nft")?;
        drop(stdin);
        let output = nft.wait_with_output().context("failed to wait for nft")?;
        let complaint = String::from_utf8_lossy(&output.stderr);
        ensure!(
            output.status.success(),
            "nft refused the rules: {complaint}\n{script}"
        );
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{Peers, rules};

    #[test]
    fn a_cut_from_two_pods_drops_both_directions_and_nothing_else() {
        let peers = Peers::Only(vec![[10, 0, 0, 1].into(), [10, 0, 0, 2].into()]);
        let text = rules("t", &peers);
        assert!(
            text.contains("ip saddr { 10.0.0.1, 10.0.0.2 } drop"),
            "{text}"
        );
        assert!(
            text.contains("ip daddr { 10.0.0.1, 10.0.0.2 } drop"),
            "{text}"
        );
    }

    #[test]
    fn a_cut_from_everyone_spares_the_node() {
        let text = rules("t", &Peers::AllBut([10, 0, 0, 1].into()));
        assert!(text.contains("ip saddr != 10.0.0.1 drop"), "{text}");
    }
}
