//! The layers as stages: what each needs, and what runs beside what.

use std::path::Path;
use std::sync::OnceLock;

use anyhow::{Context, Result};

use super::binaries::{self, TestBinary};
use super::plan::{Layer, Plan};
use super::report::Report;
use super::tally::Tally;
use super::test_cluster::TestCluster;
use super::{go, unit};
use crate::prepare;
use crate::stage::{Log, Stage};
use crate::tidy;
use crate::workplace::Workplace;

pub(super) const BUILD: &str = "build";
const UNIT: &str = "unit";
const GO: &str = "go";
const CLUSTER_UP: &str = "test cluster";
const CLUSTER: &str = "cluster";
const CLUSTER_DOWN: &str = "cluster: the machine is as before";

/// The layers of one run, and what they hand each other.
pub(super) struct Layers<'a> {
    workplace: &'a Workplace,
    plan: &'a Plan,
    cluster: Option<TestCluster>,
    built: OnceLock<Vec<TestBinary>>,
    report: Report,
}

impl<'a> Layers<'a> {
    pub(super) fn new(workplace: &'a Workplace, plan: &'a Plan, logs: &Path) -> Result<Self> {
        let cluster = match plan.has(Layer::Cluster) {
            true => Some(TestCluster::new(workplace, logs)?),
            false => None,
        };
        let report = Report::new(tidy::CHECKS.into_iter().chain([CLUSTER_DOWN]));
        Ok(Self {
            workplace,
            plan,
            cluster,
            built: OnceLock::new(),
            report,
        })
    }

    pub(super) fn report(&self) -> &Report {
        &self.report
    }

    pub(super) fn stages(&self) -> Vec<Stage<'_>> {
        let mut stages = Vec::new();
        if self.plan.has(Layer::Unit) || self.cluster.is_some() {
            stages.push(Stage::new(BUILD, |log| self.build(log)));
        }
        if let Some(cluster) = &self.cluster {
            stages.extend(prepare::local_cluster(self.workplace));
            stages.push(prepare::test_tools(self.workplace));
            stages.extend(self.on_cluster(cluster));
        }
        if self.plan.has(Layer::Unit) {
            let unit = Stage::new(UNIT, |log| self.repeat(UNIT, || self.unit(log)));
            stages.push(unit.needs(&[BUILD]));
        }
        if self.plan.has(Layer::Go) {
            let go = Stage::new(GO, |log| self.repeat(GO, || go::run(self.workplace, log)));
            // They compile the same packages: the second finds them compiled.
            stages.push(go.after(&[prepare::CLUSTER_BINARY]));
        }
        if self.plan.has(Layer::Tidy) {
            stages.extend(self.tidy());
        }
        stages
    }

    fn on_cluster<'s>(&'s self, cluster: &'s TestCluster) -> [Stage<'s>; 3] {
        [
            Stage::new(CLUSTER_UP, |log| cluster.start(log)).needs(&prepare::FOR_LOCAL_CLUSTER),
            Stage::new(CLUSTER, |log| {
                self.repeat(CLUSTER, || self.scenarios(cluster, log))
            })
            .needs(&[BUILD, CLUSTER_UP, prepare::TOOLS])
            // Scenarios have deadlines: they get the machine to themselves.
            .after(&[UNIT, GO, tidy::LINTS, tidy::DEPENDENCIES]),
            Stage::new(CLUSTER_DOWN, |log| cluster.stop(log))
                .needs(&[CLUSTER_UP])
                .after(&[CLUSTER]),
        ]
    }

    fn tidy(&self) -> impl Iterator<Item = Stage<'_>> {
        tidy::checks(self.workplace, tidy::Mode::Check)
            .into_iter()
            .map(|check| {
                // Cargo lets one command build at a time: waiting for it is no work.
                let after: &[_] = if check.name() == tidy::LINTS {
                    &[BUILD]
                } else {
                    &[]
                };
                check.after(after)
            })
    }

    fn build(&self, log: &Log) -> Result<()> {
        let built = binaries::build(self.workplace.checkout(), log)?;
        self.built.get_or_init(|| built);
        Ok(())
    }

    fn unit(&self, log: &Log) -> Result<Tally> {
        unit::run(
            self.workplace,
            self.built()?,
            self.plan.part.as_deref(),
            log,
        )
    }

    fn scenarios(&self, cluster: &TestCluster, log: &Log) -> Result<Tally> {
        cluster.run_scenarios(self.built()?, self.plan.part.as_deref(), log)
    }

    fn built(&self) -> Result<&[TestBinary]> {
        self.built
            .get()
            .map(Vec::as_slice)
            .context("the tests are not built")
    }

    /// Runs a layer as often as asked, up to its first failure.
    fn repeat(&self, stage: &'static str, run: impl Fn() -> Result<Tally>) -> Result<()> {
        let mut sum = Tally::default();
        for _ in 0..self.plan.times {
            let tally = run()?;
            sum = sum + tally;
            if tally.require_clean().is_err() {
                break;
            }
        }
        self.report.record(stage, sum)
    }
}
