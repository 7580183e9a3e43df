//! Short names of contents.

use std::hash::{DefaultHasher, Hash, Hasher};

/// 16 hexadecimal digits that change with the value. The hash has fixed keys: it is the same in every instance.
#[must_use]
pub(crate) fn digest(of: &impl Hash) -> String {
    let mut hasher = DefaultHasher::new();
    of.hash(&mut hasher);
    format!("{:016x}", hasher.finish())
}
