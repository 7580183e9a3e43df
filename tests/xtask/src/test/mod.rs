//! `cargo xtask test`: every layer, what ran, how long, and a closing line with the counts.

mod binaries;
mod control_plane;
mod go;
mod layers;
mod pauses;
mod plan;
mod report;
mod tally;
mod test_cluster;
mod unit;

use std::path::Path;
use std::time::Instant;

use anyhow::{Result, bail};

pub(crate) use binaries::{TestBinary, test_binaries};
use layers::Layers;
use plan::{Layer, Plan};
pub(crate) use tally::Tally;

use crate::args::TestOptions;
use crate::duration::Took;
use crate::prepare;
use crate::stage::{self, Progress, Stage};
use crate::workplace::Workplace;

/// Free space without which the first build cannot end well.
const GIB_NEEDED: u64 = 12;

/// Runs what was asked for and prints the counts.
pub(crate) fn run(workplace: &Workplace, options: &TestOptions) -> Result<()> {
    let begun = Instant::now();
    prepare::require_room(workplace.cache(), GIB_NEEDED)?;
    let logs = workplace.fresh_logs("test")?;
    let plan = plan(workplace, options, &logs)?;
    let layers = Layers::new(workplace, &plan, &logs)?;
    let finished = stage::run(layers.stages(), &logs, &Progress::detect())?;
    println!();
    let outcome = layers.report().close(&finished, &plan.left_out());
    print!("{}", layers.pauses());
    println!(
        "in {}; the logs are in {}",
        Took(begun.elapsed()),
        logs.display()
    );
    outcome
}

/// What to run. Which layer holds a test that was named is known only once all are built.
fn plan(workplace: &Workplace, options: &TestOptions, logs: &Path) -> Result<Plan> {
    match &options.only {
        None => Ok(Plan::of_everything(options.quick, options.times)),
        Some(name) => match Layer::named(name) {
            Some(layer) => Ok(Plan::of_layer(layer, options.times)),
            None => {
                let layers = layers_with_test(&build_now(workplace, logs)?, name)?;
                Ok(Plan::of_tests(layers, name, options.times))
            }
        },
    }
}

fn build_now(workplace: &Workplace, logs: &Path) -> Result<Vec<TestBinary>> {
    let mut built = Vec::new();
    let build = Stage::new(layers::BUILD, |log| {
        built = binaries::build(workplace.checkout(), log)?;
        Ok(())
    });
    stage::require_all(&stage::run(vec![build], logs, &Progress::detect())?)?;
    Ok(built)
}

fn layers_with_test(built: &[TestBinary], part: &str) -> Result<Vec<Layer>> {
    let mut layers = Vec::new();
    for binary in built {
        if binary.has_test(part)? {
            layers.push(Layer::on(binary.ground));
        }
    }
    if layers.is_empty() {
        bail!("no layer and no Rust test has `{part}` in its name");
    }
    Ok(layers)
}
