//! A full disk: one file that takes every byte left on a file system of the container.

use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::os::fd::AsRawFd;
use std::path::PathBuf;

use anyhow::{Context, Result};
use nix::unistd::Pid;

const FILLER: &str = ".windlass-filler";

/// More than this is no test volume: the wrong file system would be filled, such as the machine's.
const LIMIT: usize = 4 << 30;

/// A full file system. Has room again when dropped.
#[must_use = "the disk has room again when this is dropped"]
pub struct FullDisk {
    /// The folder, held open: it stays reachable when the container restarts.
    folder: File,
    relieved: bool,
}

impl FullDisk {
    /// Writes from outside, so that the bytes are not counted as the container's memory.
    pub(crate) async fn begin(pid: Pid, folder: &str) -> Result<Self> {
        let path = PathBuf::from(format!(
            "/proc/{pid}/root/{}",
            folder.trim_start_matches('/')
        ));
        let folder = File::open(&path)
            .with_context(|| format!("failed to open folder {folder} of process {pid}"))?;
        let disk = Self {
            folder,
            relieved: false,
        };
        let filler = File::create(disk.filler()).context("failed to begin filling the disk")?;
        let filling = tokio::task::spawn_blocking(move || fill(filler));
        filling.await.context("filling the disk panicked")??;
        Ok(disk)
    }

    /// Makes room again.
    ///
    /// # Errors
    /// When the file that takes the room cannot be removed.
    pub fn relieve(mut self) -> Result<()> {
        self.relieved = true;
        fs::remove_file(self.filler()).context("failed to make room on the disk")
    }

    fn filler(&self) -> PathBuf {
        PathBuf::from(format!(
            "/proc/self/fd/{}/{FILLER}",
            self.folder.as_raw_fd()
        ))
    }
}

impl Drop for FullDisk {
    fn drop(&mut self) {
        if !self.relieved
            && let Err(error) = fs::remove_file(self.filler())
        {
            eprintln!("the disk stays full: {error}");
        }
    }
}

/// Writes in ever smaller pieces until not one byte fits.
fn fill(mut file: File) -> Result<()> {
    let mut written = 0;
    let mut piece = vec![0; 1 << 20];
    while !piece.is_empty() {
        match file.write(&piece) {
            Ok(bytes) => written += bytes,
            Err(error) if error.kind() == ErrorKind::StorageFull => piece.truncate(piece.len() / 2),
            Err(error) => return Err(error).context("failed to fill the disk"),
        }
        anyhow::ensure!(
            written < LIMIT,
            "the disk takes more than {LIMIT} bytes: not a volume?"
        );
    }
    Ok(())
}
