//! What the host costs with the Redis plugin; `cargo xtask bench` runs it.

mod crowd;
mod idle;
mod round;

use std::path::PathBuf;

use anyhow::Result;
use clap::{Parser, Subcommand};

/// Measures the host with the Redis plugin.
#[derive(Parser)]
struct Arguments {
    #[command(subcommand)]
    measure: Measure,
    /// Cargo's own argument for benchmarks.
    #[arg(long, hide = true, global = true)]
    bench: bool,
}

#[derive(Subcommand)]
enum Measure {
    /// A round that changes nothing: through the component, and with the plugin compiled natively.
    Round,
    /// A host with one plugin and no object.
    Idle {
        /// The host's binary.
        #[arg(long)]
        host: PathBuf,
    },
    /// A host that starts among many objects that are as they should be.
    Crowd {
        /// How many.
        #[arg(long, default_value_t = 10_000)]
        objects: usize,
    },
    /// The host that `crowd` starts.
    #[command(hide = true)]
    Host {
        /// Where components are compiled.
        #[arg(long)]
        cache: PathBuf,
    },
}

#[tokio::main]
async fn main() -> Result<()> {
    match Arguments::parse().measure {
        Measure::Round => round::measure().await,
        Measure::Idle { host } => idle::measure(&host).await,
        Measure::Crowd { objects } => crowd::measure(objects).await,
        Measure::Host { cache } => crowd::host(&cache).await,
    }
}
