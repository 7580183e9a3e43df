//! What is told of a backup: a line of JSON, short enough for a termination message.

use std::path::Path;
use std::time::Duration;

use anyhow::Context;
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::manifest::Manifest;

/// Kubernetes cuts termination messages at this many bytes.
const LONGEST: usize = 4096;

/// Of one backup.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Report {
    name: String,
    at: String,
    bytes: u64,
    sha256: String,
    files: usize,
    seconds: f64,
    finished: jiff::Timestamp,
    facts: Map<String, Value>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    facts_left_out: bool,
    removed: usize,
}

impl Report {
    pub(super) fn new(manifest: &Manifest, at: String, took: Duration, removed: usize) -> Self {
        Self {
            name: manifest.name.clone(),
            at,
            bytes: manifest.bytes,
            sha256: manifest.sha256.clone(),
            files: manifest.files.len(),
            seconds: took.as_secs_f64(),
            finished: manifest.finished,
            facts: manifest.facts.clone(),
            facts_left_out: false,
            removed,
        }
    }

    /// As one line that fits.
    fn line(self) -> anyhow::Result<String> {
        let line = serde_json::to_string(&self)?;
        if line.len() <= LONGEST {
            return Ok(line);
        }
        let shorter = Self {
            facts: Map::new(),
            facts_left_out: true,
            ..self
        };
        Ok(serde_json::to_string(&shorter)?)
    }
}

/// Tells how it ended, on standard output and in `file`; passes the failure on.
///
/// # Errors
/// The failure itself, or that it could not be told.
pub(super) fn told(file: &Path, ended: anyhow::Result<Report>) -> anyhow::Result<()> {
    let (line, failed) = match ended {
        Ok(report) => (report.line()?, None),
        Err(error) => (failure(&causes(&error)), Some(error)),
    };
    println!("{line}");
    let written = std::fs::write(file, &line);
    match failed {
        Some(error) => Err(error),
        None => {
            written.with_context(|| format!("failed to write the report to {}", file.display()))
        }
    }
}

/// Each cause once: what S3 answers stands in several of them, one inside the other.
fn causes(error: &anyhow::Error) -> String {
    let told = error.chain().map(ToString::to_string);
    told.fold(String::new(), |text, cause| {
        match (text.is_empty(), text.contains(&cause)) {
            (true, _) => cause,
            (false, true) => text,
            (false, false) => format!("{text}: {cause}"),
        }
    })
}

fn failure(why: &str) -> String {
    // An error in JSON takes at most twice its length and the words around it, and long ones tell little more.
    let why = &why[..why.floor_char_boundary(LONGEST / 4)];
    json!({"error": why}).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(facts: Map<String, Value>) -> Report {
        let at = jiff::Timestamp::UNIX_EPOCH;
        let manifest = Manifest {
            name: "a".into(),
            begun: at,
            finished: at,
            bytes: 3,
            sha256: "0".repeat(64),
            files: Vec::new(),
            facts,
        };
        Report::new(&manifest, "s3://b/a".into(), Duration::from_millis(1500), 2)
    }

    fn parsed(report: Report) -> Value {
        let line = report.line().unwrap();
        assert!(line.len() <= LONGEST, "{} bytes", line.len());
        serde_json::from_str(&line).unwrap()
    }

    #[test]
    fn facts_travel_with_the_report() {
        let facts = Map::from_iter([("gtid".to_owned(), json!("u:1-3"))]);
        let line = parsed(report(facts));
        assert_eq!(line["facts"]["gtid"], "u:1-3");
        assert_eq!(line["finished"], "1970-01-01T00:00:00Z");
        assert_eq!(line["removed"], 2);
        assert_eq!(line.get("factsLeftOut"), None);
    }

    #[test]
    fn facts_that_do_not_fit_are_left_out_and_said_to_be() {
        let facts = Map::from_iter([("gtid".to_owned(), json!("u:1,".repeat(2000)))]);
        let line = parsed(report(facts));
        assert_eq!(line["factsLeftOut"], true);
        assert_eq!(line["facts"], json!({}));
    }

    #[test]
    fn a_cause_that_stands_in_another_is_told_once() {
        let error = anyhow::anyhow!("no such bucket");
        let error = error.context("PUT failed: no such bucket");
        let error = error.context("failed to store a.sql");
        assert_eq!(
            causes(&error),
            "failed to store a.sql: PUT failed: no such bucket"
        );
    }

    #[test]
    fn a_failure_is_valid_json_however_long_it_is() {
        for why in [
            "\"quoted\"".repeat(2000),
            "ü".repeat(5000),
            "\n".repeat(5000),
        ] {
            let line = failure(&why);
            assert!(line.len() <= LONGEST, "{} bytes", line.len());
            serde_json::from_str::<Value>(&line).unwrap();
        }
    }
}
