//! `cargo xtask mutations`: breaks each law of the host once, in a copy, and sees that its test turns red.

mod laws;
mod scratch;

use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result, bail, ensure};

use crate::cluster::Local;
use crate::down::TEST_CONTROL_PLANE;
use crate::duration::Took;
use crate::prepare;
use crate::stage::{self, Log, Progress};
use crate::test::Tally;
use crate::workplace::Workplace;
use laws::{MUTATIONS, Mutation};
use scratch::Scratch;

/// Runs every mutation and names those that no test noticed.
pub(crate) fn run(workplace: &Workplace) -> Result<()> {
    let logs = workplace.fresh_logs("mutations")?;
    let cluster = vec![prepare::cluster_binary(workplace)];
    stage::require_all(&stage::run(cluster, &logs, &Progress::detect())?)?;
    let log = Log::create(&logs, "mutations")?;
    let plane = Local::control_plane(workplace, TEST_CONTROL_PLANE);
    let outcome = plane.during(&log, |kubeconfig| {
        on_a_control_plane(workplace, kubeconfig, &log)
    });
    outcome.with_context(|| format!("what was built and run is in {}", log.path().display()))
}

fn on_a_control_plane(workplace: &Workplace, kubeconfig: PathBuf, log: &Log) -> Result<()> {
    let scratch = Scratch::copy(workplace)?;
    let bench = Bench {
        scratch,
        kubeconfig,
        log,
    };
    bench.all_is_well()?;
    let mut survivors = Vec::new();
    for mutation in &MUTATIONS {
        let begun = Instant::now();
        let noticed = bench.is_noticed(mutation)?;
        let verdict = match noticed {
            true => "red",
            false => "NOT NOTICED",
        };
        println!(
            "law {:2}  {:7}  {verdict}: {}",
            mutation.law,
            Took(begun.elapsed()).to_string(),
            mutation.fault
        );
        if !noticed {
            survivors.push(mutation.law.to_string());
        }
    }
    ensure!(
        survivors.is_empty(),
        "no test noticed that law {} was broken",
        survivors.join(", ")
    );
    println!(
        "each of the {} laws has a test that fails without it",
        MUTATIONS.len()
    );
    Ok(())
}

/// Where mutations are tried.
struct Bench<'a> {
    scratch: Scratch,
    kubeconfig: PathBuf,
    log: &'a Log,
}

impl Bench<'_> {
    /// Without a fault every test passes: else its failure with one would mean nothing.
    fn all_is_well(&self) -> Result<()> {
        for mutation in &MUTATIONS {
            if self.run(mutation)?.require_clean().is_err() {
                bail!("`{}` fails without a fault", mutation.test);
            }
        }
        Ok(())
    }

    fn is_noticed(&self, mutation: &Mutation) -> Result<bool> {
        let _broken = self.scratch.broken(mutation)?;
        Ok(self.run(mutation)?.failed > 0)
    }

    fn run(&self, mutation: &Mutation) -> Result<Tally> {
        let program = self.scratch.build(mutation.program, self.log)?;
        let environment = [("WINDLASS_TEST_KUBECONFIG", self.kubeconfig.as_path())];
        let environment: &[(&str, &Path)] = &environment;
        program.run(&["--exact", mutation.test], environment, self.log)
    }
}
