//! Names that respect Kubernetes' limits.

use crate::digest;

/// Services, Pods' host names and label values.
pub const LABEL_LIMIT: usize = 63;
/// Most objects: ConfigMaps, Secrets, PVCs.
pub const NAME_LIMIT: usize = 253;
/// StatefulSets: their Pods carry a label of the name, a dash and a ten-letter hash.
pub const STATEFUL_SET_LIMIT: usize = 52;

/// Digits of the hash that keeps shortened names apart.
const HASH: usize = 8;

/// `base-suffix`, shortened in the base and kept unique by a hash when it exceeds `limit` bytes.
///
/// ```
/// use windlass_sdk::name;
/// assert_eq!(name::suffixed("my-redis", "master", name::LABEL_LIMIT), "my-redis-master");
/// ```
#[must_use]
pub fn suffixed(base: &str, suffix: &str, limit: usize) -> String {
    let whole = format!("{base}-{suffix}");
    if whole.len() <= limit {
        return whole;
    }
    let hash = &digest(base)[..HASH];
    let mut room = limit
        .saturating_sub(suffix.len() + HASH + 2)
        .min(base.len());
    while !base.is_char_boundary(room) {
        room -= 1;
    }
    let head = base[..room].trim_end_matches(['-', '.']);
    format!("{head}-{hash}-{suffix}")
}

#[cfg(test)]
mod tests {
    use super::{LABEL_LIMIT, suffixed};

    #[test]
    fn a_long_name_is_shortened_and_stays_unique() {
        let first = suffixed(&"a".repeat(80), "master", LABEL_LIMIT);
        let second = suffixed(&"a".repeat(81), "master", LABEL_LIMIT);
        assert!(first.len() <= LABEL_LIMIT && second.len() <= LABEL_LIMIT);
        assert!(first.ends_with("-master"));
        assert_ne!(first, second);
        // Also by the next version of the plugin: what goes by another name is another object.
        assert_eq!(first, format!("{}-0f45e858-master", "a".repeat(47)));
    }
}
