//! Versions of Prometheus, which decide what may be written.

/// What runs where a user names no version.
pub const DEFAULT: &str = "v3.5.0";

/// A version of Prometheus.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version(semver::Version);

impl Version {
    /// Reads a version as users write it: with or without a v, patch and minor may be left out.
    ///
    /// # Errors
    /// In words, when it is none, or neither 2 nor 3.
    pub fn parse(text: &str) -> Result<Self, String> {
        let bare = text.trim().trim_start_matches('v');
        let (numbers, rest) = match bare.find(['-', '+']) {
            Some(at) => bare.split_at(at),
            None => (bare, ""),
        };
        let mut parts: Vec<String> = numbers
            .split('.')
            .map(|part| match part.trim_start_matches('0') {
                "" if !part.is_empty() => "0".to_owned(),
                digits => digits.to_owned(),
            })
            .collect();
        if parts.len() < 3 && !rest.is_empty() {
            return Err(format!("\"{text}\" is not a version such as {DEFAULT}"));
        }
        parts.resize(parts.len().max(3), "0".to_owned());
        let version = semver::Version::parse(&format!("{}{rest}", parts.join(".")))
            .map_err(|_| format!("\"{text}\" is not a version such as {DEFAULT}"))?;
        match version.major {
            2 | 3 => Ok(Self(version)),
            _ => Err(format!(
                "Prometheus {text} is not supported: write v2 or v3"
            )),
        }
    }

    /// Whether it is this release or newer. A pre-release is older than its release.
    #[must_use]
    pub fn since(&self, major: u64, minor: u64) -> bool {
        self.0
            .cmp_precedence(&semver::Version::new(major, minor, 0))
            .is_ge()
    }

    /// Whether it is the first candidate of this release or newer.
    #[must_use]
    pub fn since_candidate(&self, major: u64, minor: u64) -> bool {
        (self.0.major, self.0.minor) >= (major, minor)
    }

    /// 2 or 3.
    #[must_use]
    pub fn major(&self) -> u64 {
        self.0.major
    }
}

impl std::fmt::Display for Version {
    /// Without a v.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::Version;

    #[test]
    fn versions_are_read_as_users_write_them() {
        for (text, read) in [
            ("v2.55.0", "2.55.0"),
            ("3.5", "3.5.0"),
            ("v3", "3.0.0"),
            (" v2.55.1-rc.1", "2.55.1-rc.1"),
            ("2.05.0", "2.5.0"),
        ] {
            assert_eq!(Version::parse(text).unwrap().to_string(), read);
        }
        for text in ["", "v1.8.2", "latest", "4.0.0", "2.x"] {
            assert!(Version::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_candidate_is_older_than_its_release() {
        let candidate = Version::parse("v3.0.0-rc.0").unwrap();
        assert!(!candidate.since(3, 0));
        assert!(candidate.since_candidate(3, 0));
        assert!(candidate.since(2, 55));
    }
}
