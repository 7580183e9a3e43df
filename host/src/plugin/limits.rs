//! What a plugin may use at most: the values, and the watch over a running instance's memory.

use std::fmt;
use std::num::NonZeroU32;
use std::str::FromStr;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wasmtime::ResourceLimiter;

/// The most that one plugin may use. Every field has a default.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Limits {
    /// Memory of one instance. Guest memory never shrinks: an instance past half of it is not used again.
    pub memory: Bytes,
    /// CPU time of one call.
    #[schemars(with = "String")]
    #[serde(with = "jiff::fmt::serde::unsigned_duration::friendly::compact::required")]
    pub cpu: Duration,
    /// Calls in one round: a plugin that asks for more than this many times in a row is at fault.
    pub calls_per_round: u32,
    /// Everything that is handed to one call.
    pub request: Bytes,
    /// Everything that one call returns.
    pub plan: Bytes,
    /// Log text of one call; the rest is dropped and counted.
    pub log_per_call: Bytes,
    /// Log text of all its calls in a minute; the rest is dropped and counted.
    pub log_per_minute: Bytes,
    /// A query without an answer after this long is unreachable, whatever the plugin asked for.
    #[schemars(with = "String")]
    #[serde(with = "jiff::fmt::serde::unsigned_duration::friendly::compact::required")]
    pub query: Duration,
    /// Queries at the same time, of all its objects together. The host asks 64 at once for all plugins together.
    pub queries_at_once: NonZeroU32,
    /// Objects deleted by actions in a minute, of all its objects together: a plan that would delete more waits.
    pub deletes_per_minute: NonZeroU32,
    /// Pods evicted in a minute, of all its objects together: a plan that would evict more waits.
    pub evictions_per_minute: NonZeroU32,
}

/// Queries, unless the Plugin says otherwise.
const AT_ONCE: NonZeroU32 = NonZeroU32::new(64).unwrap();

/// Deletes and evictions, unless the Plugin says otherwise: one a second.
const PER_MINUTE: NonZeroU32 = NonZeroU32::new(60).unwrap();

impl Default for Limits {
    fn default() -> Self {
        Self {
            memory: Bytes::mebi(64),
            cpu: Duration::from_secs(5),
            calls_per_round: 16,
            request: Bytes::mebi(32),
            plan: Bytes::mebi(32),
            log_per_call: Bytes::kibi(64),
            log_per_minute: Bytes::mebi(1),
            query: Duration::from_secs(1),
            queries_at_once: AT_ONCE,
            deletes_per_minute: PER_MINUTE,
            evictions_per_minute: PER_MINUTE,
        }
    }
}

/// A number of bytes, written as `64Mi`, `512Ki`, `1Gi` or a plain number.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String")]
pub struct Bytes(usize);

/// Units, largest first.
const UNITS: [(&str, usize); 3] = [("Gi", 1 << 30), ("Mi", 1 << 20), ("Ki", 1 << 10)];

impl Bytes {
    /// So many bytes.
    pub const fn new(bytes: usize) -> Self {
        Self(bytes)
    }

    /// So many times 1,024 bytes.
    pub const fn kibi(count: usize) -> Self {
        Self(count << 10)
    }

    /// So many times 1,048,576 bytes.
    pub const fn mebi(count: usize) -> Self {
        Self(count << 20)
    }

    /// As a plain number.
    pub const fn get(self) -> usize {
        self.0
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fits = |(_, size): &&(&str, usize)| self.0 >= *size && self.0.is_multiple_of(*size);
        match UNITS.iter().find(fits) {
            Some((unit, size)) => write!(f, "{}{unit}", self.0 / size),
            None => write!(f, "{}", self.0),
        }
    }
}

impl FromStr for Bytes {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let with_unit = UNITS
            .iter()
            .find_map(|(unit, size)| Some((text.strip_suffix(unit)?, *size)));
        let (digits, size) = with_unit.unwrap_or((text, 1));
        let count = digits
            .parse::<usize>()
            .ok()
            .and_then(|count| count.checked_mul(size));
        count.map(Self).ok_or_else(|| {
            format!("\"{text}\" is not a size: write a number with Ki, Mi or Gi, such as 64Mi")
        })
    }
}

impl TryFrom<String> for Bytes {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<Bytes> for String {
    fn from(bytes: Bytes) -> Self {
        bytes.to_string()
    }
}

/// Core instances, tables and memories in one component instance. Interpreters need a few dozen.
const PARTS: usize = 128;

/// Elements of all tables together; the largest component known has 20,000.
const TABLE_ELEMENTS: usize = 200_000;

/// Watches the memory of one instance: all its linear memories together.
///
/// wasmtime's own limits hold for each memory alone, and a component may have many.
#[derive(Debug)]
pub(super) struct MemoryWatch {
    limit: usize,
    memory: usize,
    table_elements: usize,
    refused: Option<usize>,
}

impl MemoryWatch {
    pub(super) fn new(limit: Bytes) -> Self {
        Self {
            limit: limit.get(),
            memory: 0,
            table_elements: 0,
            refused: None,
        }
    }

    /// Bytes of all linear memories. They never shrink, so this is also the high-water mark.
    pub(super) fn memory(&self) -> usize {
        self.memory
    }

    /// The size that was asked for and refused, if any was.
    pub(super) fn refused(&self) -> Option<usize> {
        self.refused
    }
}

impl ResourceLimiter for MemoryWatch {
    /// An error rather than `false`, which std's allocator turns into a panic without a reason.
    fn memory_growing(
        &mut self,
        current: usize,
        desired: usize,
        _maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        let total = self.memory.saturating_add(desired.saturating_sub(current));
        if total > self.limit {
            self.refused = Some(total);
            wasmtime::bail!(
                "memory of {total} bytes is over the limit of {}",
                self.limit
            );
        }
        self.memory = total;
        Ok(true)
    }

    fn table_growing(
        &mut self,
        current: usize,
        desired: usize,
        _maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        let total = self
            .table_elements
            .saturating_add(desired.saturating_sub(current));
        if total > TABLE_ELEMENTS {
            wasmtime::bail!("tables of {total} elements are over the limit of {TABLE_ELEMENTS}");
        }
        self.table_elements = total;
        Ok(true)
    }

    fn instances(&self) -> usize {
        PARTS
    }

    fn tables(&self) -> usize {
        PARTS
    }

    fn memories(&self) -> usize {
        PARTS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_and_written_in_the_same_form() {
        for (text, bytes) in [
            ("64Mi", 64 << 20),
            ("1Gi", 1 << 30),
            ("3Ki", 3072),
            ("1000", 1000),
        ] {
            assert_eq!(text.parse(), Ok(Bytes::new(bytes)));
            assert_eq!(Bytes::new(bytes).to_string(), text);
        }
        for text in [
            "",
            "Mi",
            "64M",
            "64 Mi",
            "-1",
            "1.5Gi",
            "99999999999999999999",
            "99999999999Gi",
        ] {
            assert!(text.parse::<Bytes>().is_err(), "{text} was accepted");
        }
    }

    #[test]
    fn memories_count_together() {
        let mut watch = MemoryWatch::new(Bytes::new(100));
        assert!(watch.memory_growing(0, 60, None).is_ok());
        assert!(watch.memory_growing(0, 40, None).is_ok());
        assert!(watch.memory_growing(40, 41, None).is_err());
        assert_eq!((watch.memory(), watch.refused()), (100, Some(101)));
    }
}
