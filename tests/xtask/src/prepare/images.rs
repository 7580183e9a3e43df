//! The container images that the cluster starts with.

use std::process::Command;

use anyhow::Result;

use crate::stage::Log;
use crate::workplace::Workplace;

/// Makes the pause image and the application image, or keeps those that are there.
pub(super) fn make(workplace: &Workplace, log: &Log) -> Result<()> {
    for image in ["pause", "applications"] {
        let mut make = Command::new(workplace.program("windlass-image"));
        log.run(make.arg(image).arg("--cache").arg(workplace.cache()))?;
    }
    Ok(())
}
