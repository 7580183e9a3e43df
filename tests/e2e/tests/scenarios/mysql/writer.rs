//! A client that commits all the time and keeps a journal of what was acknowledged.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::Instant;
use windlass_e2e::prelude::*;

use super::client::{Login, Session};
use super::subject::Mysql;

/// Sessions that commit side by side: what is under way at the moment of a fault is more than one commit.
const SESSIONS: u64 = 3;
/// Between two commits of a session, and between two tries to connect.
const PAUSE: Duration = Duration::from_millis(10);

/// Commits until it is told to stop.
pub(super) struct Writer {
    table: String,
    stop: watch::Sender<bool>,
    count: watch::Receiver<usize>,
    tasks: Vec<JoinHandle<Vec<Written>>>,
}

/// A commit that was acknowledged.
struct Written {
    number: u64,
    acknowledged: Instant,
}

impl Writer {
    /// Begins to write to the primary's Service, and returns after the first acknowledgement.
    pub(super) async fn start(mysql: &Mysql<'_>) -> Result<Self> {
        // Several writers of one cluster follow each other.
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let table = format!("journal_{}", NEXT.fetch_add(1, Ordering::Relaxed));
        let create = format!("CREATE TABLE IF NOT EXISTS {table} (number BIGINT PRIMARY KEY)");
        mysql.write(&create).await?;
        let login = mysql.login("primary").await?;
        let (stop, stopped) = watch::channel(false);
        let (counted, count) = watch::channel(0);
        let tasks = (0..SESSIONS)
            .map(|first| {
                tokio::spawn(write(Hand {
                    login: login.clone(),
                    table: table.clone(),
                    first,
                    stopped: stopped.clone(),
                    counted: counted.clone(),
                }))
            })
            .collect();
        let mut writer = Self {
            table,
            stop,
            count,
            tasks,
        };
        writer.writes().await?;
        Ok(writer)
    }

    /// Waits until a commit that began after this call is acknowledged.
    pub(super) async fn writes(&mut self) -> Result<()> {
        // Those under way may have been sent before: one more is needed.
        let wanted = *self.count.borrow() + SESSIONS as usize + 1;
        let enough = self.count.wait_for(|count| *count >= wanted);
        tokio::time::timeout(PATIENCE, enough)
            .await
            .context("no commit was acknowledged")?
            .context("the writer ended")?;
        Ok(())
    }

    /// Ends it, compares its journal with what the primary has, and waits until all others have the same.
    pub(super) async fn finish(self, mysql: &Mysql<'_>) -> Result<Outcome> {
        self.stop.send(true)?;
        let mut written = Vec::new();
        for task in self.tasks {
            written.extend(task.await?);
        }
        written.sort_by_key(|written| written.acknowledged);
        let query = format!("SELECT number FROM {}", self.table);
        let kept = eventually("the journal can be read", async || {
            mysql.connect("primary").await?.rows::<u64>(&query).await
        })
        .await?;
        let sums = format!(
            "SELECT CONCAT(COUNT(*), ' ', IFNULL(SUM(number), 0)) FROM {}",
            self.table
        );
        mysql.same_everywhere(&sums).await?;
        Ok(Outcome {
            written,
            kept: kept.into_iter().collect(),
        })
    }
}

/// What became of the commits.
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

    /// How many acknowledged commits are missing.
    pub(super) fn lost(&self) -> usize {
        let lost = |written: &&Written| !self.kept.contains(&written.number);
        self.written.iter().filter(lost).count()
    }

    /// Says how it went.
    pub(super) fn tell(&self, story: &str) {
        println!(
            "{story}: no commit for {:.1} s; {} of {} acknowledged commits lost",
            self.pause().as_secs_f32(),
            self.lost(),
            self.written.len()
        );
    }

    /// Says how it went, and fails when commits stopped for longer than `longest` or an acknowledged one is lost.
    pub(super) fn check(&self, story: &str, longest: Duration) -> Result<()> {
        self.tell(story);
        let (lost, pause) = (self.lost(), self.pause());
        ensure!(lost == 0, "{lost} acknowledged commits are lost");
        ensure!(pause <= longest, "no commit was acknowledged for {pause:?}");
        Ok(())
    }
}

/// One of the sessions: it writes every so many-th number.
struct Hand {
    login: Login,
    table: String,
    first: u64,
    stopped: watch::Receiver<bool>,
    counted: watch::Sender<usize>,
}

async fn write(hand: Hand) -> Vec<Written> {
    let mut journal = Vec::new();
    let mut session = None;
    let mut number = hand.first;
    while !*hand.stopped.borrow() {
        // What became of a commit without answer is not known: its number is never used again.
        number += SESSIONS;
        match hand.write_one(&mut session, number).await {
            Err(_) => session = None,
            Ok(()) => {
                journal.push(Written {
                    number,
                    acknowledged: Instant::now(),
                });
                hand.counted.send_modify(|count| *count += 1);
            }
        }
        tokio::time::sleep(PAUSE).await;
    }
    journal
}

impl Hand {
    async fn write_one(&self, session: &mut Option<Session>, number: u64) -> Result<()> {
        let connected = match session {
            Some(connected) => connected,
            None => session.insert(self.login.connect().await?),
        };
        let insert = format!("INSERT INTO {} VALUES ({number})", self.table);
        connected.run(&insert).await
    }
}
