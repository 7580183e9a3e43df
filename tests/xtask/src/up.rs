//! `cargo xtask up`: a cluster and everything that runs on it.

use std::time::Instant;

use anyhow::{Context, Result, bail};

use crate::args::UpOptions;
use crate::cluster::{self, Choice, Cluster};
use crate::command;
use crate::duration::Took;
use crate::install;
use crate::prepare;
use crate::stage::{self, Progress, Stage};
use crate::workplace::Workplace;

const CLUSTER: &str = "cluster";
const SAMPLE: &str = "sample";
/// What the first build and the images need, rounded up.
const GIB_NEEDED: u64 = 12;

/// Brings everything up, prints each stage's time and how to use what is there.
pub(crate) fn run(workplace: &Workplace, options: &UpOptions) -> Result<()> {
    let begun = Instant::now();
    let choice = cluster::choose(options.cluster)?;
    require_way_in(choice, options)?;
    if !cluster::Local::is_built(workplace) {
        prepare::require_room(workplace.cache(), GIB_NEEDED)?;
    }
    let cluster = cluster::open(choice, workplace, &options.cluster_name.name);
    let mut stages = make(workplace, choice, cluster.as_ref());
    match options.outside {
        true => stages.push(beside(workplace, cluster.as_ref())),
        false => stages.extend(inside(workplace, cluster.as_ref())),
    }
    let logs = workplace.fresh_logs("up")?;
    let finished = stage::run(stages, &logs, &Progress::detect())?;
    stage::print_times(&finished);
    stage::require_all(&finished)?;
    println!("up in {}", Took(begun.elapsed()));
    print_use(cluster.as_ref())?;
    if options.outside {
        return install::run_outside(workplace, cluster.as_ref());
    }
    print!("\n{}", install::show_sample(workplace, cluster.as_ref())?);
    Ok(())
}

/// A cluster that was not made here takes images from its registry only, which has none of this checkout.
fn require_way_in(choice: Choice, options: &UpOptions) -> Result<()> {
    if choice == Choice::Current && !options.outside {
        bail!(
            "the host's image cannot be loaded into a cluster that was not made here: add --outside to run the host \
             beside it, or install an image of your own as deploy/README.md says"
        );
    }
    Ok(())
}

/// The cluster, and what runs on it, side by side.
fn make<'a>(workplace: &'a Workplace, choice: Choice, cluster: &'a dyn Cluster) -> Vec<Stage<'a>> {
    let start = Stage::new(CLUSTER, |log| cluster.start(log))
        .advice("run `cargo xtask down`, then `cargo xtask up` again");
    let mut stages = vec![
        prepare::wasm_target(),
        install::plugins(workplace),
        install::host(workplace),
    ];
    match choice {
        Choice::Local => {
            stages.extend(prepare::local_cluster(workplace));
            stages.push(start.needs(&prepare::FOR_LOCAL_CLUSTER));
        }
        Choice::Containers(_) | Choice::Current => {
            stages.push(prepare::image_maker(workplace));
            stages.push(start);
        }
    }
    stages
}

fn inside<'a>(workplace: &'a Workplace, cluster: &'a dyn Cluster) -> Vec<Stage<'a>> {
    let sample = Stage::new(SAMPLE, |log| install::apply_sample(workplace, cluster, log))
        .needs(&[install::INSTALL])
        .advice("look at `cargo xtask kubectl -- describe redis`");
    let installed = install::in_cluster(workplace, cluster, install::HOST, CLUSTER);
    installed.into_iter().chain([sample]).collect()
}

fn beside<'a>(workplace: &'a Workplace, cluster: &'a dyn Cluster) -> Stage<'a> {
    Stage::new(install::INSTALL, |log| {
        install::without_host(workplace, cluster, log)
    })
    .needs(&[install::HOST, install::PLUGINS, CLUSTER])
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
    let mut version = std::process::Command::new("kubectl");
    match command::succeeds(version.args(["version", "--client"])) {
        true => "kubectl",
        false => "cargo xtask kubectl --",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::{ClusterName, Source};

    #[test]
    fn a_cluster_of_others_gets_its_host_from_outside() {
        let mut options = UpOptions {
            cluster_name: ClusterName { name: "dev".into() },
            cluster: Source::Current,
            outside: false,
        };
        let error = require_way_in(Choice::Current, &options).unwrap_err();
        assert!(error.to_string().contains("--outside"), "{error}");
        require_way_in(Choice::Local, &options).unwrap();
        options.outside = true;
        require_way_in(Choice::Current, &options).unwrap();
    }
}
