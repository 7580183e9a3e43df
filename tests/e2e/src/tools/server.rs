//! A server process that lives as long as a scenario needs it.

use std::net::{IpAddr, SocketAddr};
use std::process::Stdio;

use anyhow::{Context, Result, bail};
use tempfile::TempDir;
use tokio::net::{TcpListener, TcpStream};
use tokio::process::{Child, Command};

use crate::binaries;
use crate::wait::eventually;

/// A running server with a folder of its own; both go when it is dropped.
pub(super) struct Server {
    _child: Child,
    folder: TempDir,
    address: SocketAddr,
}

impl Server {
    /// Starts a program of the cache on this machine's address `at`; `configure` gives it its folder and
    /// the address with a free port. Waits until it accepts connections.
    pub(super) async fn start(
        program: &str,
        at: IpAddr,
        configure: impl FnOnce(&mut Command, &std::path::Path, SocketAddr) -> Result<()>,
    ) -> Result<Self> {
        let folder = TempDir::new().context("failed to make a folder for a server")?;
        let address = free_address(at).await?;
        let log = folder.path().join("server.log");
        let output = std::fs::File::create(&log).context("failed to make a server's log")?;
        let mut command = Command::new(binaries::path(program)?);
        command
            .stdin(Stdio::null())
            .stdout(output.try_clone()?)
            .stderr(output)
            .kill_on_drop(true);
        configure(&mut command, folder.path(), address)?;
        let mut child = command
            .spawn()
            .with_context(|| format!("failed to start {program}"))?;
        eventually(&format!("{program} listens on {address}"), async || {
            if let Some(status) = child.try_wait()? {
                let log = std::fs::read_to_string(&log).unwrap_or_default();
                bail!("{program} ended by itself ({status}):\n{log}");
            }
            TcpStream::connect(address).await.context("no answer")
        })
        .await?;
        Ok(Self {
            _child: child,
            folder,
            address,
        })
    }

    pub(super) fn folder(&self) -> &std::path::Path {
        self.folder.path()
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }
}

/// An address of this machine with a port that was free a moment ago.
async fn free_address(at: IpAddr) -> Result<SocketAddr> {
    let listener = TcpListener::bind((at, 0)).await?;
    Ok(listener.local_addr()?)
}
