//! `crd.yaml` is what the types say. `UPDATE_GOLDEN=1 cargo test` writes it anew; review it then.

use std::path::Path;

use kube::CustomResourceExt;
use website_operator::spec::Website;
use windlass_sdk::golden;

#[test]
fn the_crd_is_generated() {
    golden::check(&Path::new(env!("CARGO_MANIFEST_DIR")).join("crd.yaml"), &Website::crd());
}
