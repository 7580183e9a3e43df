//! Tests written in Go: of the cluster's packages, and of whole clusters.

use std::process::Command;

use anyhow::Result;
use serde::Deserialize;

use super::tally::Tally;
use crate::command;
use crate::prepare;
use crate::stage::Log;
use crate::workplace::Workplace;

/// Every check of `go vet` on the way: by itself it would look at the same packages once more.
const VET: &str = "-vet=all";

/// The package whose tests make clusters with the built binary.
const ON_CLUSTERS: &str = "/integration";

/// The packages that link Kubernetes itself, a few lines each. To vet them is to analyse two
/// thousand packages of others: most of the time that this layer would take.
const LINK_KUBERNETES: [&str; 2] = ["windlass.dev/cluster", "windlass.dev/cluster/component"];

/// Vets and tests the packages that need no cluster.
pub(super) fn run_units(workplace: &Workplace, log: &Log) -> Result<Tally> {
    let listed = command::capture(in_module(workplace).args(["list", "-f", LISTING, "./..."]))?;
    let packages = listed.lines().filter_map(|line| line.split_once(' '));
    let (linking, others): (Vec<_>, Vec<_>) = packages
        .filter(|(package, _)| !package.ends_with(ON_CLUSTERS))
        .partition(|(package, _)| LINK_KUBERNETES.contains(package));
    let vetted = names(others.into_iter());
    let tested = names(linking.into_iter().filter(|(_, tests)| *tests != "[]"));
    let tally = run(test(workplace).arg(VET).args(vetted), log)?;
    match tested.is_empty() {
        true => Ok(tally),
        false => Ok(tally + run(test(workplace).arg("-vet=off").args(tested), log)?),
    }
}

/// A package and the files with its tests.
const LISTING: &str = "{{.ImportPath}} {{.TestGoFiles}}";

fn names<'a>(packages: impl Iterator<Item = (&'a str, &'a str)>) -> Vec<&'a str> {
    packages.map(|(package, _)| package).collect()
}

/// Vets and tests what makes clusters and takes them down again.
pub(super) fn run_clusters(workplace: &Workplace, log: &Log) -> Result<Tally> {
    let binary = workplace.program("windlass-cluster");
    let mut go = test(workplace);
    go.env("WINDLASS_CLUSTER_BINARY", binary)
        .args([VET, "-timeout", "30m"]);
    run(go.arg(format!(".{ON_CLUSTERS}")), log)
}

/// The command that looks at the machine, or compares it with an earlier look.
pub(super) fn leftovers(workplace: &Workplace) -> Command {
    let mut go = in_module(workplace);
    go.args(["run", "./cmd/leftovers"]);
    go
}

fn in_module(workplace: &Workplace) -> Command {
    let mut go = Command::new("go");
    prepare::build_environment(&mut go).current_dir(workplace.checkout().join("tests/cluster"));
    go
}

fn test(workplace: &Workplace) -> Command {
    let mut go = in_module(workplace);
    go.args(["test", "-json", "-count=1"]);
    go
}

fn run(go: &mut Command, log: &Log) -> Result<Tally> {
    let output = log.capture(go)?;
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
