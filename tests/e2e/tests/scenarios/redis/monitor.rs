//! Who talks to the Redis servers, as their MONITOR shows.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

use futures::StreamExt;
use tokio::task::JoinSet;
use windlass_e2e::prelude::*;

use super::subject::Redis;

/// The commands that all servers of a Redis are sent while this is held.
///
/// Redis does not show commands that only administrators may send. But the host sends none without asking first, on the
/// same connection, whom it speaks to, and that is shown.
pub(super) struct Monitor {
    shown: Arc<Mutex<Vec<String>>>,
    _listening: JoinSet<()>,
}

impl Monitor {
    /// Listens at every Pod that has an address.
    pub(super) async fn of(redis: &Redis<'_>) -> Result<Self> {
        let shown: Arc<Mutex<Vec<String>>> = Arc::default();
        let mut listening = JoinSet::new();
        for client in redis.listeners().await? {
            let mut monitor = client.get_async_monitor().await?;
            let shown = shown.clone();
            listening.spawn(async move {
                let mut lines = monitor.on_message::<String>();
                while let Some(line) = lines.next().await {
                    shown
                        .lock()
                        .unwrap_or_else(PoisonError::into_inner)
                        .push(line);
                }
            });
        }
        Ok(Self {
            shown,
            _listening: listening,
        })
    }

    /// What came from this address: `TIME [DB ADDRESS:PORT] "COMMAND" …`.
    pub(super) fn from(&self, address: IpAddr) -> Vec<String> {
        let from = format!(" {address}:");
        let shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        shown
            .iter()
            .filter(|line| line.contains(&from))
            .cloned()
            .collect()
    }

    /// The connections from this address on which more was done than a round's questions are asked: those ask for
    /// the state of replication, which who is about to act does not.
    pub(super) fn acting_from(&self, address: IpAddr) -> BTreeMap<String, Vec<String>> {
        let mut connections: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for line in self.from(address) {
            let connection = line.split([' ', ']']).find(|word| word.contains(':'));
            let connection = connection.unwrap_or_default().to_owned();
            connections.entry(connection).or_default().push(line);
        }
        connections.retain(|_, lines| {
            let is_question = |line: &String| line.contains(r#""INFO""#);
            let asks = lines.iter().any(|line| line.contains(r#""replication""#));
            !asks || !lines.iter().all(is_question)
        });
        connections
    }
}
