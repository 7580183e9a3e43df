//! Where the programs are that `cargo xtask` built: the cluster, Helm, the registry, the S3 server.

use std::path::PathBuf;

use anyhow::{Context, Result, ensure};

/// The path of a program that `cargo xtask` keeps in its cache (`$WINDLASS_E2E_CACHE/bin`, by default
/// `~/.cache/windlass/bin`).
///
/// # Errors
/// When the program was not built yet.
pub fn path(name: &str) -> Result<PathBuf> {
    let path = cache()?.join("bin").join(name);
    ensure!(
        path.is_file(),
        "{} does not exist: run `cargo xtask test`, which builds it",
        path.display()
    );
    Ok(path)
}

fn cache() -> Result<PathBuf> {
    if let Some(cache) = std::env::var_os("WINDLASS_E2E_CACHE") {
        return Ok(cache.into());
    }
    let home = std::env::home_dir().context("neither WINDLASS_E2E_CACHE nor HOME is set")?;
    Ok(home.join(".cache/windlass"))
}

/// The host's program as cargo built it, beside the running test.
///
/// # Errors
/// When it was not built.
pub fn windlass() -> Result<PathBuf> {
    let test = std::env::current_exe().context("failed to find the test's own file")?;
    let folder = test.ancestors().nth(2);
    let path = folder
        .context("the test lies in no target folder")?
        .join("windlass");
    ensure!(
        path.is_file(),
        "{} does not exist: run `cargo build --release --workspace --bins`",
        path.display()
    );
    Ok(path)
}
