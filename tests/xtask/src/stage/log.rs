//! The log file of one stage.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::command;

/// How much of the end of a log is read for its last lines.
const TAIL_BYTES: u64 = 128 * 1024;

/// Where a stage's commands write.
#[derive(Debug)]
pub(crate) struct Log {
    path: PathBuf,
    file: File,
}

impl Log {
    /// Makes the log of the stage `name` in the folder `logs`.
    pub(crate) fn create(logs: &Path, name: &str) -> Result<Self> {
        let path = logs.join(format!("{}.log", name.replace([' ', ':'], "-")));
        let file = File::options()
            .create(true)
            .append(true)
            .open(&path)
            .with_context(|| format!("failed to write {}", path.display()))?;
        Ok(Self { path, file })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Adds a line.
    pub(crate) fn note(&self, line: &str) -> Result<()> {
        writeln!(&self.file, "{line}")
            .with_context(|| format!("failed to write {}", self.path.display()))
    }

    /// Runs a command with its output in this log.
    ///
    /// The output goes to the file itself, not through a pipe: a command may leave processes
    /// behind that keep it open.
    ///
    /// # Errors
    /// When the program is missing or fails.
    pub(crate) fn run(&self, command: &mut Command) -> Result<()> {
        self.note(&format!("$ {}", command::shown(command)))?;
        let status = command
            .stdin(Stdio::null())
            .stdout(self.share()?)
            .stderr(self.share()?)
            .status()
            .map_err(|error| command::start_error(command, &error))?;
        if !status.success() {
            bail!("`{}` ended with {status}", command::shown(command));
        }
        Ok(())
    }

    /// Runs a command with its complaints in this log, and returns what it printed.
    ///
    /// # Errors
    /// Only when the program is missing: whether it succeeded is for the caller to judge.
    pub(crate) fn capture(&self, command: &mut Command) -> Result<Captured> {
        self.note(&format!("$ {}", command::shown(command)))?;
        let output = command
            .stdin(Stdio::null())
            .stderr(self.share()?)
            .output()
            .map_err(|error| command::start_error(command, &error))?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        Ok(Captured {
            succeeded: output.status.success(),
            text,
        })
    }

    fn share(&self) -> Result<File> {
        self.file
            .try_clone()
            .with_context(|| format!("failed to share {}", self.path.display()))
    }
}

/// What a command printed, and whether it succeeded.
#[derive(Debug)]
pub(crate) struct Captured {
    pub(crate) succeeded: bool,
    pub(crate) text: String,
}

/// The last lines of a log that hold anything; none when it cannot be read.
pub(crate) fn last_lines(path: &Path, count: usize) -> Vec<String> {
    let text = tail(path).unwrap_or_default();
    let lines: Vec<_> = text
        .lines()
        .map(str::trim_end)
        .filter(|line| !line.is_empty())
        .collect();
    let from = lines.len().saturating_sub(count);
    lines[from..]
        .iter()
        .map(|line| (*line).to_owned())
        .collect()
}

fn tail(path: &Path) -> std::io::Result<String> {
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(TAIL_BYTES)))?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_log_holds_the_command_and_its_output() {
        let folder = tempfile::tempdir().unwrap();
        let log = Log::create(folder.path(), "two words").unwrap();
        let mut command = Command::new("sh");
        command.args(["-c", "echo out; echo err >&2; exit 4"]);
        let error = log.run(&mut command).unwrap_err();
        assert!(error.to_string().contains("exit status: 4"), "{error}");
        let text = fs::read_to_string(log.path()).unwrap();
        assert!(text.starts_with("$ sh -c"), "{text}");
        assert!(text.contains("out\nerr\n"), "{text}");
    }

    #[test]
    fn the_last_lines_skip_what_is_empty() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.log");
        fs::write(&path, "one\ntwo\n\nthree\n\n").unwrap();
        assert_eq!(last_lines(&path, 2), ["two", "three"]);
        assert!(last_lines(&folder.path().join("absent"), 2).is_empty());
    }

    #[test]
    fn a_command_that_leaves_a_process_behind_is_not_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let log = Log::create(folder.path(), "leaver").unwrap();
        let mut command = Command::new("sh");
        command.args(["-c", "sleep 30 & echo $!"]);
        log.run(&mut command).unwrap();
        // It could not be ended if it had been waited for.
        let pid = last_lines(log.path(), 1)[0].clone();
        assert!(command::succeeds(Command::new("kill").arg(pid)));
    }
}
