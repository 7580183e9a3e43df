//! Short names of contents.

use serde::Serialize;

/// 16 hexadecimal digits that change with the value.
#[must_use]
pub(crate) fn digest(of: &impl Serialize) -> String {
    // What is made of maps, lists and texts is always written.
    windlass_sdk::digest(serde_json::to_vec(of).unwrap_or_default())
}
