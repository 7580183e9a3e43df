//! A round that changes nothing, through the component and with the plugin compiled natively, in turns.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use windlass::controllers::Plugged;
use windlass::object::{Kind, ObjectKey};
use windlass::plugin::Operator;
use windlass::queue::{Queue, Reason, ReconcileRequest};
use windlass::reconcile::Reconciler;
use windlass_bench::control_plane::{self, KIND};
use windlass_bench::host::{Host, component, redis_spec};
use windlass_bench::native::Native;
use windlass_bench::{median, nodes};

/// Rounds between two looks at the clock.
const BATCH: u32 = 50;
/// Turns that each takes.
const TURNS: usize = 41;
/// How long the object may take to be as it should be.
const PATIENCE: Duration = Duration::from_secs(120);
/// It is believed to be so after no write for this long.
const SILENCE: Duration = Duration::from_secs(5);

pub(crate) async fn measure() -> Result<()> {
    let (client, _) = control_plane::client().await?;
    control_plane::install_redis(&client).await?;
    let nodes = tokio::spawn(nodes::run(client.clone()));
    let cache = tempfile::tempdir()?;
    let spec = redis_spec()?;
    let component = component(&spec, cache.path()).await?;
    let native: Arc<dyn Operator> = Arc::new(Native::new()?);
    let mut host = Host::start(Plugged {
        plugin: component.clone(),
        spec: spec.clone(),
    })
    .await?;
    control_plane::populate(&client, 1).await?;
    settle(&client, &host).await?;
    host.rest().await;
    let rounds = |plugin| Reconciler::new(plugin, spec.clone(), host.rooms.clone(), Queue::new(0));
    let (component, native) = (rounds(component), rounds(native));
    let before = host.writes.load(Ordering::Relaxed);
    // The first of each learns what the plugin asks.
    batch(&component).await?;
    batch(&native).await?;
    let mut turns = Vec::with_capacity(TURNS);
    for _ in 0..TURNS {
        turns.push((batch(&component).await?, batch(&native).await?));
    }
    let written = host.writes.load(Ordering::Relaxed) - before;
    ensure!(
        written == 0,
        "the rounds wrote {written} times: {:?}",
        changes(&host)
    );
    ensure!(!nodes.is_finished(), "the stand-in for nodes ended");
    report(&turns);
    Ok(())
}

/// What the last rounds changed.
fn changes(host: &Host) -> Vec<String> {
    let explained = host
        .rooms
        .history
        .find("redis", None, &control_plane::name(0));
    let rounds = explained.into_iter().flat_map(|object| object.rounds);
    rounds.flat_map(|round| round.changed).collect()
}

/// Waits until the object is as it should be and nothing is written.
async fn settle(client: &kube::Client, host: &Host) -> Result<()> {
    let deadline = Instant::now() + PATIENCE;
    let (mut writes, mut since) = (0, Instant::now());
    while Instant::now() < deadline {
        let now = host.writes.load(Ordering::Relaxed);
        if now != writes {
            (writes, since) = (now, Instant::now());
        }
        if since.elapsed() > SILENCE && control_plane::running(client, 1).await? == 1 {
            return Ok(());
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    bail!("the object does not come to rest within {PATIENCE:?}")
}

/// The mean time of a round.
async fn batch(reconciler: &Reconciler) -> Result<Duration> {
    let kind: Kind = KIND.parse()?;
    let request = ReconcileRequest {
        object: Arc::new(ObjectKey {
            kind,
            namespace: Some(control_plane::namespace(0)),
            name: control_plane::name(0),
        }),
        reason: Reason::RequeueAfter,
    };
    let begun = Instant::now();
    for _ in 0..BATCH {
        reconciler.round(&request).await;
    }
    begun
        .elapsed()
        .checked_div(BATCH)
        .context("a batch has rounds")
}

fn report(turns: &[(Duration, Duration)]) {
    let micros = |time: &Duration| time.as_secs_f64() * 1e6;
    let component = median(
        turns
            .iter()
            .map(|(component, _)| micros(component))
            .collect(),
    );
    let native = median(turns.iter().map(|(_, native)| micros(native)).collect());
    let ratio = median(turns.iter().map(|(c, n)| micros(c) / micros(n)).collect());
    println!("a round that changes nothing, of one Redis with three servers");
    println!("  through the component  {component:>8.0} µs");
    println!("  compiled natively      {native:>8.0} µs");
    println!("  ratio                  {ratio:>8.2}     aim: at most 1.50");
}
