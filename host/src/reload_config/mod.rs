//! `windlass reload-config`: the container beside a server whose configuration is mounted from a Secret.
//!
//! Flow: it looks at the mounted folders twice a second. When one changed it unpacks the configuration, fills in what
//! only the Pod knows, writes the result where the server reads it, and tells the server to read it again, until the
//! server took it. What the server runs is then served at `/status`.
//!
//! Guarantees: the written file is always whole. A revision is told only after the server accepted it.
//!
//! Assumes: the kubelet swaps a mounted folder as a whole, by the link `..data`.

mod mount;
mod render;
mod report;

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, bail};
use backon::{BackoffBuilder as _, ExponentialBuilder};
use tokio::time::timeout;
use tracing::{info, warn};

use crate::args::ReloadConfigArgs;
use crate::{stop, tls};
use mount::{Mounts, Seen};
use report::Report;

/// How often the folders are looked at.
const LOOK_EVERY: Duration = Duration::from_millis(500);

/// How long the server may take to read its configuration.
const RELOAD_WITHIN: Duration = Duration::from_secs(30);

/// Runs until it is asked to stop, or with `once` until the file is written.
///
/// # Errors
/// When the first configuration cannot be written, or the report cannot be served.
pub async fn run(args: ReloadConfigArgs) -> anyhow::Result<()> {
    let mut folders = vec![args.config.clone()];
    folders.extend(args.watch.iter().cloned());
    let mounts = Mounts::new(folders);
    if args.once {
        return write(&args);
    }
    let Some(url) = args.reload_url.clone() else {
        bail!("--reload-url is missing; it is needed unless --once is given");
    };
    tls::choose_cryptography();
    let report = Arc::new(Report::default());
    let server = tokio::spawn(report::serve(args.listen, report.clone()));
    let stop = stop::signals()?;
    tokio::select! {
        served = server => served.context("the report's server ended")?,
        () = follow(&args, &mounts, &url, &report) => Ok(()),
        () = stop::stopped(stop) => Ok(()),
    }
}

/// Brings the server to what is mounted, again and again.
async fn follow(args: &ReloadConfigArgs, mounts: &Mounts, url: &str, report: &Report) {
    let client = client();
    let mut pauses = pauses();
    loop {
        let seen = mounts.look();
        match bring(args, &client, url).await {
            Ok(()) => {
                info!(revisions = ?seen.revisions, "the server runs what is mounted");
                report.runs(&seen.revisions);
                pauses = self::pauses();
                changed(mounts, &seen).await;
            }
            Err(error) => {
                let pause = pauses.next().unwrap_or(Duration::from_secs(10));
                warn!(
                    "failed to bring the server to what is mounted, trying again in {pause:?}: {error:#}"
                );
                report.failed(&format!("{error:#}"));
                // What is refused is asked for again; what took its place need not wait for that.
                if timeout(pause, changed(mounts, &seen)).await.is_ok() {
                    pauses = self::pauses();
                }
            }
        }
    }
}

/// Waits until something else is mounted than what was seen.
async fn changed(mounts: &Mounts, seen: &Seen) {
    while mounts.look() == *seen {
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

fn pauses() -> impl Iterator<Item = Duration> + use<> {
    ExponentialBuilder::default()
        .with_min_delay(Duration::from_millis(500))
        .with_max_delay(Duration::from_secs(10))
        .without_max_times()
        .build()
}

async fn bring(
    args: &ReloadConfigArgs,
    client: &reqwest::Result<reqwest::Client>,
    url: &str,
) -> anyhow::Result<()> {
    write(args)?;
    let client = client
        .as_ref()
        .map_err(|error| anyhow::anyhow!("failed to make an HTTP client: {error}"))?;
    let reply = client
        .post(url)
        .send()
        .await
        .with_context(|| format!("failed to reach {url}"))?;
    let status = reply.status();
    if status.is_success() {
        return Ok(());
    }
    let text = reply.text().await.unwrap_or_default();
    bail!("{url} answered {status}: {}", text.trim());
}

fn write(args: &ReloadConfigArgs) -> anyhow::Result<()> {
    let source = mount::current(&args.config).join(&args.file);
    let variables = render::Variables::of_process();
    render::write(&source, &args.output, &variables)
}

/// The server is this Pod's own: its certificate, if it has one, is not for this name.
fn client() -> reqwest::Result<reqwest::Client> {
    reqwest::Client::builder()
        .no_proxy()
        .tls_danger_accept_invalid_certs(true)
        .timeout(RELOAD_WITHIN)
        .build()
}
