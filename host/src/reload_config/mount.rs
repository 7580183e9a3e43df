//! Folders that the kubelet mounts and swaps as a whole.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// The link that the kubelet turns to the new contents.
const DATA: &str = "..data";

/// The file that says of which revision a folder's contents are.
const REVISION: &str = "revision";

/// The folders that matter.
pub(super) struct Mounts(Vec<PathBuf>);

/// What stood in them at one time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Seen {
    marks: Vec<Mark>,
    /// By the folder's name; those without a revision are left out.
    pub(super) revisions: BTreeMap<String, String>,
}

/// What changes when a folder's contents do.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Mark {
    Link(PathBuf),
    /// Not mounted by a kubelet: the newest time of its files.
    Time(Option<SystemTime>),
}

impl Mounts {
    pub(super) fn new(folders: Vec<PathBuf>) -> Self {
        Self(folders)
    }

    /// What stands in the folders now. A folder that cannot be read counts as empty, and is looked at again.
    pub(super) fn look(&self) -> Seen {
        let mut seen = Seen::default();
        for folder in &self.0 {
            seen.marks.push(mark(folder));
            let revision = std::fs::read_to_string(current(folder).join(REVISION));
            if let (Ok(revision), Some(name)) = (revision, folder.file_name()) {
                let name = name.to_string_lossy().into_owned();
                seen.revisions.insert(name, revision.trim().to_owned());
            }
        }
        seen
    }
}

/// Where the contents of a folder stand, as long as they are not swapped.
pub(super) fn current(folder: &Path) -> PathBuf {
    match std::fs::read_link(folder.join(DATA)) {
        Ok(target) => folder.join(target),
        Err(_) => folder.to_owned(),
    }
}

fn mark(folder: &Path) -> Mark {
    match std::fs::read_link(folder.join(DATA)) {
        Ok(target) => Mark::Link(target),
        Err(_) => Mark::Time(newest(folder)),
    }
}

fn newest(folder: &Path) -> Option<SystemTime> {
    let files = std::fs::read_dir(folder).ok()?;
    let times = files.filter_map(|file| file.ok()?.metadata().ok()?.modified().ok());
    times.max()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    /// As the kubelet does it: contents in a folder of their own, a link to it that is replaced by renaming.
    fn mounted(folder: &Path, version: &str, revision: &str) {
        let contents = folder.join(format!("..{version}"));
        std::fs::create_dir(&contents).unwrap();
        std::fs::write(contents.join(REVISION), revision).unwrap();
        symlink(format!("..{version}"), folder.join("..tmp")).unwrap();
        std::fs::rename(folder.join("..tmp"), folder.join(DATA)).unwrap();
    }

    #[test]
    fn a_swapped_folder_is_seen_with_its_revision() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("config");
        std::fs::create_dir(&folder).unwrap();
        let mounts = Mounts::new(vec![folder.clone()]);
        let before = mounts.look();
        mounted(&folder, "1", "first\n");
        let first = mounts.look();
        assert_ne!(before, first);
        assert_eq!(first.revisions["config"], "first");
        assert_eq!(mounts.look(), first);
        mounted(&folder, "2", "second");
        assert_eq!(mounts.look().revisions["config"], "second");
    }
}
