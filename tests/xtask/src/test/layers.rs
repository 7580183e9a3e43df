//! The layers as stages: what each needs, and what runs beside what.

use std::path::Path;
use std::sync::OnceLock;

use anyhow::{Context, Result};

use super::binaries::{self, TestBinary};
use super::pauses::Pauses;
use super::plan::{Layer, Plan};
use super::report::Report;
use super::tally::Tally;
use super::test_cluster::TestCluster;
use super::{control_plane, go, unit};
use crate::install;
use crate::prepare;
use crate::stage::{Log, Stage};
use crate::tidy;
use crate::workplace::Workplace;

pub(super) const BUILD: &str = "build";
const UNIT: &str = "unit";
const GO: &str = "go";
const CONTROL_PLANE: &str = "control plane";
const LIFE_OF_CLUSTERS: &str = "cluster: up and down";
const CLUSTER_UP: &str = "test cluster";
const SCENARIOS: &str = "cluster: scenarios";
const CLUSTER_DOWN: &str = "cluster: machine as before";

/// What keeps the processors busy. Tests with deadlines come after it, to have them to themselves.
const QUIET: [&str; 6] = [
    BUILD,
    UNIT,
    GO,
    prepare::TOOLS,
    tidy::LINTS,
    tidy::DEPENDENCIES,
];

/// The layers of one run, and what they hand each other.
pub(super) struct Layers<'a> {
    workplace: &'a Workplace,
    plan: &'a Plan,
    cluster: Option<TestCluster<'a>>,
    built: OnceLock<Vec<TestBinary>>,
    report: Report,
    pauses: Pauses,
}

impl<'a> Layers<'a> {
    pub(super) fn new(workplace: &'a Workplace, plan: &'a Plan, logs: &Path) -> Result<Self> {
        let cluster = match plan.has(Layer::Cluster) {
            true => Some(TestCluster::new(workplace, logs)?),
            false => None,
        };
        let checks = tidy::CHECKS.into_iter();
        let report = Report::new(checks.chain([install::ROLES, CLUSTER_DOWN]));
        Ok(Self {
            workplace,
            plan,
            cluster,
            built: OnceLock::new(),
            report,
            pauses: Pauses::default(),
        })
    }

    pub(super) fn report(&self) -> &Report {
        &self.report
    }

    /// What scenarios saw of clients that write.
    pub(super) fn pauses(&self) -> &Pauses {
        &self.pauses
    }

    pub(super) fn stages(&self) -> Vec<Stage<'_>> {
        let mut stages = self.preparations();
        if self.plan.has(Layer::Unit) {
            stages.push(self.unit_stage());
        }
        if self.plan.has(Layer::Go) {
            stages.push(self.go_stage());
        }
        if self.plan.has(Layer::Tidy) {
            stages.extend(self.tidy());
            if self.plan.has(Layer::Unit) {
                stages.push(install::check_roles(self.workplace, BUILD));
            }
        }
        if self.plan.has(Layer::ControlPlane) {
            stages.push(self.control_plane_stage());
        }
        if let Some(cluster) = &self.cluster {
            stages.extend(self.on_clusters(cluster));
        }
        stages
    }

    /// What the planned layers need, each made once.
    fn preparations(&self) -> Vec<Stage<'_>> {
        let mut stages = Vec::new();
        let rust = [Layer::Unit, Layer::ControlPlane, Layer::Cluster];
        if rust.into_iter().any(|layer| self.plan.has(layer)) {
            stages.push(Stage::new(BUILD, |log| self.build(log)));
            stages.push(prepare::wasm_target());
            stages.push(install::plugins(self.workplace).after(&[BUILD]));
        }
        if self.plan.has(Layer::Unit) {
            stages.push(prepare::oracle(self.workplace));
        }
        if self.plan.has(Layer::Cluster) {
            stages.extend(prepare::local_cluster(self.workplace));
            stages.push(prepare::test_tools(self.workplace));
        } else if self.plan.has(Layer::ControlPlane) {
            stages.push(prepare::cluster_binary(self.workplace));
        }
        stages
    }

    fn unit_stage(&self) -> Stage<'_> {
        Stage::new(UNIT, |log| self.repeat(UNIT, || self.unit(log))).needs(&[
            BUILD,
            prepare::WASM_TARGET,
            prepare::ORACLE,
        ])
    }

    fn go_stage(&self) -> Stage<'_> {
        Stage::new(GO, |log| {
            self.repeat(GO, || go::run_units(self.workplace, log))
        })
        // They compile the same packages: the second finds them compiled.
        .after(&[prepare::CLUSTER_BINARY])
    }

    fn control_plane_stage(&self) -> Stage<'_> {
        Stage::new(CONTROL_PLANE, |log| {
            self.repeat(CONTROL_PLANE, || self.on_control_plane(log))
        })
        .needs(&[BUILD, prepare::WASM_TARGET, prepare::CLUSTER_BINARY])
        .after(&QUIET)
    }

    /// Clusters come and go first, while no other shares the machine's settings with them.
    fn on_clusters<'s>(&'s self, cluster: &'s TestCluster<'_>) -> Vec<Stage<'s>> {
        let life = Stage::new(LIFE_OF_CLUSTERS, |log| self.life_of_clusters(log))
            .needs(&prepare::FOR_LOCAL_CLUSTER)
            .after(&QUIET)
            .after(&[CONTROL_PLANE]);
        let up = Stage::new(CLUSTER_UP, |log| cluster.start(log))
            .needs(&prepare::FOR_LOCAL_CLUSTER)
            .after(&[LIFE_OF_CLUSTERS]);
        let scenarios = Stage::new(SCENARIOS, |log| {
            self.repeat(SCENARIOS, || self.scenarios(cluster, log))
        })
        .needs(&[BUILD, install::INSTALL, prepare::TOOLS]);
        let down = Stage::new(CLUSTER_DOWN, |log| cluster.stop(log))
            .needs(&[CLUSTER_UP])
            .after(&[install::INSTALL, SCENARIOS]);
        let windlass = install::in_cluster(self.workplace, cluster.cluster(), BUILD, CLUSTER_UP);
        let whole_layer = self.plan.part.is_none().then_some(life);
        whole_layer
            .into_iter()
            .chain([up])
            .chain(windlass)
            .chain([scenarios, down])
            .collect()
    }

    fn tidy(&self) -> impl Iterator<Item = Stage<'_>> {
        tidy::checks(self.workplace, tidy::Mode::Check)
            .into_iter()
            .map(|check| {
                // Cargo lets one command build at a time: waiting for it is no work.
                match check.name() {
                    tidy::LINTS => check.after(&[BUILD, UNIT]),
                    _ => check,
                }
            })
    }

    fn life_of_clusters(&self, log: &Log) -> Result<()> {
        self.report
            .record(LIFE_OF_CLUSTERS, go::run_clusters(self.workplace, log)?)
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

    fn on_control_plane(&self, log: &Log) -> Result<Tally> {
        control_plane::run(
            self.workplace,
            self.built()?,
            self.plan.part.as_deref(),
            log,
        )
    }

    fn scenarios(&self, cluster: &TestCluster<'_>, log: &Log) -> Result<Tally> {
        cluster.run_scenarios(self.built()?, self.plan.part.as_deref(), &self.pauses, log)
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
