//! One more ServiceMonitor among many: prometheus-operator and this host beside each other, on one API server, with the
//! same CRDs and objects; `cargo xtask bench` runs it.

mod cluster;
mod operator;
mod requests;

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Result, ensure};
use clap::Parser;

use cluster::Cluster;
use operator::Operator;
use requests::Requests;
use windlass_bench::median;
use windlass_bench::memory::mebibytes;

/// Measures both operators.
#[derive(Parser)]
struct Arguments {
    /// This host's binary.
    #[arg(long)]
    host: PathBuf,
    /// prometheus-operator's binary.
    #[arg(long)]
    upstream: PathBuf,
    /// The folder with prometheus-operator's CRDs.
    #[arg(long)]
    crds: PathBuf,
    /// The API server's audit log.
    #[arg(long)]
    audit_log: PathBuf,
    /// How many ServiceMonitors there are beside the one that is added.
    #[arg(long, value_delimiter = ',', default_value = "0,500,2000")]
    others: Vec<usize>,
    /// Cargo's own argument for benchmarks.
    #[arg(long, hide = true)]
    bench: bool,
}

/// How often one more is added: the median counts.
const TIMES: usize = 5;
/// What an operator does after it wrote belongs to the change.
const AFTER: Duration = Duration::from_secs(2);
/// Memory is looked at this long after the last change.
const REST: Duration = Duration::from_secs(30);
/// Requests at rest are counted for this long.
const COUNTED: Duration = Duration::from_secs(60);

/// What one operator needed among so many others.
struct Figures {
    seconds: f64,
    cpu_seconds: f64,
    private: u64,
    requests: usize,
    writes: usize,
    writes_after_restart: usize,
}

#[tokio::main]
async fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let cluster = Cluster::prepare(&arguments.crds).await?;
    println!(
        "one more ServiceMonitor among so many others: time until the configuration holds it (median of {TIMES}),"
    );
    println!(
        "CPU for it, private memory 30 s after, requests and writes in a minute at rest, writes after a restart"
    );
    println!();
    println!(
        "{:>8}  {:<20} {:>9} {:>8} {:>10} {:>9} {:>7} {:>8}",
        "others", "operator", "time", "CPU", "memory", "requests", "writes", "restart"
    );
    let mut there = 0;
    for &others in &arguments.others {
        cluster.make_monitors(there..others).await?;
        there = others;
        for operator in [
            Operator::upstream(&arguments.upstream),
            Operator::windlass(&arguments.host)?,
        ] {
            let figures = measure(&cluster, &operator, &arguments, others).await?;
            println!(
                "{others:>8}  {:<20} {:>6.0} ms {:>6.2} s {:>6.0} MiB {:>9} {:>7} {:>8}",
                operator.name(),
                figures.seconds * 1000.0,
                figures.cpu_seconds,
                mebibytes(figures.private),
                figures.requests,
                figures.writes,
                figures.writes_after_restart,
            );
            cluster.clear().await?;
        }
    }
    Ok(())
}

async fn measure(
    cluster: &Cluster,
    operator: &Operator,
    arguments: &Arguments,
    others: usize,
) -> Result<Figures> {
    cluster.make_prometheus().await?;
    let mut running = operator.start()?;
    let configured = cluster.configured_with(others).await;
    ensure!(
        !running.has_ended()?,
        "{} ended by itself: run it by hand to see why",
        operator.name()
    );
    configured?;
    tokio::time::sleep(REST).await;
    let mut seconds = Vec::new();
    let mut cpu = Vec::new();
    for _ in 0..TIMES {
        let before = running.cpu()?;
        seconds.push(cluster.one_more().await?.as_secs_f64());
        tokio::time::sleep(AFTER).await;
        cpu.push(running.cpu()? - before);
        cluster.one_less().await?;
        tokio::time::sleep(AFTER).await;
    }
    tokio::time::sleep(REST).await;
    let private = running.memory()?.private;
    let at_rest = Requests::begin(&arguments.audit_log, operator.agent())?;
    tokio::time::sleep(COUNTED).await;
    let (requests, writes) = at_rest.so_far()?;
    running.stop().await?;
    let again = Requests::begin(&arguments.audit_log, operator.agent())?;
    let running = operator.start()?;
    tokio::time::sleep(REST).await;
    let (_, writes_after_restart) = again.so_far()?;
    running.stop().await?;
    Ok(Figures {
        seconds: median(seconds),
        cpu_seconds: median(cpu),
        private,
        requests,
        writes,
        writes_after_restart,
    })
}
