//! Settings of redis.conf: which can be set live, which are the operator's, and how values compare.

use std::collections::BTreeMap;

use crate::spec::RedisSpec;
use crate::status::Rejected;

/// How the values of a setting compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sort {
    /// Bytes: `64mb` is `67108864`.
    Memory,
    /// Words separated by spaces, letter case aside.
    Words,
}

/// What Redis can change while it runs, and the operator may change for a user.
const LIVE: [(&str, Sort); 29] = [
    ("active-defrag-threshold-lower", Sort::Words),
    ("activedefrag", Sort::Words),
    ("appendfsync", Sort::Words),
    ("auto-aof-rewrite-min-size", Sort::Memory),
    ("auto-aof-rewrite-percentage", Sort::Words),
    ("client-query-buffer-limit", Sort::Memory),
    ("hash-max-listpack-entries", Sort::Words),
    ("hash-max-listpack-value", Sort::Words),
    ("hz", Sort::Words),
    ("latency-monitor-threshold", Sort::Words),
    ("lazyfree-lazy-eviction", Sort::Words),
    ("lazyfree-lazy-expire", Sort::Words),
    ("lazyfree-lazy-server-del", Sort::Words),
    ("lfu-decay-time", Sort::Words),
    ("lfu-log-factor", Sort::Words),
    ("maxclients", Sort::Words),
    ("maxmemory", Sort::Memory),
    ("maxmemory-policy", Sort::Words),
    ("maxmemory-samples", Sort::Words),
    ("proto-max-bulk-len", Sort::Memory),
    ("repl-backlog-size", Sort::Memory),
    ("repl-timeout", Sort::Words),
    ("replica-priority", Sort::Words),
    ("save", Sort::Words),
    ("set-max-intset-entries", Sort::Words),
    ("slowlog-log-slower-than", Sort::Words),
    ("slowlog-max-len", Sort::Words),
    ("tcp-keepalive", Sort::Words),
    ("timeout", Sort::Words),
];

/// What a user may not set, with the reason.
const OURS: [(&str, &str); 26] = [
    ("aclfile", "users are the operator's"),
    ("appendonly", "use spec.persistence.enableAof"),
    ("bind", "the operator must reach every Pod"),
    ("cluster-enabled", "use the kind RedisCluster"),
    ("daemonize", "Redis is the container's only process"),
    ("dir", "data is kept on the Pod's volume"),
    ("enable-debug-command", "it can lose data"),
    ("enable-protected-configs", "it can lose data"),
    ("include", "the configuration is the operator's"),
    ("loadmodule", "modules are not supported"),
    ("masterauth", "the replication login is the operator's"),
    ("masteruser", "the replication login is the operator's"),
    (
        "min-replicas-max-lag",
        "the operator bounds split brain with it",
    ),
    (
        "min-replicas-to-write",
        "the operator bounds split brain with it",
    ),
    ("port", "the operator and the Services use 6379"),
    ("protected-mode", "access is by users and passwords"),
    ("rename-command", "the operator needs the commands"),
    (
        "repl-diskless-sync-delay",
        "fail-over is fast only without a delay",
    ),
    (
        "repl-ping-replica-period",
        "the operator tells a dead primary by it",
    ),
    (
        "replica-announce-ip",
        "the operator points replicas by Pod address",
    ),
    (
        "replica-read-only",
        "a writable replica loses what is written to it",
    ),
    ("replicaof", "the operator chooses the primary"),
    ("requirepass", "use spec.auth.passwordSecret"),
    ("slaveof", "the operator chooses the primary"),
    ("unixsocket", "the container has no place for it"),
    ("user", "users are the operator's"),
];

/// The settings of one Redis, sorted by what becomes of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// Set while Redis runs, and written to redis.conf.
    pub live: BTreeMap<String, String>,
    /// Written to redis.conf; a change replaces the Pods.
    pub fixed: BTreeMap<String, String>,
    /// Not followed: name and reason.
    pub refused: BTreeMap<String, String>,
}

impl Settings {
    /// Sorts what the spec asks for, leaving out what was tried and refused.
    #[must_use]
    pub fn of(spec: &RedisSpec, rejected: &BTreeMap<String, Rejected>) -> Self {
        let mut settings = Self::default();
        settings.live.insert("save".to_owned(), save_points(spec));
        settings
            .live
            .insert("repl-backlog-size".to_owned(), "16mb".to_owned());
        for (name, value) in &spec.settings {
            let name = name.to_ascii_lowercase();
            match rejected
                .get(&field(&name))
                .filter(|rejected| rejected.value == *value)
            {
                Some(rejected) => _ = settings.refused.insert(name, rejected.why.clone()),
                None => settings.sort(&name, value),
            }
        }
        settings
    }

    fn sort(&mut self, name: &str, value: &str) {
        if let Some(reason) = refusal(name, value) {
            self.refused.insert(name.to_owned(), reason);
        } else if sort(name).is_some() {
            self.live.insert(name.to_owned(), value.to_owned());
        } else {
            self.fixed.insert(name.to_owned(), value.to_owned());
        }
    }

    /// Live settings whose value at the server differs, with the value to set.
    #[must_use]
    pub fn differing(&self, at_server: &BTreeMap<String, String>) -> BTreeMap<String, String> {
        let differs = |name: &str, wanted: &str| {
            at_server
                .get(name)
                .is_some_and(|there| !same(name, wanted, there))
        };
        let live = self
            .live
            .iter()
            .filter(|(name, wanted)| differs(name, wanted));
        live.map(|(name, wanted)| (name.clone(), wanted.clone()))
            .collect()
    }
}

/// The field of the spec that holds a setting.
#[must_use]
pub fn field(name: &str) -> String {
    format!("spec.settings.{name}")
}

/// Why a setting is not followed, if it is not.
fn refusal(name: &str, value: &str) -> Option<String> {
    if let Some((_, reason)) = OURS.iter().find(|(ours, _)| *ours == name) {
        return Some(format!("{reason}; remove it"));
    }
    if name == "save" {
        return Some("use spec.persistence.enableRdb and rdbSchedule; remove it".to_owned());
    }
    let plain = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-') && !name.is_empty();
    if !plain || value.contains(['\n', '\r', '"', '\\']) {
        return Some("not a plain name and value of one line; remove it".to_owned());
    }
    None
}

fn sort(name: &str) -> Option<Sort> {
    LIVE.iter()
        .find(|(live, _)| *live == name)
        .map(|(_, sort)| *sort)
}

fn same(name: &str, one: &str, other: &str) -> bool {
    match sort(name) {
        Some(Sort::Memory) => bytes(one).is_some() && bytes(one) == bytes(other),
        _ => words(one) == words(other),
    }
}

fn words(value: &str) -> Vec<String> {
    value
        .split_whitespace()
        .map(str::to_ascii_lowercase)
        .collect()
}

/// Bytes as redis.conf counts them: `1k` is 1000, `1kb` is 1024.
fn bytes(value: &str) -> Option<u64> {
    let value = value.trim().to_ascii_lowercase();
    let digits = value.trim_end_matches(|c: char| !c.is_ascii_digit());
    let factor: u64 = match &value[digits.len()..] {
        "" | "b" => 1,
        "k" => 1000,
        "kb" => 1 << 10,
        "m" => 1_000_000,
        "mb" => 1 << 20,
        "g" => 1_000_000_000,
        "gb" => 1 << 30,
        _ => return None,
    };
    digits.parse::<u64>().ok()?.checked_mul(factor)
}

/// `save` as the spec's persistence asks for it; empty for none.
fn save_points(spec: &RedisSpec) -> String {
    let persistence = &spec.persistence;
    if !persistence.enabled || !persistence.enable_rdb {
        return String::new();
    }
    match persistence.rdb_schedule.as_deref().and_then(every_minutes) {
        Some(minutes) => format!("{} 1", minutes * 60),
        None => "3600 1 300 100 60 10000".to_owned(),
    }
}

/// The N of `*/N * * * *`; `* * * * *` is every minute.
#[must_use]
pub fn every_minutes(schedule: &str) -> Option<u32> {
    let fields: Vec<&str> = schedule.split_whitespace().collect();
    let [minute, "*", "*", "*", "*"] = fields.as_slice() else {
        return None;
    };
    let minutes = match minute.strip_prefix("*/") {
        Some(number) => number.parse().ok()?,
        None if *minute == "*" => 1,
        None => return None,
    };
    (1..=59).contains(&minutes).then_some(minutes)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::{Settings, every_minutes, same};
    use crate::testing;

    #[test]
    fn equal_values_in_other_words_are_equal() {
        assert!(same("maxmemory", "64mb", "67108864"));
        assert!(same("maxmemory", "1k", "1000"));
        assert!(same("save", "900  1", "900 1"));
        assert!(same("maxmemory-policy", "AllKeys-LRU", "allkeys-lru"));
        assert!(!same("maxmemory", "64mb", "64"));
        assert!(!same("maxmemory", "much", "much"));
    }

    #[test]
    fn a_schedule_of_every_n_minutes_is_followed() {
        for (schedule, minutes) in [
            ("*/15 * * * *", Some(15)),
            ("* * * * *", Some(1)),
            ("0 3 * * *", None),
            ("*/0 * * * *", None),
            ("*/15 * * *", None),
        ] {
            assert_eq!(every_minutes(schedule), minutes, "{schedule}");
        }
    }

    #[test]
    fn every_setting_is_live_fixed_or_refused() {
        let mut spec = testing::spec();
        spec.settings = BTreeMap::from([
            ("MaxMemory".to_owned(), "64mb".to_owned()),
            ("databases".to_owned(), "4".to_owned()),
            ("replicaof".to_owned(), "evil 6379".to_owned()),
            ("databases\nreplicaof evil 6379".to_owned(), "1".to_owned()),
        ]);
        let settings = Settings::of(&spec, &BTreeMap::new());
        assert_eq!(settings.live["maxmemory"], "64mb");
        assert_eq!(settings.fixed["databases"], "4");
        assert_eq!(settings.refused.len(), 2);
        assert!(settings.refused.contains_key("replicaof"));
    }

    #[test]
    fn only_what_differs_at_the_server_is_set() {
        let settings = Settings::of(&testing::spec(), &BTreeMap::new());
        let mut there = settings.live.clone();
        assert!(settings.differing(&there).is_empty());
        there.insert("save".to_owned(), "1 1".to_owned());
        assert_eq!(
            settings.differing(&there).keys().collect::<Vec<_>>(),
            ["save"]
        );
    }
}
