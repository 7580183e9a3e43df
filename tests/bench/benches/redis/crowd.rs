//! A host that starts among thousands of objects that are as they should be: how long until it has looked at all of
//! them, what it writes, and how much memory it takes.

use std::path::Path;
use std::process::Stdio;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};
use windlass::controllers::Plugged;
use windlass_bench::host::{Host, Watched, component, redis_spec};
use windlass_bench::memory::mebibytes;
use windlass_bench::{control_plane, memory, nodes};

/// How often the host says how it is.
const EVERY: Duration = Duration::from_millis(500);
/// Nothing is written for this long once all is as it should be.
const SILENCE: Duration = Duration::from_secs(10);
/// How long a step may bring nothing new.
const PATIENCE: Duration = Duration::from_secs(120);

/// How a host is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
struct State {
    /// Milliseconds since it was started.
    at: u64,
    /// Objects that had a round.
    objects: usize,
    rounds: u64,
    writes: u64,
    private: u64,
}

pub(crate) async fn measure(objects: usize) -> Result<()> {
    let (client, _) = control_plane::client().await?;
    control_plane::install_redis(&client).await?;
    let nodes = tokio::spawn(nodes::run(client.clone()));
    let cache = tempfile::tempdir()?;

    let mut first = Spawned::start(cache.path())?;
    let empty = first.after(Duration::from_secs(10)).await?;
    let begun = Instant::now();
    control_plane::populate(&client, objects).await?;
    first.until_silent(objects).await?;
    let running = control_plane::running(&client, objects).await?;
    ensure!(
        running == objects,
        "{running} of {objects} objects are Running"
    );
    ensure!(!nodes.is_finished(), "the stand-in for nodes ended");
    let made = begun.elapsed();
    first.stop().await?;

    let mut second = Spawned::start(cache.path())?;
    let all = second.until_all(objects).await?;
    let later = second.after(SILENCE).await?;
    second.stop().await?;

    let since = |state: State| state.at as f64 / 1000.0;
    let pace = (later.rounds - all.rounds) as f64 / (since(later) - since(all));
    let each = later.private.saturating_sub(empty.private) as f64 / objects as f64;
    println!(
        "{objects} Redis objects, made and brought up in {made:.0?}; then a host that starts:"
    );
    println!(
        "  all looked at after    {:>8.1} s     aim: under 60 for 10,000",
        since(all)
    );
    println!("  writes                 {:>8}       aim: 0", later.writes);
    println!("  rounds a second        {pace:>8.0}");
    println!(
        "  private memory         {:>8.1} MiB   {:.1} KiB an object; without objects {:.1} MiB",
        mebibytes(later.private),
        each / 1024.0,
        mebibytes(empty.private),
    );
    Ok(())
}

/// A host in a process of its own, so that its memory is its own.
struct Spawned {
    process: Child,
    states: Lines<BufReader<ChildStdout>>,
}

impl Spawned {
    fn start(cache: &Path) -> Result<Self> {
        let mut process = Command::new(std::env::current_exe()?)
            .args(["host", "--cache"])
            .arg(cache)
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        let stdout = process.stdout.take().context("stdout is piped")?;
        Ok(Self {
            process,
            states: BufReader::new(stdout).lines(),
        })
    }

    async fn next(&mut self) -> Result<State> {
        let line = self.states.next_line().await?.context("the host ended")?;
        Ok(serde_json::from_str(&line)?)
    }

    /// Its state after this time.
    async fn after(&mut self, time: Duration) -> Result<State> {
        let begun = Instant::now();
        loop {
            let state = self.next().await?;
            if begun.elapsed() >= time {
                return Ok(state);
            }
        }
    }

    /// Waits until it has looked at all objects.
    async fn until_all(&mut self, objects: usize) -> Result<State> {
        let (mut last, mut since) = (0, Instant::now());
        loop {
            let state = self.next().await?;
            if state.objects >= objects {
                return Ok(state);
            }
            if state.objects != last {
                (last, since) = (state.objects, Instant::now());
            }
            if since.elapsed() > PATIENCE {
                bail!("{last} of {objects} objects had a round, and no more come");
            }
        }
    }

    /// The same, and nothing is written any more.
    async fn until_silent(&mut self, objects: usize) -> Result<State> {
        let mut state = self.until_all(objects).await?;
        loop {
            let later = self.after(SILENCE).await?;
            if later.writes == state.writes {
                return Ok(later);
            }
            eprintln!("{} writes, {} rounds", later.writes, later.rounds);
            state = later;
        }
    }

    async fn stop(mut self) -> Result<()> {
        Ok(self.process.kill().await?)
    }
}

/// The host of this measure: says how it is until it is ended.
pub(crate) async fn host(cache: &Path) -> Result<()> {
    let begun = Instant::now();
    let spec = redis_spec()?;
    let plugin = Watched::new(component(&spec, cache).await?);
    let host = Host::start(Plugged {
        plugin: plugin.clone(),
        spec,
    })
    .await?;
    let mut ticks = tokio::time::interval(EVERY);
    loop {
        ticks.tick().await;
        let state = State {
            at: u64::try_from(begun.elapsed().as_millis())?,
            objects: plugin.objects(),
            rounds: plugin.plans(),
            writes: host.writes.load(Ordering::Relaxed),
            private: memory::of(std::process::id())?.private,
        };
        println!("{}", serde_json::to_string(&state)?);
    }
}
