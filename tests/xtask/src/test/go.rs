//! The layer of Go: vetting and tests of the cluster's module.

use std::process::Command;

use anyhow::Result;
use serde::Deserialize;

use super::tally::Tally;
use crate::prepare;
use crate::stage::Log;
use crate::workplace::Workplace;

/// Vets and tests the module.
pub(super) fn run(workplace: &Workplace, log: &Log) -> Result<Tally> {
    let mut go = Command::new("go");
    prepare::build_environment(&mut go).current_dir(workplace.checkout().join("tests/cluster"));
    go.args(["test", "-json", "-vet=all", "-count=1", "./..."]);
    let output = log.capture(&mut go)?;
    log.note(&readable(&output.text))?;
    Ok(Tally::from_go(&output.text).or_failed(output.succeeded))
}

/// The text inside the events: what `go test` prints without `-json`.
fn readable(events: &str) -> String {
    #[derive(Deserialize)]
    struct Event {
        #[serde(rename = "Output")]
        output: Option<String>,
    }
    let parsed = events
        .lines()
        .filter_map(|line| serde_json::from_str::<Event>(line).ok());
    parsed.filter_map(|event| event.output).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_log_reads_like_the_runner_without_json() {
        let events = r#"{"Action":"output","Package":"a","Output":"--- FAIL: TestOne\n"}
            {"Action":"fail","Package":"a","Test":"TestOne"}
            {"Action":"output","Package":"a","Output":"FAIL\n"}"#;
        assert_eq!(readable(events), "--- FAIL: TestOne\nFAIL\n");
    }
}
