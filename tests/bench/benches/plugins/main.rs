//! What plugins cost: to compile, to start, to keep, and beside others that misbehave; `cargo xtask bench` runs it.

mod asked;
mod copies;
mod idle;
mod neighbours;
mod start;

use std::path::PathBuf;

use anyhow::Result;
use clap::Parser;

/// Measures what plugins cost.
#[derive(Parser)]
struct Arguments {
    /// The host's binary, which compiles.
    #[arg(long)]
    host: PathBuf,
    /// The component of a plugin that misbehaves on request.
    #[arg(long)]
    hostile: PathBuf,
    /// Cargo's own argument for benchmarks.
    #[arg(long, hide = true)]
    bench: bool,
}

#[tokio::main]
async fn main() -> Result<()> {
    let Arguments { host, hostile, .. } = Arguments::parse();
    start::measure(&host).await?;
    idle::measure(&hostile).await?;
    neighbours::measure(&hostile).await
}
