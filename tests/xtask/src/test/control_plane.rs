//! The layer of tests that need an API server but no nodes: up in seconds, without root.

use anyhow::Result;

use super::binaries::{Ground, TestBinary, on};
use super::tally::Tally;
use crate::cluster::Local;
use crate::down::TEST_CONTROL_PLANE;
use crate::stage::Log;
use crate::workplace::Workplace;

/// Starts a control plane, runs the tests, or those whose name contains `part`, and ends it.
pub(super) fn run(
    workplace: &Workplace,
    built: &[TestBinary],
    part: Option<&str>,
    log: &Log,
) -> Result<Tally> {
    Local::control_plane(workplace, TEST_CONTROL_PLANE).during(log, |kubeconfig| {
        let environment = [("WINDLASS_TEST_KUBECONFIG", kubeconfig.as_path())];
        on(built, Ground::ControlPlane)
            .map(|binary| binary.run(part.as_slice(), &environment, log))
            .sum()
    })
}
