//! What a plugin costs: loading, calling, keeping. Figures for this machine, to be read as ratios.
//!
//! ```text
//! cargo run --release -p windlass --example plugin-cost -- COMPONENT.wasm [OBJECT.json]
//! ```
//!
//! The object is handed to `reconcile` alone, without facts; without one an empty object is.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context;
use serde_json::json;
use windlass::plugin::bindings::Request;
use windlass::plugin::compile::{Compiler, SUBCOMMAND, compile_component};
use windlass::plugin::configuration::PluginSpec;
use windlass::plugin::{Loader, Operator, Plugin};

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [SUBCOMMAND, input, output] =
        arguments.iter().map(String::as_str).collect::<Vec<_>>()[..]
    {
        return compile_component(input.as_ref(), output.as_ref());
    }
    measure(arguments.into_iter()).await
}

async fn measure(mut arguments: impl Iterator<Item = String>) -> anyhow::Result<()> {
    let component: PathBuf = arguments.next().context("name a component")?.into();
    let object = match arguments.next() {
        Some(file) => std::fs::read_to_string(&file).with_context(|| file)?,
        None => "{}".into(),
    };
    let folder = tempfile::tempdir()?;
    let cache = folder.path().join("cache");
    println!("process before            {}", memory()?);

    let compiled = Instant::now();
    load(&cache, &component, "warm").await?;
    println!("load, compiling           {:?}", compiled.elapsed());

    let loader = Loader::new(&cache, Compiler::this_program()?)?;
    println!("engine                    {}", memory()?);
    let began = Instant::now();
    let warm = prepare(&loader, &component, "warm").await?;
    println!("load, from the cache      {:?}", began.elapsed());
    let began = Instant::now();
    let _ = warm.reconcile(&request(&object)).await;
    println!("first call                {:?}", began.elapsed());
    println!("idle with one plugin      {}", memory()?);

    let fresh = prepare(&loader, &component, "fresh").await?;
    for round in 1..=3 {
        let (warm, fresh) = (
            average(&warm, &object).await,
            average(&fresh, &object).await,
        );
        let ratio = fresh.as_secs_f64() / warm.as_secs_f64();
        println!("call, round {round}: warm {warm:?}, fresh {fresh:?}, ratio {ratio:.1}");
    }
    Ok(())
}

async fn load(cache: &Path, component: &Path, isolation: &str) -> anyhow::Result<Arc<Plugin>> {
    let loader = Loader::new(cache, Compiler::this_program()?)?;
    prepare(&loader, component, isolation).await
}

async fn prepare(
    loader: &Loader,
    component: &Path,
    isolation: &str,
) -> anyhow::Result<Arc<Plugin>> {
    let spec: PluginSpec = serde_json::from_value(json!({
        "source": {"file": component}, "isolation": isolation, "sampleEvery": 0,
    }))?;
    let component = std::fs::read(component)?;
    Ok(loader.prepare("measured", &spec, &component).await?)
}

/// Answers count, whatever they are: a plugin that needs facts asks for them.
async fn average(plugin: &Plugin, object: &str) -> Duration {
    const CALLS: u32 = 2_000;
    let request = request(object);
    let began = Instant::now();
    for _ in 0..CALLS {
        let _ = plugin.reconcile(&request).await;
    }
    began.elapsed() / CALLS
}

fn request(object: &str) -> Request {
    Request {
        object: object.into(),
        children: Vec::new(),
        facts: Vec::new(),
        outcomes: Vec::new(),
        running: Vec::new(),
        available: Vec::new(),
        now: 1_700_000_000_000,
        config: "{}".into(),
        deletion: None,
    }
}

/// Memory that is this process's alone.
fn memory() -> anyhow::Result<String> {
    let rollup = std::fs::read_to_string("/proc/self/smaps_rollup")?;
    let kilobytes: u64 = rollup
        .lines()
        .filter(|line| line.starts_with("Private_"))
        .filter_map(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok())
        .sum();
    Ok(format!("{:.1} MB private", kilobytes as f64 / 1024.0))
}
