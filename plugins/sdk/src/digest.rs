//! Short names of contents.

use sha2::{Digest, Sha256};
use twox_hash::xxhash3_128::Hasher;

/// 16 hexadecimal digits that change with the content: the beginning of its SHA-256.
///
/// They are the same whatever compiled the plugin and whatever it runs on, so they may stand in objects. Those of
/// [`std::hash`] may not: they differ between releases of Rust and between machines, and with the next version of the
/// plugin every Pod whose template holds one would be replaced.
#[must_use]
pub fn digest(content: impl AsRef<[u8]>) -> String {
    let digest = Sha256::digest(content);
    digest[..8]
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

/// 32 hexadecimal digits that change with any of these texts, and with where one ends and the next begins: XXH3 of 128
/// bits, for contents of megabytes, which SHA-256 takes twenty times as long for within a component.
///
/// Tells a change from none; somebody who wants to can make two contents with one digest, so nothing may rest on it
/// that they gain by.
#[must_use]
pub fn fingerprint<P: AsRef<str>>(texts: impl IntoIterator<Item = P>) -> String {
    let mut hasher = Hasher::new();
    for text in texts {
        let text = text.as_ref();
        hasher.write(&(text.len() as u64).to_le_bytes());
        hasher.write(text.as_bytes());
    }
    format!("{:032x}", hasher.finish_128())
}

#[cfg(test)]
mod tests {
    use super::{digest, fingerprint};

    #[test]
    fn it_is_the_beginning_of_the_sha_256() {
        // `printf abc | sha256sum`
        assert_eq!(digest("abc"), "ba7816bf8f01cfea");
    }

    #[test]
    fn where_parts_end_matters() {
        let digests = [
            fingerprint(["ab", "c"]),
            fingerprint(["a", "bc"]),
            fingerprint(["abc"]),
            fingerprint(["abc", ""]),
        ];
        for (at, one) in digests.iter().enumerate() {
            assert!(!digests[..at].contains(one), "{digests:?}");
        }
        assert_eq!(fingerprint(["ab", "c"]), digests[0]);
        assert_eq!(digests[0].len(), 32);
    }
}
