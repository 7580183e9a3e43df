//! Waiting for what must become true: watches and polls with a deadline. A wait that runs out says
//! what it waited for and what it saw last.

use std::fmt::Debug;
use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use futures::{StreamExt, pin_mut};
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Api, Resource};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::time::Instant;

/// How long a scenario waits where it does not say otherwise. Generous, because nothing is proven
/// by a machine that was busy; a scenario that promises a time says it with [`Expectation::within`].
pub const PATIENCE: Duration = Duration::from_secs(180);

/// Between two tries of [`eventually`]: short beside any deadline, long beside a request.
const POLL: Duration = Duration::from_millis(200);

/// What is expected of one object.
#[must_use = "an expectation is checked by `to` or `to_be_gone`"]
pub struct Expectation<K> {
    api: Api<K>,
    kind: String,
    title: String,
    name: String,
    patience: Duration,
}

impl<K> Expectation<K> {
    /// Expects something of the object `name` of `api`; `kind` and `title` are for the message.
    pub fn new(api: Api<K>, kind: &str, title: &str, name: &str) -> Self {
        Self {
            api,
            kind: kind.to_owned(),
            title: title.to_owned(),
            name: name.to_owned(),
            patience: PATIENCE,
        }
    }

    /// Waits this long instead of [`PATIENCE`].
    pub fn within(self, patience: Duration) -> Self {
        Self { patience, ..self }
    }
}

impl<K> Expectation<K>
where
    K: Resource + Clone + Debug + DeserializeOwned + Serialize + Send + 'static,
{
    /// Watches the object until it exists and `holds`, and returns it as it was then. `what`
    /// completes the sentence "expected the object to …".
    ///
    /// # Errors
    /// When the deadline passes: with the last state seen and the last error of the watch.
    pub async fn to(self, what: &str, mut holds: impl FnMut(&K) -> bool) -> Result<K> {
        let seen = self
            .watch(what, |object| object.is_some_and(&mut holds))
            .await?;
        seen.ok_or_else(|| anyhow!("{} {} vanished", self.kind, self.title))
    }

    /// Watches until the object does not exist.
    ///
    /// # Errors
    /// When the deadline passes: with the last state seen.
    pub async fn to_be_gone(self) -> Result<()> {
        self.watch("be gone", |object| object.is_none())
            .await
            .map(|_| ())
    }

    async fn watch(
        &self,
        what: &str,
        mut holds: impl FnMut(Option<&K>) -> bool,
    ) -> Result<Option<K>> {
        let mut last = Last::default();
        let watching = async {
            let stream = watcher::watch_object(self.api.clone(), &self.name).default_backoff();
            pin_mut!(stream);
            while let Some(event) = stream.next().await {
                match event {
                    Ok(object) if holds(object.as_ref()) => return Some(object),
                    Ok(object) => last.saw(object.as_ref()),
                    Err(error) => last.failed(&error),
                }
            }
            None
        };
        match tokio::time::timeout(self.patience, watching).await {
            Ok(Some(object)) => Ok(object),
            Ok(None) => Err(anyhow!(
                "the watch of {} {} ended by itself",
                self.kind,
                self.title
            )),
            Err(_) => Err(anyhow!(
                "expected {} {} to {what} within {} s; {last}",
                self.kind,
                self.title,
                self.patience.as_secs_f32(),
            )),
        }
    }
}

/// What a watch saw last, for the message when it runs out.
#[derive(Default)]
struct Last {
    object: Option<String>,
    error: Option<String>,
}

impl Last {
    fn saw<K: Serialize>(&mut self, object: Option<&K>) {
        self.error = None;
        self.object = object.map(|object| match serde_saphyr::to_string(object) {
            Ok(yaml) => yaml,
            Err(error) => format!("(cannot be shown: {error})"),
        });
    }

    fn failed(&mut self, error: &watcher::Error) {
        self.error = Some(format!("{error:#}"));
    }
}

impl std::fmt::Display for Last {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if let Some(error) = &self.error {
            writeln!(f, "the watch failed: {error}")?;
        }
        match &self.object {
            Some(yaml) => write!(f, "last seen:\n{yaml}"),
            None => write!(f, "it was never there"),
        }
    }
}

/// Tries until the probe gives `Ok`, for facts that cannot be watched (the answer of a database, an
/// HTTP page). `what` completes the sentence "expected that …".
///
/// # Errors
/// When [`PATIENCE`] runs out: with the last error of the probe.
pub async fn eventually<T>(what: &str, probe: impl AsyncFnMut() -> Result<T>) -> Result<T> {
    eventually_within(PATIENCE, what, probe).await
}

/// The same with a deadline of its own.
///
/// # Errors
/// When the deadline passes: with the last error of the probe.
pub async fn eventually_within<T>(
    patience: Duration,
    what: &str,
    mut probe: impl AsyncFnMut() -> Result<T>,
) -> Result<T> {
    let deadline = Instant::now() + patience;
    let mut last = anyhow!("the first try did not end");
    loop {
        match tokio::time::timeout_at(deadline, probe()).await {
            Ok(Ok(value)) => return Ok(value),
            Ok(Err(error)) => last = error,
            Err(_) => break,
        }
        if Instant::now() + POLL >= deadline {
            break;
        }
        tokio::time::sleep(POLL).await;
    }
    Err(last.context(format!(
        "expected that {what} within {} s",
        patience.as_secs_f32()
    )))
}

/// Checks again and again that something holds all the time. `what` completes the sentence "expected
/// that …".
///
/// # Errors
/// As soon as the probe fails: with its error and the time that it held before.
pub async fn throughout(
    duration: Duration,
    what: &str,
    mut probe: impl AsyncFnMut() -> Result<()>,
) -> Result<()> {
    let start = Instant::now();
    while start.elapsed() < duration {
        probe().await.with_context(|| {
            let held = start.elapsed().as_secs_f32();
            format!(
                "expected that {what} for {} s, but after {held} s",
                duration.as_secs_f32()
            )
        })?;
        tokio::time::sleep(POLL).await;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use anyhow::{Result, bail};

    use super::{eventually_within, throughout};

    #[tokio::test]
    async fn a_probe_is_tried_until_it_succeeds() {
        let mut tries = 0;
        let probe = async || {
            tries += 1;
            if tries < 3 {
                bail!("not yet")
            }
            Ok(tries)
        };
        let outcome = eventually_within(Duration::from_secs(60), "it works", probe).await;
        assert_eq!(outcome.expect("the third try succeeds"), 3);
    }

    #[tokio::test]
    async fn a_wait_that_runs_out_says_what_for_and_what_was_seen_last() {
        let probe = async || -> Result<()> { bail!("the tide is out") };
        let outcome = eventually_within(Duration::from_millis(1), "the ship floats", probe).await;
        let text = format!("{:#}", outcome.expect_err("the probe never succeeds"));
        assert!(
            text.contains("the ship floats") && text.contains("the tide is out"),
            "{text}"
        );
    }

    #[tokio::test]
    async fn a_probe_that_hangs_is_cut_off_at_the_deadline() {
        let probe = async || -> Result<()> { std::future::pending().await };
        let outcome = eventually_within(Duration::from_millis(1), "it answers", probe).await;
        assert!(outcome.is_err());
    }

    #[tokio::test]
    async fn what_holds_only_at_first_does_not_hold_throughout() {
        let mut looks = 0;
        let probe = async || {
            looks += 1;
            if looks == 2 {
                bail!("it sank")
            }
            Ok(())
        };
        let outcome = throughout(Duration::from_secs(60), "the ship floats", probe).await;
        assert!(format!("{:#}", outcome.expect_err("it sinks")).contains("it sank"));
    }
}
