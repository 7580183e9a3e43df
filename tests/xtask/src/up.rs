//! `cargo xtask up`: a cluster and everything that runs on it.

use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result};

use crate::args::UpOptions;
use crate::cluster::{self, Choice, Cluster};
use crate::duration::Took;
use crate::prepare;
use crate::stage::{self, Progress, Stage};
use crate::workplace::Workplace;

const CLUSTER: &str = "cluster";
/// What the first build and the images need, rounded up.
const GIB_NEEDED: u64 = 10;

/// Brings the cluster up, prints each stage's time and how to use what is there.
pub(crate) fn run(workplace: &Workplace, options: &UpOptions) -> Result<()> {
    let begun = Instant::now();
    let choice = cluster::choose(options.cluster)?;
    if !cluster::Local::is_built(workplace) {
        prepare::require_room(workplace.cache(), GIB_NEEDED)?;
    }
    let cluster = cluster::open(choice, workplace, &options.cluster_name.name);
    let logs = workplace.fresh_logs("up")?;
    let stages = stages(workplace, choice, cluster.as_ref());
    let finished = stage::run(stages, &logs, &Progress::detect())?;
    stage::print_times(&finished);
    stage::require_all(&finished)?;
    println!("up in {}", Took(begun.elapsed()));
    print_use(cluster.as_ref())
}

fn stages<'a>(
    workplace: &'a Workplace,
    choice: Choice,
    cluster: &'a dyn Cluster,
) -> Vec<Stage<'a>> {
    let start = Stage::new(CLUSTER, |log| cluster.start(log))
        .advice("run `cargo xtask down`, then `cargo xtask up` again");
    let mut stages = vec![prepare::wasm_target()];
    if choice == Choice::Local {
        stages.extend(prepare::local_cluster(workplace));
        stages.push(start.needs(&prepare::FOR_LOCAL_CLUSTER));
    } else {
        stages.push(start);
    }
    stages
}

fn print_use(cluster: &dyn Cluster) -> Result<()> {
    let kubeconfig = cluster
        .kubeconfig()?
        .context("failed to find the cluster just started")?;
    println!();
    println!("  export KUBECONFIG={}", kubeconfig.display());
    println!("  {} get nodes", kubectl());
    println!();
    println!("`cargo xtask down` takes it down again.");
    Ok(())
}

/// The kubectl that a person has, or the one that comes with the cluster.
fn kubectl() -> &'static str {
    let theirs = crate::command::succeeds(Command::new("kubectl").args(["version", "--client"]));
    if theirs {
        "kubectl"
    } else {
        "cargo xtask kubectl --"
    }
}
