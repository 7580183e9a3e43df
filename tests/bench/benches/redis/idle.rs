//! The memory of a host with one plugin and no object, as it is installed.

use std::path::Path;
use std::time::Duration;

use anyhow::{Result, bail};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use windlass_bench::control_plane;
use windlass_bench::memory::{Memory, mebibytes};
use windlass_bench::process::{Process, of_host};

/// How long the host may take until it is ready.
const PATIENCE: Duration = Duration::from_secs(120);
/// What it used to start is given back by then.
const REST: Duration = Duration::from_secs(30);

pub(crate) async fn measure(program: &Path) -> Result<()> {
    let (client, _) = control_plane::client().await?;
    control_plane::install_redis(&client).await?;
    let folder = tempfile::tempdir()?;
    // Once to compile the plugin: an installed host finds it compiled.
    started(program, folder.path()).await?;
    let memory = started(program, folder.path()).await?;
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
async fn started(program: &Path, cache: &Path) -> Result<Memory> {
    let port = free_port()?;
    let mut host = Process::start(program, &of_host("redis", cache, port)?)?;
    let deadline = tokio::time::Instant::now() + PATIENCE;
    while !is_ready(port).await {
        if tokio::time::Instant::now() > deadline {
            bail!("the host is not ready within {PATIENCE:?}");
        }
        if host.has_ended()? {
            bail!("the host ended");
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    tokio::time::sleep(REST).await;
    let taken = host.memory()?;
    host.stop().await?;
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
