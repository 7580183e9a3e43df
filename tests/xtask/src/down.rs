//! `cargo xtask down`: the machine as it was.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use crate::args::DownOptions;
use crate::bench::BENCH_CONTROL_PLANE;
use crate::cluster::{self, Local};
use crate::kubeconfig;
use crate::stage::{self, Progress, Stage};
use crate::workplace::Workplace;

/// The cluster that tests run on: one that a broken run left goes with the rest.
pub(crate) const TEST_CLUSTER: &str = "test";

/// The control plane that tests run on.
pub(crate) const TEST_CONTROL_PLANE: &str = "test-plane";

/// What is made again when it is needed. `target` is cargo's and `go-build` Go's to empty.
const CACHES: [&str; 9] = [
    "bin",
    "compiled",
    "containerd",
    "containers",
    "images",
    "logs",
    "mutations",
    "plugins",
    "reproduce",
];

/// Takes down the named cluster and what a broken test run left; empties the caches when asked.
pub(crate) fn run(workplace: &Workplace, options: &DownOptions) -> Result<()> {
    let logs = workplace.fresh_logs("down")?;
    let name = &options.cluster_name.name;
    if matches!(kubeconfig::find(workplace, name), Ok(None)) {
        println!("no cluster `{name}` is running: what a broken one left is removed");
    }
    let mut clusters = cluster::candidates(workplace, name);
    clusters.extend(cluster::candidates(workplace, TEST_CLUSTER));
    if Local::is_built(workplace) {
        for plane in [TEST_CONTROL_PLANE, BENCH_CONTROL_PLANE] {
            clusters.push(Box::new(Local::control_plane(workplace, plane)));
        }
    }
    if clusters.is_empty() {
        println!("there is no cluster to take down");
    }
    let stop = Stage::new("down", |log| {
        clusters.iter().try_for_each(|one| one.stop(log))
    })
    .advice("run `cargo xtask down` again; what is left is named above");
    let finished = stage::run(vec![stop], &logs, &Progress::detect())?;
    stage::require_all(&finished)?;
    if options.purge {
        purge(workplace.cache())?;
    }
    Ok(())
}

fn purge(cache: &Path) -> Result<()> {
    for name in CACHES {
        let path = cache.join(name);
        if path.exists() {
            fs::remove_dir_all(&path)
                .with_context(|| format!("failed to empty {}", path.display()))?;
            println!("emptied {}", path.display());
        }
    }
    Ok(())
}
