//! How long a plugin takes to be compiled, and to start once it is.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use windlass::plugin::compile::Compiler;
use windlass::plugin::{Loader, Operator};
use windlass_bench::host::{component_of, spec_of};
use windlass_bench::median;

/// The plugins that ship with the host.
const PLUGINS: [&str; 3] = ["mysql", "prometheus", "redis"];
/// How often each is started.
const STARTS: usize = 21;

pub(crate) async fn measure(host: &Path) -> Result<()> {
    println!("a plugin is compiled in a child process, then started from the cache by a new host");
    for plugin in PLUGINS {
        let spec = spec_of(plugin)?;
        let wasm = component_of(&spec)?;
        let cache = tempfile::tempdir()?;
        let prepared = async || -> Result<Duration> {
            let compiler = Compiler::Child(host.to_owned());
            let loader = Loader::new(cache.path(), compiler)?;
            let begun = Instant::now();
            let loaded = loader.prepare(plugin, &spec, &wasm).await?;
            ensure!(!loaded.description().name.is_empty(), "it has no name");
            Ok(begun.elapsed())
        };
        let first = prepared().await?;
        let mut starts = Vec::with_capacity(STARTS);
        for _ in 0..STARTS {
            starts.push(prepared().await?.as_secs_f64() * 1000.0);
        }
        println!(
            "  {plugin:<12} {:>5.1} MiB   compiled in {:>5.1} s, started in {:>6.2} ms, asked twice what it is",
            wasm.len() as f64 / f64::from(1 << 20),
            first.as_secs_f64(),
            median(starts),
        );
    }
    Ok(())
}
