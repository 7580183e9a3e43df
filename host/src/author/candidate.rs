//! A component as it comes: bytes, and what to call it.

use std::fmt::Write as _;
use std::path::Path;

use anyhow::{Context, ensure};
use sha2::{Digest, Sha256};

use crate::plugin::contract::LARGEST;

/// A component that is looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// What people call it: a file, later also a reference.
    pub name: String,
    /// The component.
    pub bytes: Vec<u8>,
}

impl Candidate {
    /// Reads a component from a file.
    ///
    /// # Errors
    /// When there is no such file, or it is larger than a host takes.
    pub fn read(file: &Path) -> anyhow::Result<Self> {
        let failed = || format!("failed to read the component {}", file.display());
        let size = std::fs::metadata(file).with_context(failed)?.len();
        ensure!(
            size <= LARGEST.get() as u64,
            "{} is {}, a host takes {LARGEST} at most: strip it, and leave out what it does not need",
            file.display(),
            human(size)
        );
        Ok(Self {
            name: file.display().to_string(),
            bytes: std::fs::read(file).with_context(failed)?,
        })
    }

    /// `sha256:…`, as registries name it.
    pub fn digest(&self) -> String {
        let mut text = "sha256:".to_owned();
        for byte in Sha256::digest(&self.bytes) {
            let _ = write!(text, "{byte:02x}");
        }
        text
    }

    /// Its size for people.
    pub fn size(&self) -> String {
        human(self.bytes.len() as u64)
    }
}

/// `771 KB`, `18.5 MB`.
fn human(bytes: u64) -> String {
    match bytes {
        0..=999 => format!("{bytes} bytes"),
        1_000..=999_999 => format!("{} KB", bytes / 1_000),
        _ => format!("{}.{} MB", bytes / 1_000_000, bytes / 100_000 % 10),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_for_people() {
        for (bytes, text) in [
            (12, "12 bytes"),
            (771_123, "771 KB"),
            (18_549_999, "18.5 MB"),
        ] {
            assert_eq!(human(bytes), text);
        }
    }

    #[test]
    fn a_file_that_is_not_there_is_named() {
        let error = Candidate::read(Path::new("nowhere.wasm")).unwrap_err();
        assert!(format!("{error:#}").contains("nowhere.wasm"), "{error:#}");
    }
}
