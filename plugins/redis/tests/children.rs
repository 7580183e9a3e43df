//! Children as they are rendered. `UPDATE_GOLDEN=1 cargo test` writes the files anew.

mod golden {
    pub(crate) mod helper;
}
mod world;

use world::World;

#[test]
fn the_children_of_the_sample_are_as_reviewed() {
    let world = World::running();
    for ((kind, name), child) in &world.children {
        let mut child = child.clone();
        // What the world filled in as the API server does.
        child.as_object_mut().unwrap().remove("status");
        for field in ["uid", "generation"] {
            child["metadata"].as_object_mut().unwrap().remove(field);
        }
        golden::helper::check(&format!("{name}.{}.yaml", kind.to_lowercase()), &child);
    }
}
