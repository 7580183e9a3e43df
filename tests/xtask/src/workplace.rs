//! The two folders that everything works in: the checkout and the cache.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::command;

/// The checkout that is worked on and the cache that outlives it.
#[derive(Debug)]
pub(crate) struct Workplace {
    checkout: PathBuf,
    cache: PathBuf,
}

impl Workplace {
    /// Finds both: the checkout from cargo, the cache from `XDG_CACHE_HOME` or `HOME`.
    pub(crate) fn find() -> Result<Self> {
        let manifest = env::var_os("CARGO_MANIFEST_DIR")
            .map(PathBuf::from)
            .context("failed to find the checkout: start this as `cargo xtask`")?;
        let checkout = manifest
            .ancestors()
            .nth(2)
            .context("failed to find the checkout above tests/xtask")?;
        Ok(Self::new(checkout.to_owned(), cache_root()?))
    }

    pub(crate) fn new(checkout: PathBuf, cache: PathBuf) -> Self {
        Self { checkout, cache }
    }

    /// The root of the checkout.
    pub(crate) fn checkout(&self) -> &Path {
        &self.checkout
    }

    /// The root of the cache: the same for every checkout of this user.
    pub(crate) fn cache(&self) -> &Path {
        &self.cache
    }

    /// Where cargo puts what it builds.
    pub(crate) fn target(&self) -> PathBuf {
        env::var_os("CARGO_TARGET_DIR")
            .filter(|path| !path.is_empty())
            .map_or_else(
                || self.checkout.join("target"),
                |path| self.checkout.join(path),
            )
    }

    /// A program that was built or installed into the cache.
    pub(crate) fn program(&self, name: &str) -> PathBuf {
        self.cache.join("bin").join(name)
    }

    /// Copies the checkout to this folder.
    ///
    /// A file that is there already and does not differ stays as old as it is, so that nothing is built anew for it.
    pub(crate) fn copy_checkout(&self, to: &Path) -> Result<()> {
        for path in project_paths(&self.checkout)? {
            put(&to.join(&path), &fs::read(self.checkout.join(&path))?)?;
        }
        Ok(())
    }

    /// Where the stages of `verb` leave their logs, emptied for a new run.
    pub(crate) fn fresh_logs(&self, verb: &str) -> Result<PathBuf> {
        let logs = self.cache.join("logs").join(verb);
        if logs.exists() {
            fs::remove_dir_all(&logs)
                .with_context(|| format!("failed to empty {}", logs.display()))?;
        }
        fs::create_dir_all(&logs).with_context(|| format!("failed to make {}", logs.display()))?;
        Ok(logs)
    }
}

/// Every file of a checkout that Git tracks or would track, by its path in it.
pub(crate) fn project_paths(checkout: &Path) -> Result<Vec<String>> {
    let mut git = Command::new("git");
    git.current_dir(checkout);
    git.args([
        "ls-files",
        "-z",
        "--cached",
        "--others",
        "--exclude-standard",
    ]);
    let listed = command::capture(&mut git)?;
    let paths = listed.split('\0').filter(|path| !path.is_empty());
    let there = paths.filter(|path| checkout.join(path).is_file());
    Ok(there.map(str::to_owned).collect())
}

/// Writes a file where it differs.
pub(crate) fn put(path: &Path, content: &[u8]) -> Result<()> {
    if fs::read(path).is_ok_and(|there| there == content) {
        return Ok(());
    }
    let folder = path.parent().context("a file lies in a folder")?;
    let failure = || format!("failed to write {}", path.display());
    fs::create_dir_all(folder).with_context(failure)?;
    fs::write(path, content).with_context(failure)
}

fn cache_root() -> Result<PathBuf> {
    let base = match env::var_os("XDG_CACHE_HOME").filter(|path| !path.is_empty()) {
        Some(path) => PathBuf::from(path),
        None => env::home_dir()
            .context("failed to find a place for caches: neither XDG_CACHE_HOME nor HOME is set")?
            .join(".cache"),
    };
    Ok(base.join("windlass"))
}

/// Whether this is an automatic run that decides what lands.
pub(crate) fn in_ci() -> bool {
    env::var_os("CI").is_some_and(|value| value == "true")
}
