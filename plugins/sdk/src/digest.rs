//! Short names of contents.

use sha2::{Digest, Sha256};

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

#[cfg(test)]
mod tests {
    use super::digest;

    #[test]
    fn it_is_the_beginning_of_the_sha_256() {
        // `printf abc | sha256sum`
        assert_eq!(digest("abc"), "ba7816bf8f01cfea");
    }
}
