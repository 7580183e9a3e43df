//! Room on the disk, asked for before hours of building end in "no space left".

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};
use nix::sys::statvfs::statvfs;

const GIB: u64 = 1 << 30;

/// Refuses to begin when the file system of `folder` has less than `gib` GiB left.
pub(crate) fn require_room(folder: &Path, gib: u64) -> Result<()> {
    fs::create_dir_all(folder).with_context(|| format!("failed to make {}", folder.display()))?;
    let left = statvfs(folder)
        .with_context(|| format!("failed to ask how full {} is", folder.display()))?;
    let left = left.blocks_available() * left.fragment_size() / GIB;
    if left < gib {
        bail!(
            "no room on the disk: {} has {left} GiB left and {gib} GiB are needed; free some, or \
             point XDG_CACHE_HOME to a larger disk",
            folder.display()
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disk_that_is_too_small_is_refused_with_a_way_on() {
        let folder = tempfile::tempdir().unwrap();
        let error = require_room(folder.path(), 1 << 30)
            .unwrap_err()
            .to_string();
        assert!(error.contains("XDG_CACHE_HOME"), "{error}");
        require_room(folder.path(), 0).unwrap();
    }
}
