//! Children as they are rendered. `UPDATE_GOLDEN=1 cargo test` writes the files anew.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]

mod world;

use std::path::Path;

use windlass_sdk::golden;
use world::World;

#[test]
fn the_children_of_the_sample_are_as_reviewed() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let world = World::running();
    for ((kind, name), child) in &world.children {
        let mut child = child.clone();
        // What the world filled in as the API server does.
        child.as_object_mut().unwrap().remove("status");
        for field in ["uid", "generation"] {
            child["metadata"].as_object_mut().unwrap().remove(field);
        }
        let file = format!("{name}.{}.yaml", kind.to_lowercase());
        golden::check(&folder.join(file), &child);
    }
}
