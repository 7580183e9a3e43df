//! The cluster of the tests: their own, started once, gone without a trace afterwards.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use anyhow::{Context, Result, bail};

use super::binaries::{Ground, TestBinary, on};
use super::machine::{self, Snapshot};
use super::tally::Tally;
use crate::args::Source;
use crate::cluster::{Cluster, Local, choose};
use crate::down::TEST_CLUSTER;
use crate::stage::Log;
use crate::workplace::Workplace;

/// How many scenarios run at once: each mostly waits.
const LANES: &str = "2";

pub(super) struct TestCluster {
    cluster: Local,
    cache: PathBuf,
    evidence: PathBuf,
    before: OnceLock<Snapshot>,
}

impl TestCluster {
    /// # Errors
    /// Where no cluster of processes can be made: scenarios reach into its containers.
    pub(super) fn new(workplace: &Workplace, logs: &Path) -> Result<Self> {
        if let Err(error) = choose(Source::Local) {
            bail!("{error}; `cargo xtask test --quick` tests what needs no cluster");
        }
        Ok(Self {
            cluster: Local::new(workplace, TEST_CLUSTER),
            cache: workplace.cache().to_owned(),
            evidence: logs.join("evidence"),
            before: OnceLock::new(),
        })
    }

    /// Removes what a broken run left, looks at the machine, and starts the cluster.
    pub(super) fn start(&self, log: &Log) -> Result<()> {
        self.cluster.stop(log)?;
        self.before.get_or_init(Snapshot::take);
        let started = self.cluster.start(log);
        if started.is_err() {
            // The reason for the failure is what counts; what cannot be removed is in the log.
            let _ = self.cluster.stop(log);
        }
        started
    }

    /// Takes the cluster down and compares the machine with what it was.
    pub(super) fn stop(&self, log: &Log) -> Result<()> {
        self.cluster.stop(log)?;
        let before = self
            .before
            .get()
            .context("the machine was not looked at before")?;
        machine::require_same(before, log)
    }

    /// Runs the scenarios, or those whose name contains `part`.
    pub(super) fn run_scenarios(
        &self,
        built: &[TestBinary],
        part: Option<&str>,
        log: &Log,
    ) -> Result<Tally> {
        let arguments: Vec<_> = ["--test-threads", LANES].into_iter().chain(part).collect();
        let environment = [
            ("WINDLASS_CACHE", self.cache.as_path()),
            ("WINDLASS_E2E_ARTIFACTS", self.evidence.as_path()),
            ("WINDLASS_E2E_CLUSTER", Path::new(TEST_CLUSTER)),
        ];
        let scenarios = on(built, Ground::Cluster);
        scenarios
            .map(|binary| binary.run(&arguments, &environment, log))
            .sum()
    }
}
