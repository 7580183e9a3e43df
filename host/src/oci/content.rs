//! Content that was fetched, kept on disk by its digest: a registry that is down stops nobody who has been here before.
//!
//! Guarantees: a file is whole or not there, whenever the process ends; what is taken out has its digest, and what has
//! not is deleted and fetched again; the folder stays within its size.

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::{Digest, evict};

/// What is kept at most, beside what is in use.
const LIMIT: u64 = 128 << 20;

/// A folder of content. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Content(PathBuf);

impl Content {
    /// Opens the folder; makes it if it is not there.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn open(folder: &Path) -> io::Result<Self> {
        std::fs::create_dir_all(folder)?;
        Ok(Self(folder.to_owned()))
    }

    /// The content of that digest, if it is here.
    pub fn get(&self, digest: &Digest) -> Option<Vec<u8>> {
        let path = self.0.join(digest.hex());
        let bytes = std::fs::read(&path).ok()?;
        if Digest::of(&bytes) != *digest {
            tracing::warn!(path = %path.display(), "damaged content is fetched again");
            let _ = std::fs::remove_file(&path);
            return None;
        }
        // Its age tells how long it was not used. Not to know it exactly hurts nobody.
        let touched = std::fs::File::options().append(true).open(&path);
        let _ = touched.and_then(|file| file.set_modified(SystemTime::now()));
        Some(bytes)
    }

    /// Keeps content.
    ///
    /// # Errors
    /// When the disk does not take it.
    pub fn put(&self, bytes: &[u8]) -> io::Result<()> {
        let mut draft = tempfile::NamedTempFile::new_in(&self.0)?;
        draft.write_all(bytes)?;
        draft.as_file().sync_all()?;
        draft.persist(self.0.join(Digest::of(bytes).hex()))?;
        Ok(())
    }

    /// Makes room, keeping what is in use.
    ///
    /// # Errors
    /// When the folder cannot be read.
    pub fn make_room(&self, in_use: &BTreeSet<Digest>) -> io::Result<()> {
        evict(&self.0, LIMIT, |name| {
            in_use.iter().any(|digest| digest.hex() == name)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_is_found_again_and_damaged_content_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let content = Content::open(folder.path()).unwrap();
        let digest = Digest::of(b"abc");
        assert_eq!(content.get(&digest), None);
        content.put(b"abc").unwrap();
        assert_eq!(content.get(&digest), Some(b"abc".to_vec()));
        std::fs::write(folder.path().join(digest.hex()), b"abd").unwrap();
        assert_eq!(content.get(&digest), None);
        content.put(b"abc").unwrap();
        assert_eq!(content.get(&digest), Some(b"abc".to_vec()));
    }
}
