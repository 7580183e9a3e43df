//! The memory of many plugins: loaded and never called, and with an instance each that waits for a call.

use std::path::Path;

use anyhow::Result;
use windlass::plugin::compile::Compiler;
use windlass::plugin::{Loader, Operator};
use windlass_bench::memory::{self, mebibytes};

use crate::asked::to_do;
use crate::copies;

/// How many plugins.
const PLUGINS: u32 = 100;

pub(crate) async fn measure(component: &Path) -> Result<()> {
    let cache = tempfile::tempdir()?;
    // What a compiler leaves behind in memory is not theirs.
    copies::load(
        &Loader::new(cache.path(), Compiler::Here)?,
        component,
        PLUGINS,
    )
    .await?;
    let loader = Loader::new(cache.path(), Compiler::Here)?;
    let one = copies::load(&loader, component, 1).await?;
    let empty = memory::of(std::process::id())?.private;
    let plugins = copies::load(&loader, component, PLUGINS).await?;
    let idle = memory::of(std::process::id())?.private;
    for plugin in &plugins {
        plugin.reconcile(&to_do("empty", "a")).await?;
    }
    let warm = memory::of(std::process::id())?.private;
    let each = |now: u64, before: u64| mebibytes(now.saturating_sub(before)) / f64::from(PLUGINS);
    println!("{PLUGINS} plugins of their own code each");
    println!(
        "  idle                   {:>8.3} MiB each   aim: 0.3",
        each(idle, empty)
    );
    println!(
        "  warm, beyond that      {:>8.3} MiB each",
        each(warm, idle)
    );
    drop((one, plugins));
    Ok(())
}
