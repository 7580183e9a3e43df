//! The memory of a host with one plugin and no object, as it is installed.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::process::Command;
use windlass_bench::control_plane::{self, KUBECONFIG};
use windlass_bench::host;
use windlass_bench::memory::{self, Memory};

/// How long the host may take until it is ready.
const PATIENCE: Duration = Duration::from_secs(120);
/// What it used to start is given back by then.
const REST: Duration = Duration::from_secs(30);

pub(crate) async fn measure(program: &Path) -> Result<()> {
    let (client, _) = control_plane::client().await?;
    control_plane::install_redis(&client).await?;
    let folder = tempfile::tempdir()?;
    let plugins = std::env::var(host::PLUGINS).context(host::PLUGINS)?;
    let plugin = Path::new(&plugins).join("redis.yaml");
    // Once to compile the plugin: an installed host finds it compiled.
    started(program, &plugin, folder.path()).await?;
    let memory = started(program, &plugin, folder.path()).await?;
    let mebibytes = |bytes: u64| bytes as f64 / f64::from(1 << 20);
    println!("a host with the Redis plugin and no object");
    println!(
        "  private memory         {:>8.1} MiB   aim: under 25",
        mebibytes(memory.private)
    );
    println!(
        "  resident, its own code among it {:>4.1} MiB",
        mebibytes(memory.resident)
    );
    Ok(())
}

/// The memory of a host some time after it was ready.
async fn started(program: &Path, plugin: &Path, cache: &Path) -> Result<Memory> {
    let port = free_port()?;
    let mut host = Command::new(program)
        .arg("run")
        .arg("--plugins")
        .arg(plugin)
        .arg("--cache")
        .arg(cache.join("cache"))
        .args(["--namespace", "default", "--lease-duration", "15"])
        .args(["--listen", &format!("127.0.0.1:{port}")])
        .args(["--listen-explain", "127.0.0.1:0"])
        .env("KUBECONFIG", std::env::var(KUBECONFIG)?)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .with_context(|| format!("failed to start {}", program.display()))?;
    let deadline = tokio::time::Instant::now() + PATIENCE;
    while !is_ready(port).await {
        if tokio::time::Instant::now() > deadline {
            bail!("the host is not ready within {PATIENCE:?}");
        }
        if let Some(ended) = host.try_wait()? {
            bail!("the host ended: {ended}");
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    tokio::time::sleep(REST).await;
    let taken = memory::of(host.id().context("the host ended")?)?;
    let id = nix::unistd::Pid::from_raw(i32::try_from(host.id().context("the host ended")?)?);
    nix::sys::signal::kill(id, nix::sys::signal::Signal::SIGTERM)?;
    host.wait().await?;
    Ok(taken)
}

fn free_port() -> Result<u16> {
    let socket = std::net::TcpListener::bind("127.0.0.1:0")?;
    Ok(socket.local_addr()?.port())
}

async fn is_ready(port: u16) -> bool {
    let asked = async {
        let mut stream = TcpStream::connect(("127.0.0.1", port)).await?;
        stream
            .write_all(b"GET /readyz HTTP/1.0\r\nHost: localhost\r\n\r\n")
            .await?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await?;
        std::io::Result::Ok(answer)
    };
    asked
        .await
        .is_ok_and(|answer| answer.split(' ').nth(1) == Some("200"))
}
