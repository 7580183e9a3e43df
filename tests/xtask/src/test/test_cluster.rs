//! The cluster of the tests: their own, started once, gone without a trace afterwards.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use super::binaries::{Ground, TestBinary, on};
use super::go;
use super::pauses::Pauses;
use super::tally::Tally;
use crate::args::Source;
use crate::cluster::{Cluster, Local, choose};
use crate::down::TEST_CLUSTER;
use crate::stage::Log;
use crate::workplace::Workplace;

/// How many scenarios run at once: each mostly waits.
const LANES: &str = "2";

pub(super) struct TestCluster<'a> {
    workplace: &'a Workplace,
    cluster: Local,
    evidence: PathBuf,
    machine_before: PathBuf,
}

impl<'a> TestCluster<'a> {
    /// # Errors
    /// Where no cluster of processes can be made: scenarios reach into its containers.
    pub(super) fn new(workplace: &'a Workplace, logs: &Path) -> Result<Self> {
        if let Err(error) = choose(Source::Local) {
            bail!("{error}; `cargo xtask test --quick` tests what needs no cluster");
        }
        Ok(Self {
            workplace,
            cluster: Local::new(workplace, TEST_CLUSTER),
            evidence: logs.join("evidence"),
            machine_before: logs.join("machine-before.json"),
        })
    }

    pub(super) fn cluster(&self) -> &dyn Cluster {
        &self.cluster
    }

    /// Removes what a broken run left, looks at the machine, and starts the cluster.
    pub(super) fn start(&self, log: &Log) -> Result<()> {
        self.cluster.stop(log)?;
        self.look_at_machine(log)?;
        let started = self.cluster.start(log);
        if started.is_err() {
            // The reason for the failure is what counts; what cannot be removed is in the log.
            let _ = self.cluster.stop(log);
        }
        started
    }

    fn look_at_machine(&self, log: &Log) -> Result<()> {
        let look = log.capture(&mut go::leftovers(self.workplace))?;
        if !look.succeeded {
            bail!("failed to look at the machine");
        }
        fs::write(&self.machine_before, look.text)
            .with_context(|| format!("failed to write {}", self.machine_before.display()))
    }

    /// Takes the cluster down and compares the machine with what it was.
    pub(super) fn stop(&self, log: &Log) -> Result<()> {
        self.cluster.stop(log)?;
        let mut compare = go::leftovers(self.workplace);
        log.run(compare.arg("--since").arg(&self.machine_before))
    }

    /// Runs the scenarios, or those whose name contains `part`.
    pub(super) fn run_scenarios(
        &self,
        built: &[TestBinary],
        part: Option<&str>,
        pauses: &Pauses,
        log: &Log,
    ) -> Result<Tally> {
        let arguments: Vec<_> = ["--show-output", "--test-threads", LANES]
            .into_iter()
            .chain(part)
            .collect();
        let environment = [
            ("WINDLASS_E2E_CACHE", self.workplace.cache()),
            ("WINDLASS_E2E_ARTIFACTS", self.evidence.as_path()),
            ("WINDLASS_E2E_CLUSTER", Path::new(TEST_CLUSTER)),
            // An error says what was waited for and seen; where in the test tells its text.
            ("RUST_BACKTRACE", Path::new("0")),
        ];
        on(built, Ground::Cluster)
            .map(|binary| {
                let (tally, output) = binary.run_for_output(&arguments, &environment, log)?;
                pauses.take(&output);
                Ok(tally)
            })
            .sum()
    }
}
