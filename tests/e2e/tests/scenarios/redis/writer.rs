//! A client that writes all the time and keeps a journal of what was acknowledged.

use std::collections::BTreeSet;
use std::time::Duration;

use redis::AsyncCommands;
use redis::aio::MultiplexedConnection;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::Instant;
use windlass_e2e::prelude::*;

use super::subject::{Redis, connect};

/// The set that every write adds a number to.
const JOURNAL: &str = "journal";
/// Between two writes, and between two tries to connect.
const PAUSE: Duration = Duration::from_millis(5);
/// How long a write may have been acknowledged before the primary was lost and still be lost with
/// it: `min-replicas-max-lag`, and the second between two acknowledgements of a replica.
const BOUND: Duration = Duration::from_secs(4);

/// Writes until it is told to stop.
pub(super) struct Writer {
    stop: watch::Sender<bool>,
    count: watch::Receiver<usize>,
    task: JoinHandle<Vec<Written>>,
}

/// A write that was acknowledged.
struct Written {
    number: u64,
    sent: Instant,
    acknowledged: Instant,
}

impl Writer {
    /// Begins to write to the primary's Service, and returns after the first acknowledgement.
    pub(super) async fn start(redis: &Redis<'_>) -> Result<Self> {
        let (host, password) = redis.address_and_password("master").await?;
        let (stop, stopped) = watch::channel(false);
        let (counted, count) = watch::channel(0);
        let task = tokio::spawn(write(host, password, stopped, counted));
        let mut writer = Self { stop, count, task };
        writer.writes().await?;
        Ok(writer)
    }

    /// Waits until a write that began after this call is acknowledged.
    pub(super) async fn writes(&mut self) -> Result<()> {
        // The one under way may have been sent before: two more are needed.
        let wanted = *self.count.borrow() + 2;
        let enough = self.count.wait_for(|count| *count >= wanted);
        tokio::time::timeout(PATIENCE, enough)
            .await
            .context("no write was acknowledged")?
            .context("the writer ended")?;
        Ok(())
    }

    /// Ends it and compares its journal with what the primary has.
    pub(super) async fn finish(self, redis: &Redis<'_>) -> Result<Outcome> {
        self.stop.send(true)?;
        let written = self.task.await?;
        let kept = eventually("the journal can be read", async || {
            let mut connection = redis.connect_to("master").await?;
            Ok(connection.smembers::<_, BTreeSet<u64>>(JOURNAL).await?)
        })
        .await?;
        Ok(Outcome { written, kept })
    }
}

/// What became of the writes.
pub(super) struct Outcome {
    written: Vec<Written>,
    kept: BTreeSet<u64>,
}

impl Outcome {
    /// The longest time without an acknowledgement.
    pub(super) fn pause(&self) -> Duration {
        let pairs = self.written.windows(2);
        let pauses = pairs.map(|pair| pair[1].acknowledged - pair[0].acknowledged);
        pauses.max().unwrap_or_default()
    }

    fn lost(&self) -> impl Iterator<Item = &Written> {
        let kept = |written: &&Written| !self.kept.contains(&written.number);
        self.written.iter().filter(kept)
    }

    /// Says how it went, and fails when writes stopped for longer than `longest` or a write is lost
    /// that was acknowledged long before the pause.
    pub(super) fn check(&self, story: &str, longest: Duration) -> Result<()> {
        self.check_loss(story)?;
        let pause = self.pause();
        ensure!(pause <= longest, "no write was taken for {pause:?}");
        Ok(())
    }

    /// Says how it went, and fails when a write is lost that was acknowledged long before the pause.
    pub(super) fn check_loss(&self, story: &str) -> Result<()> {
        let pause = self.pause();
        let (all, lost) = (self.written.len(), self.lost().count());
        println!(
            "{story}: no write for {:.1} s; {lost} of {all} acknowledged writes lost",
            pause.as_secs_f32()
        );
        let Some(last_before) = self.last_before_pause() else {
            return Ok(());
        };
        for written in self.lost() {
            let age = last_before.saturating_duration_since(written.sent);
            ensure!(
                age <= BOUND,
                "write {} is lost, sent {age:?} before the pause",
                written.number
            );
        }
        Ok(())
    }

    /// Fails when any acknowledged write is lost.
    pub(super) fn check_nothing_lost(&self, story: &str, longest: Duration) -> Result<()> {
        self.check(story, longest)?;
        let lost = self.lost().count();
        ensure!(lost == 0, "{lost} acknowledged writes are lost");
        Ok(())
    }

    fn last_before_pause(&self) -> Option<Instant> {
        let pairs = self.written.windows(2);
        let longest = pairs.max_by_key(|pair| pair[1].acknowledged - pair[0].acknowledged)?;
        Some(longest[0].acknowledged)
    }
}

async fn write(
    host: String,
    password: String,
    stopped: watch::Receiver<bool>,
    counted: watch::Sender<usize>,
) -> Vec<Written> {
    let mut journal = Vec::new();
    let mut connection = None;
    let mut number = 0;
    while !*stopped.borrow() {
        number += 1;
        let sent = Instant::now();
        if write_one(&mut connection, &host, &password, number)
            .await
            .is_err()
        {
            connection = None;
        } else {
            journal.push(Written {
                number,
                sent,
                acknowledged: Instant::now(),
            });
            counted.send_replace(journal.len());
        }
        tokio::time::sleep(PAUSE).await;
    }
    journal
}

async fn write_one(
    connection: &mut Option<MultiplexedConnection>,
    host: &str,
    password: &str,
    number: u64,
) -> Result<()> {
    let connected = match connection {
        Some(connected) => connected,
        None => connection.insert(connect(host, password).await?),
    };
    Ok(connected.sadd::<_, _, ()>(JOURNAL, number).await?)
}
