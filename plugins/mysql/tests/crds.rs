//! `crds/` holds what the Rust types say. `UPDATE_GOLDEN=1 cargo test` writes the files anew.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]

use std::path::Path;

use kube::CustomResourceExt;
use windlass_mysql::alias;
use windlass_mysql::spec::MySQLCluster;
use windlass_sdk::golden;

#[test]
fn the_crds_are_generated() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../crds");
    let first = MySQLCluster::crd();
    for crd in [alias::crd(&first), first] {
        golden::check_crd(&folder, &crd, "plugins/mysql");
    }
}
