//! A Redis server as far as the plugin asks and tells it.

use std::collections::BTreeMap;

use serde_json::Value;
use windlass_sdk::wire::{Argument, Ended, RedisAction};

use super::ok;

/// One server.
#[derive(Clone, Debug)]
pub(crate) struct Server {
    pub(crate) run_id: String,
    pub(crate) ip: String,
    /// Whom it follows; none for a primary.
    pub(crate) master: Option<String>,
    pub(crate) linked: bool,
    pub(crate) replid: String,
    pub(crate) replid2: String,
    pub(crate) offset: u64,
    pub(crate) keys: u64,
    pub(crate) config: BTreeMap<String, String>,
    pub(crate) feeds: BTreeMap<String, u64>,
    pub(crate) frozen: bool,
    /// Every command that it was told, for tests to read.
    pub(crate) told: Vec<String>,
}

impl Server {
    /// Boots as the image does: a replica of nobody.
    pub(crate) fn boot(number: u32) -> Self {
        let config = [
            ("save", "900 1"),
            ("repl-backlog-size", "16777216"),
            ("min-replicas-to-write", "0"),
        ];
        Self {
            run_id: format!("run-{number}"),
            ip: String::new(),
            master: Some("127.0.0.1".into()),
            linked: false,
            replid: format!("random-{number}"),
            replid2: "0".into(),
            offset: 0,
            keys: 0,
            config: config
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .into(),
            feeds: BTreeMap::new(),
            frozen: false,
            told: Vec::new(),
        }
    }

    /// Started again on the same data.
    pub(crate) fn restarted(&self, number: u32) -> Self {
        let mut next = Self::boot(number);
        (next.keys, next.ip) = (self.keys, self.ip.clone());
        next
    }

    pub(crate) fn at(mut self, ip: String) -> Self {
        self.ip = ip;
        self
    }

    pub(crate) fn answer(&self, commands: &[Vec<String>]) -> Vec<Value> {
        commands.iter().map(|words| self.reply(words)).collect()
    }

    fn reply(&self, words: &[String]) -> Value {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        match words.as_slice() {
            ["INFO", "server"] => ok(format!("# Server\r\nrun_id:{}\r\n", self.run_id)),
            ["INFO", "replication"] => ok(self.replication()),
            ["INFO", "persistence"] => {
                ok("loading:0\r\naof_enabled:1\r\naof_last_write_status:ok\r\n")
            }
            ["INFO", "keyspace"] => ok(format!("db0:keys={},expires=0\r\n", self.keys)),
            ["INFO", "memory"] => ok("used_memory:1000000\r\n"),
            ["CONFIG", "GET", names @ ..] => {
                let known = names
                    .iter()
                    .filter_map(|name| Some((*name, self.config.get(*name)?)));
                ok(known
                    .flat_map(|(name, value)| [name.to_owned(), value.clone()])
                    .collect::<Vec<_>>())
            }
            other => panic!("the world does not know {other:?}"),
        }
    }

    fn replication(&self) -> String {
        let mut lines = match &self.master {
            None => vec!["role:master".to_owned()],
            Some(host) => vec![
                "role:slave".to_owned(),
                format!("master_host:{host}"),
                format!(
                    "master_link_status:{}",
                    if self.linked { "up" } else { "down" }
                ),
                format!(
                    "master_last_io_seconds_ago:{}",
                    if self.linked { 0 } else { 9 }
                ),
                "master_sync_in_progress:0".to_owned(),
                "slave_priority:100".to_owned(),
            ],
        };
        for (number, (ip, offset)) in self.feeds.iter().enumerate() {
            lines.push(format!(
                "slave{number}:ip={ip},port=6379,state=online,offset={offset},lag=0"
            ));
        }
        lines.push("master_failover_state:no-failover".to_owned());
        lines.push(format!("master_replid:{}", self.replid));
        lines.push(format!("master_replid2:{}", self.replid2));
        lines.push(format!("master_repl_offset:{}", self.offset));
        lines.join("\r\n")
    }

    fn promote(&mut self) {
        if self.master.take().is_some() {
            self.replid2 = std::mem::replace(&mut self.replid, format!("{}+", self.run_id));
            self.linked = false;
        }
    }

    fn follow(&mut self, ip: &str) {
        self.master = Some(ip.to_owned());
        self.linked = false;
        self.feeds.clear();
    }
}

/// Sends the commands of an action, in their order, if its guard holds.
pub(crate) fn act(servers: &mut BTreeMap<String, Server>, action: &RedisAction) -> Ended {
    let Some(server) = servers
        .get_mut(&action.target.pod)
        .filter(|server| !server.frozen)
    else {
        return Ended::Failed("timed out".into());
    };
    if action
        .guard
        .as_ref()
        .is_some_and(|guard| guard.equals != server.run_id)
    {
        return Ended::Failed("the guard does not hold".into());
    }
    let mut successor = None;
    for command in &action.commands {
        let words: Vec<&str> = command
            .iter()
            .map(|argument| match argument {
                Argument::Text(text) => text.as_str(),
                Argument::Parts(_) => "SECRET",
            })
            .collect();
        server.told.push(words.join(" "));
        match words.as_slice() {
            ["CONFIG", "SET", name, value] if value.contains("nonsense") => {
                return Ended::Failed(format!("ERR CONFIG SET failed (argument '{name}')"));
            }
            ["CONFIG", "SET", name, value] => {
                _ = server.config.insert((*name).into(), (*value).into())
            }
            ["REPLICAOF", "NO", "ONE"] => server.promote(),
            ["REPLICAOF", ip, "6379"] => server.follow(ip),
            ["FAILOVER", "TO", ip, ..] => successor = Some((*ip).to_owned()),
            other => panic!("the world does not know {other:?}"),
        }
    }
    if let Some(ip) = successor {
        hand_over(servers, &action.target.pod, &ip);
    }
    Ended::Done("[]".into())
}

fn hand_over(servers: &mut BTreeMap<String, Server>, from: &str, to: &str) {
    if let Some(server) = servers.values_mut().find(|server| server.ip == to) {
        server.promote();
    }
    if let Some(server) = servers.get_mut(from) {
        server.follow(to);
    }
}

/// Whoever follows a running primary links up and has its data.
pub(crate) fn replicate(servers: &mut BTreeMap<String, Server>) {
    let primaries: BTreeMap<String, Server> = servers
        .values()
        .filter(|server| server.master.is_none() && !server.frozen)
        .map(|server| (server.ip.clone(), server.clone()))
        .collect();
    let mut fed: BTreeMap<String, BTreeMap<String, u64>> = BTreeMap::new();
    for server in servers.values_mut().filter(|server| !server.frozen) {
        let Some(primary) = server.master.as_ref().and_then(|ip| primaries.get(ip)) else {
            server.linked = false;
            continue;
        };
        server.linked = true;
        server.replid.clone_from(&primary.replid);
        server.replid2.clone_from(&primary.replid2);
        (server.offset, server.keys) = (primary.offset, primary.keys);
        fed.entry(primary.ip.clone())
            .or_default()
            .insert(server.ip.clone(), server.offset);
    }
    for server in servers
        .values_mut()
        .filter(|server| server.master.is_none())
    {
        server.feeds = fed.remove(&server.ip).unwrap_or_default();
    }
}
