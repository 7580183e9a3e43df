//! The one unsafe place of the host: taking machine code from the cache.

use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use nix::unistd::geteuid;
use wasmtime::Engine;
use wasmtime::component::Component;

/// A directory that only this host's user, or root, can write to, which was checked when this value was made.
#[derive(Clone, Debug)]
pub(super) struct PrivateDirectory(PathBuf);

impl PrivateDirectory {
    /// Makes the directory if it is not there (mode 0700), or checks the one that is.
    ///
    /// # Errors
    /// When it cannot be made, is a symbolic link, belongs to another user, or others may write to it.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        match fs::DirBuilder::new().mode(0o700).create(path) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
        let metadata = fs::symlink_metadata(path)?;
        if !metadata.is_dir() {
            return Err(io::Error::other("it is not a directory"));
        }
        if metadata.uid() != geteuid().as_raw() {
            return Err(io::Error::other("it belongs to another user"));
        }
        if metadata.mode() & 0o022 != 0 {
            return Err(io::Error::other(
                "others may write to it: give it mode 0700",
            ));
        }
        Ok(Self(path.to_owned()))
    }

    /// Opens a directory that came with the host, as in its image: what is in it was compiled before.
    ///
    /// # Errors
    /// When it is not there, belongs neither to root nor to this user, or others may write to it.
    pub(super) fn shipped(path: &Path) -> io::Result<Self> {
        let metadata = fs::symlink_metadata(path)?;
        let by_us = metadata.uid() == 0 || metadata.uid() == geteuid().as_raw();
        if !metadata.is_dir() || !by_us || metadata.mode() & 0o022 != 0 {
            return Err(io::Error::other(
                "it is not a directory that root alone may write to",
            ));
        }
        Ok(Self(path.to_owned()))
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }

    /// Loads the compiled component of that name.
    ///
    /// # Errors
    /// When there is none, or it was made by another engine.
    #[allow(unsafe_code)]
    pub(super) fn load(&self, engine: &Engine, name: &str) -> wasmtime::Result<Component> {
        let file = self.0.join(name);
        // SAFETY: the engine runs the file's machine code as it stands, so nobody else may have written it.
        // `self` proves that the directory was this user's or root's alone when it was opened, and the mode keeps
        // others out since. What came with the host is trusted as the host's own binary is. The host puts files into it only by renaming what its own child process made with
        // `Engine::precompile_component`, complete, and never writes to one again, so the mapping is stable.
        // A file of another wasmtime or other settings is refused by the header that wasmtime checks.
        unsafe { Component::deserialize_file(engine, file) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_directory_is_made_for_this_user_alone() {
        let parent = tempfile::tempdir().unwrap();
        let path = parent.path().join("cache");
        PrivateDirectory::open(&path).unwrap();
        assert_eq!(
            fs::metadata(&path).unwrap().permissions().mode() & 0o777,
            0o700
        );
        PrivateDirectory::open(&path).unwrap();
    }

    #[test]
    fn a_directory_that_others_can_write_to_is_refused() {
        let parent = tempfile::tempdir().unwrap();
        fs::set_permissions(parent.path(), fs::Permissions::from_mode(0o777)).unwrap();
        let error = PrivateDirectory::open(parent.path()).unwrap_err();
        assert!(error.to_string().contains("0700"), "{error}");
    }

    #[test]
    fn what_came_with_the_host_is_taken_only_where_nobody_else_could_write_it() {
        let parent = tempfile::tempdir().unwrap();
        PrivateDirectory::shipped(parent.path()).unwrap();
        fs::set_permissions(parent.path(), fs::Permissions::from_mode(0o775)).unwrap();
        assert!(PrivateDirectory::shipped(parent.path()).is_err());
        assert!(PrivateDirectory::shipped(&parent.path().join("none")).is_err());
    }

    #[test]
    fn a_link_is_refused() {
        let parent = tempfile::tempdir().unwrap();
        let link = parent.path().join("link");
        std::os::unix::fs::symlink(parent.path(), &link).unwrap();
        assert!(PrivateDirectory::open(&link).is_err());
    }
}
