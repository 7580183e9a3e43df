//! Versions of MySQL.

/// Why an older MySQL is refused.
pub const TOO_OLD: &str =
    "MySQL 8.0.26 or newer is needed: older ones have other names for what replication needs";

/// The numbers of `8.0.32` or `9.7.4-2`; what is missing counts as the newest of its series.
#[must_use]
pub fn numbers(version: &str) -> [u32; 3] {
    let number = version.split('-').next().unwrap_or_default();
    let mut parts = number.split('.').map(|part| part.parse().unwrap_or(0));
    let mut next = |missing| parts.next().unwrap_or(missing);
    [next(0), next(0), next(u32::MAX)]
}

/// Whether this plugin can run it.
#[must_use]
pub fn is_supported(version: &str) -> bool {
    numbers(version) >= [8, 0, 26]
}

/// Whether an instance of the one version may be made a copy of the other: the same patch release below 8.0.37, the
/// same series after.
#[must_use]
pub fn are_cloneable(donor: &str, recipient: &str) -> bool {
    let (donor, recipient) = (numbers(donor), numbers(recipient));
    let by_series = donor >= [8, 0, 37] && recipient >= [8, 0, 37];
    match by_series {
        true => donor[..2] == recipient[..2],
        false => donor == recipient,
    }
}

#[cfg(test)]
mod tests {
    use super::{are_cloneable, is_supported};

    #[test]
    fn versions_from_8_0_26_are_supported() {
        for (version, supported) in [
            ("8.0", true),
            ("8.0.25", false),
            ("8.0.26", true),
            ("8.4", true),
            ("9.7.4-2", true),
            ("5.7.44", false),
        ] {
            assert_eq!(is_supported(version), supported, "{version}");
        }
    }

    #[test]
    fn copies_are_made_within_a_patch_release_or_later_within_a_series() {
        for (donor, recipient, cloneable) in [
            ("8.0.32", "8.0.32", true),
            ("8.0.32", "8.0.33", false),
            ("8.0.37", "8.0.39", true),
            ("8.0.36", "8.0.37", false),
            ("8.4.1", "8.4.3", true),
            ("8.4.1", "9.0.0", false),
        ] {
            assert_eq!(
                are_cloneable(donor, recipient),
                cloneable,
                "{donor} {recipient}"
            );
        }
    }
}
