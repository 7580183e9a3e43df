//! What is written beside the files of a backup, and makes it one.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

/// The name of the object that says that a backup was begun.
pub(super) const BEGUN: &str = "begun.json";
/// The name of the object that says that a backup is complete.
pub(super) const COMPLETE: &str = "backup.json";
/// The folder of the files.
pub(super) const DATA: &str = "data";

/// `begun.json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Begun {
    /// When.
    pub(super) begun: Timestamp,
}

/// `backup.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Manifest {
    /// The backup's name.
    pub(super) name: String,
    /// When it was begun.
    pub(super) begun: Timestamp,
    /// When all of it was written and read back.
    pub(super) finished: Timestamp,
    /// The size of all files.
    pub(super) bytes: u64,
    /// Of the text that [`sums`] makes of the files.
    pub(super) sha256: String,
    /// By path.
    pub(super) files: Vec<File>,
    /// What whoever made the files wants to be remembered.
    pub(super) facts: Map<String, Value>,
}

/// One file of a backup.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct File {
    /// Below `data/`, with `/` between its pieces.
    pub(super) path: String,
    /// Its size.
    pub(super) bytes: u64,
    /// In hexadecimal.
    pub(super) sha256: String,
}

/// The digest of all files: that of what `sha256sum` prints for them.
pub(super) fn digest(files: &[File]) -> String {
    hex::encode(Sha256::digest(sums(files)))
}

fn sums(files: &[File]) -> String {
    let line = |file: &File| format!("{}  {}\n", file.sha256, file.path);
    files.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_digest_is_that_of_what_sha256sum_prints() {
        let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        let file = |path: &str| File {
            path: path.into(),
            bytes: 0,
            sha256: empty.into(),
        };
        let files = [file("a"), file("b/c")];
        assert_eq!(sums(&files), format!("{empty}  a\n{empty}  b/c\n"));
        assert_eq!(digest(&[]), empty);
    }
}
