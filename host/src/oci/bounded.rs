//! Folders of files that can be had again: kept within a size by deleting those that were not used for longest.

use std::io;
use std::path::Path;
use std::time::SystemTime;

/// Deletes files of `folder`, the longest unused first, until all together hold at most `limit` bytes. Files that
/// `needed` names stay. A file that vanishes meanwhile is nobody's fault.
///
/// # Errors
/// When the folder cannot be read.
pub(crate) fn evict(folder: &Path, limit: u64, needed: impl Fn(&str) -> bool) -> io::Result<()> {
    let mut files = Vec::new();
    let mut total = 0;
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let Ok(metadata) = entry.metadata() else {
            continue;
        };
        if !metadata.is_file() {
            continue;
        }
        total += metadata.len();
        if !entry.file_name().to_str().is_some_and(&needed) {
            let used = metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH);
            files.push((used, metadata.len(), entry.path()));
        }
    }
    files.sort();
    for (_, size, path) in files {
        if total <= limit {
            break;
        }
        match std::fs::remove_file(&path) {
            Ok(()) => total = total.saturating_sub(size),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => tracing::warn!(path = %path.display(), %error, "failed to make room"),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn the_longest_unused_go_first_and_the_needed_stay() {
        let folder = tempfile::tempdir().unwrap();
        let day = Duration::from_secs(86_400);
        for (name, age) in [("oldest", 4), ("needed", 3), ("old", 2), ("new", 1)] {
            let file = std::fs::File::create(folder.path().join(name)).unwrap();
            file.set_len(100).unwrap();
            file.set_modified(SystemTime::now() - day * age).unwrap();
        }
        evict(folder.path(), 250, |name| name == "needed").unwrap();
        let mut left: Vec<_> = std::fs::read_dir(folder.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        left.sort();
        assert_eq!(left, ["needed", "new"]);
    }
}
