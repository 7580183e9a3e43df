//! The workspace's test programs: built once, for all layers, and run from here.
//!
//! Cargo would choose other features for `--package` than for `--workspace` and build the
//! dependencies twice; so one command builds everything and the layers run the programs.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde::Deserialize;

use super::tally::Tally;
use crate::command;
use crate::stage::Log;

/// How cargo's id of the package whose scenarios need a cluster ends, but for the version.
const ON_A_CLUSTER: &str = "/e2e#windlass-e2e@";

/// One program full of tests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TestBinary {
    program: PathBuf,
    folder: PathBuf,
    /// Whether its tests need a cluster.
    pub(crate) on_cluster: bool,
}

/// Builds all programs of the workspace, the tests among them.
pub(crate) fn build(checkout: &Path, log: &Log) -> Result<Vec<TestBinary>> {
    let mut cargo = Command::new("cargo");
    cargo
        .current_dir(checkout)
        .args(["build", "--release", "--locked", "--workspace"]);
    cargo.args([
        "--bins",
        "--tests",
        "--message-format",
        "json-render-diagnostics",
    ]);
    let built = log.capture(&mut cargo)?;
    if !built.succeeded {
        bail!("`{}` failed", command::shown(&cargo));
    }
    test_binaries(&built.text)
}

/// A line of cargo's that says what was built.
#[derive(Deserialize)]
struct Artifact {
    package_id: String,
    manifest_path: PathBuf,
    target: Target,
    profile: Profile,
    executable: Option<PathBuf>,
}

#[derive(Deserialize)]
struct Target {
    kind: Vec<String>,
}

#[derive(Deserialize)]
struct Profile {
    test: bool,
}

fn test_binaries(messages: &str) -> Result<Vec<TestBinary>> {
    let lines = messages
        .lines()
        .filter(|line| line.contains(r#""reason":"compiler-artifact""#));
    lines
        .filter_map(|line| test_binary(line).transpose())
        .collect()
}

fn test_binary(line: &str) -> Result<Option<TestBinary>> {
    let artifact: Artifact =
        serde_json::from_str(line).context("failed to read what cargo says it built")?;
    let Some(program) = artifact.executable.filter(|_| artifact.profile.test) else {
        return Ok(None);
    };
    let folder = artifact
        .manifest_path
        .parent()
        .context("a manifest lies in a folder")?
        .to_owned();
    // The files in that package's tests folder are scenarios; its unit tests need no cluster.
    let in_tests_folder = artifact.target.kind.iter().any(|kind| kind == "test");
    let on_cluster = in_tests_folder && artifact.package_id.contains(ON_A_CLUSTER);
    Ok(Some(TestBinary {
        program,
        folder,
        on_cluster,
    }))
}

impl TestBinary {
    /// Whether it holds a test whose name contains `part`.
    pub(crate) fn has_test(&self, part: &str) -> Result<bool> {
        let listed = command::capture(self.command().args(["--list", "--format", "terse", part]))?;
        Ok(listed.lines().any(|line| line.ends_with(": test")))
    }

    /// Runs its tests with these arguments and counts them.
    pub(crate) fn run(
        &self,
        arguments: &[&str],
        environment: &[(&str, &Path)],
        log: &Log,
    ) -> Result<Tally> {
        let mut command = self.command();
        command.args(arguments).envs(environment.iter().copied());
        let output = log.capture(&mut command)?;
        log.note(&output.text)?;
        Ok(Tally::from_rust(&output.text).or_failed(output.succeeded))
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command
            .current_dir(&self.folder)
            .env("CARGO_MANIFEST_DIR", &self.folder);
        command
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn built(package: &str, kind: &str, test: bool) -> Vec<TestBinary> {
        let message = serde_json::json!({
            "reason": "compiler-artifact",
            "package_id": format!("path+file:///checkout/tests/{package}@0.1.0"),
            "manifest_path": "/checkout/tests/some/Cargo.toml",
            "target": {"kind": [kind]},
            "profile": {"test": test},
            "executable": "/target/program",
        });
        test_binaries(&message.to_string()).unwrap()
    }

    #[test]
    fn only_scenarios_of_the_end_to_end_crate_need_a_cluster() {
        assert!(built("e2e#windlass-e2e", "test", true)[0].on_cluster);
        assert!(!built("e2e#windlass-e2e", "lib", true)[0].on_cluster);
        assert!(!built("host#windlass", "test", true)[0].on_cluster);
        assert!(built("host#windlass", "bin", false).is_empty());
    }

    #[test]
    fn a_test_program_that_dies_is_a_failure() {
        let folder = tempfile::tempdir().unwrap();
        let log = Log::create(folder.path(), "log").unwrap();
        let binary = TestBinary {
            program: "false".into(),
            folder: folder.path().to_owned(),
            on_cluster: false,
        };
        assert_eq!(binary.run(&[], &[], &log).unwrap(), Tally::FAILED);
    }
}
