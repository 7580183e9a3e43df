//! A plugin beside ten that misbehave: how long its calls take, and the memory of the host.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use tokio::task::JoinSet;
use windlass::plugin::compile::Compiler;
use windlass::plugin::{Loader, Operator, Plugin};
use windlass_bench::memory::{self, mebibytes};

use crate::asked::to_do;
use crate::copies;

/// What the others do, as often as they are let.
const MISDEEDS: [&str; 5] = ["loop", "allocate", "panic", "chatter", "hugePlan"];
/// How many do each of it.
const OF_EACH: usize = 2;
/// Calls that are timed.
const CALLS: usize = 400;
/// Between two of them.
const PAUSE: Duration = Duration::from_millis(20);

pub(crate) async fn measure(component: &Path) -> Result<()> {
    let cache = tempfile::tempdir()?;
    let loader = Loader::new(cache.path(), Compiler::Here)?;
    let count = u32::try_from(1 + MISDEEDS.len() * OF_EACH)?;
    let mut plugins = copies::load(&loader, component, count).await?;
    let good = plugins.pop().context("the first is the good one")?;
    let alone = Calls::of(&good).await?;
    let before = memory::of(std::process::id())?.private;
    let mut bad = JoinSet::new();
    for (number, plugin) in plugins.into_iter().enumerate() {
        let request = to_do(MISDEEDS[number % MISDEEDS.len()], "a");
        bad.spawn(async move {
            loop {
                // It fails: that is what it is for.
                let _ = plugin.reconcile(&request).await;
                tokio::task::yield_now().await;
            }
        });
    }
    let beside = Calls::of(&good).await?;
    let after = memory::of(std::process::id())?.private;
    println!("calls of a plugin that does nothing, every {PAUSE:?}");
    println!("  alone                  {alone}");
    println!("  beside {} hostile ones {beside}", count - 1);
    println!(
        "  private memory         {:>8.1} MiB alone, {:.1} MiB beside them",
        mebibytes(before),
        mebibytes(after)
    );
    Ok(())
}

/// How long calls took, in milliseconds and in order.
struct Calls(Vec<f64>);

impl Calls {
    async fn of(plugin: &Plugin) -> Result<Self> {
        let request = to_do("empty", "a");
        let mut times = Vec::with_capacity(CALLS);
        for _ in 0..CALLS {
            tokio::time::sleep(PAUSE).await;
            let begun = Instant::now();
            plugin.reconcile(&request).await?;
            times.push(begun.elapsed().as_secs_f64() * 1000.0);
        }
        times.sort_by(f64::total_cmp);
        Ok(Self(times))
    }

    fn at(&self, percent: usize) -> f64 {
        self.0[(self.0.len() - 1) * percent / 100]
    }
}

impl std::fmt::Display for Calls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "{:>8.2} ms in the middle, {:.2} ms for 99 of 100, {:.2} ms at most",
            self.at(50),
            self.at(99),
            self.at(100)
        )
    }
}
