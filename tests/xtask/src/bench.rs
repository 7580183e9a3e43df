//! `cargo xtask bench`: the frame that benchmarks join.

use anyhow::Result;

/// Says what there is to measure: nothing yet.
pub(crate) fn run() -> Result<()> {
    println!("there is no benchmark yet: the first ones come with the host");
    Ok(())
}
