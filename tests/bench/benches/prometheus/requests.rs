//! What an operator asked the API server, as the audit log tells.

use std::fs::File;
use std::io::{BufRead, BufReader, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use anyhow::Result;
use serde_json::Value;

/// Requests from a moment on.
pub(crate) struct Requests {
    log: PathBuf,
    begin: u64,
    agent: &'static str,
}

impl Requests {
    /// Counts those whose user agent holds `agent`, from now on.
    ///
    /// # Errors
    /// When there is no audit log.
    pub(crate) fn begin(log: &Path, agent: &'static str) -> Result<Self> {
        Ok(Self {
            begin: std::fs::metadata(log)?.len(),
            log: log.to_owned(),
            agent,
        })
    }

    /// How many there were, and how many of them were writes; the lease's are not counted.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub(crate) fn so_far(&self) -> Result<(usize, usize)> {
        let mut file = File::open(&self.log)?;
        file.seek(SeekFrom::Start(self.begin))?;
        let (mut requests, mut writes) = (0, 0);
        for line in BufReader::new(file).lines() {
            let Ok(event) = serde_json::from_str::<Value>(&line?) else {
                continue;
            };
            let agent = event["userAgent"].as_str().unwrap_or_default();
            let is_counted = agent.contains(self.agent)
                && event["stage"] == "ResponseComplete"
                && event["objectRef"]["resource"] != "leases";
            if !is_counted {
                continue;
            }
            requests += 1;
            let verb = event["verb"].as_str().unwrap_or_default();
            writes += usize::from(!["get", "list", "watch"].contains(&verb));
        }
        Ok((requests, writes))
    }
}
