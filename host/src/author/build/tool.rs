//! Running a language's tool: what it says goes to the person at the terminal.

use std::io::ErrorKind;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, bail};

/// A program, and where a person gets it.
#[derive(Clone, Copy)]
pub(super) struct Tool<'a> {
    /// What it is called, or where it lies.
    pub(super) program: &'a Path,
    /// What to do when it is not there.
    pub(super) install: &'a str,
    /// What it finds in its environment beside what is there.
    pub(super) environment: &'a [(&'a str, &'a Path)],
}

impl Tool<'_> {
    /// Runs it in the project; it may talk.
    ///
    /// # Errors
    /// When it is not there, or fails.
    pub(super) fn run(&self, project: &Path, arguments: &[&str]) -> anyhow::Result<()> {
        let status = self.command(project, arguments).status();
        self.ended(status.map(|status| status.success()), arguments)
    }

    /// Runs it in the project and returns what it prints; what it says on standard error is for the person.
    ///
    /// # Errors
    /// When it is not there, or fails.
    pub(super) fn ask(&self, project: &Path, arguments: &[&str]) -> anyhow::Result<String> {
        let output = self
            .command(project, arguments)
            .stderr(Stdio::inherit())
            .output();
        let success = match &output {
            Ok(output) => Ok(output.status.success()),
            Err(error) => Err(std::io::Error::new(error.kind(), error.to_string())),
        };
        self.ended(success, arguments)?;
        Ok(String::from_utf8_lossy(&output?.stdout).into_owned())
    }

    fn command(&self, project: &Path, arguments: &[&str]) -> Command {
        let mut command = Command::new(self.program);
        command
            .args(arguments)
            .current_dir(project)
            .envs(self.environment.iter().copied())
            .stdin(Stdio::null());
        command
    }

    fn ended(&self, success: std::io::Result<bool>, arguments: &[&str]) -> anyhow::Result<()> {
        let program = self.program.display();
        match success {
            Ok(true) => Ok(()),
            Ok(false) => bail!("`{program} {}` failed: see above", arguments.join(" ")),
            Err(error) if error.kind() == ErrorKind::NotFound => {
                bail!("{program} is not installed: {}", self.install)
            }
            Err(error) => Err(error).with_context(|| format!("failed to run {program}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_tool_is_told_with_what_to_install() {
        let tool = Tool {
            program: Path::new("windlass-no-such-tool"),
            install: "get it from the shelf",
            environment: &[],
        };
        let error = tool
            .run(Path::new("."), &["--version"])
            .unwrap_err()
            .to_string();
        assert!(error.contains("get it from the shelf"), "{error}");
    }

    #[test]
    fn a_tool_that_fails_is_named_with_its_arguments() {
        let tool = Tool {
            program: Path::new("false"),
            install: "",
            environment: &[],
        };
        let error = tool
            .ask(Path::new("."), &["--loud"])
            .unwrap_err()
            .to_string();
        assert!(error.contains("`false --loud` failed"), "{error}");
    }
}
