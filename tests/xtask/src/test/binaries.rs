//! The workspace's test programs: built once, for all layers, and run from here.
//!
//! Cargo would choose other features for `--package` than for all of them and build the
//! dependencies twice; so one command builds everything and the layers run the programs.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use super::tally::Tally;
use crate::artifact::{self, Artifact, Target};
use crate::command;
use crate::stage::Log;

/// What a program's tests run on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ground {
    /// Nothing but the checkout.
    Checkout,
    /// An API server without nodes.
    ControlPlane,
    /// A cluster that runs Pods.
    Cluster,
}

/// The package whose scenarios run on a cluster, as cargo's ids have it.
const SCENARIOS: &str = "/e2e#windlass-e2e@";

/// The package, and its test programs, that run on a control plane.
const ON_A_CONTROL_PLANE: (&str, [&str; 3]) =
    ("/host#windlass@", ["control_plane", "install", "rounds"]);

/// One program full of tests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TestBinary {
    program: PathBuf,
    folder: PathBuf,
    pub(super) ground: Ground,
}

/// Builds all programs of the workspace, the tests among them.
pub(super) fn build(checkout: &Path, log: &Log) -> Result<Vec<TestBinary>> {
    let mut cargo = command::cargo(checkout);
    cargo.args(["build", "--release", "--locked"]);
    cargo.args(["--workspace", "--bins", "--tests"]);
    test_binaries(artifact::build(&mut cargo, log)?)
}

/// The test programs among what cargo built.
pub(crate) fn test_binaries(built: Vec<Artifact>) -> Result<Vec<TestBinary>> {
    built
        .into_iter()
        .filter_map(|artifact| test_binary(artifact).transpose())
        .collect()
}

fn test_binary(artifact: Artifact) -> Result<Option<TestBinary>> {
    let Some(program) = artifact.executable.filter(|_| artifact.profile.test) else {
        return Ok(None);
    };
    let folder = artifact
        .manifest_path
        .parent()
        .context("a manifest lies in a folder")?
        .to_owned();
    let ground = ground(&artifact.package_id, &artifact.target);
    Ok(Some(TestBinary {
        program,
        folder,
        ground,
    }))
}

/// Unit tests, which lie beside the code, need nothing; so do most in `tests` folders.
fn ground(package: &str, target: &Target) -> Ground {
    let (host, on_control_plane) = ON_A_CONTROL_PLANE;
    let in_tests_folder = target.kind.iter().any(|kind| kind == "test");
    match in_tests_folder {
        true if package.contains(SCENARIOS) => Ground::Cluster,
        true if package.contains(host) && on_control_plane.contains(&target.name.as_str()) => {
            Ground::ControlPlane
        }
        _ => Ground::Checkout,
    }
}

/// Those that run on this.
pub(super) fn on(built: &[TestBinary], ground: Ground) -> impl Iterator<Item = &TestBinary> {
    built.iter().filter(move |binary| binary.ground == ground)
}

impl TestBinary {
    /// Whether it holds a test whose name contains `part`.
    pub(super) fn has_test(&self, part: &str) -> Result<bool> {
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
        let (tally, _) = self.run_for_output(arguments, environment, log)?;
        Ok(tally)
    }

    /// The same, with what it printed.
    pub(super) fn run_for_output(
        &self,
        arguments: &[&str],
        environment: &[(&str, &Path)],
        log: &Log,
    ) -> Result<(Tally, String)> {
        let mut command = self.command();
        command.args(arguments).envs(environment.iter().copied());
        let output = log.capture(&mut command)?;
        log.note(&output.text)?;
        let tally = Tally::from_program(&output.text).or_failed(output.succeeded);
        Ok((tally, output.text))
    }

    /// Whether it holds tests of the package in this folder.
    pub(crate) fn is_of(&self, package: &Path) -> bool {
        self.folder == package
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
    use crate::artifact::artifacts;

    fn built(package: &str, kind: &str, name: &str, test: bool) -> Option<Ground> {
        let message = serde_json::json!({
            "reason": "compiler-artifact",
            "package_id": format!("path+file:///checkout/{package}@0.1.0"),
            "manifest_path": "/checkout/some/Cargo.toml",
            "target": {"kind": [kind], "name": name},
            "profile": {"test": test},
            "executable": "/target/program",
        });
        let binaries = test_binaries(artifacts(&message.to_string()).unwrap()).unwrap();
        binaries.first().map(|binary| binary.ground)
    }

    #[test]
    fn programs_are_told_apart_by_what_they_run_on() {
        let e2e = |kind, name| built("tests/e2e#windlass-e2e", kind, name, true);
        let host = |kind, name| built("host#windlass", kind, name, true);
        assert_eq!(e2e("test", "faults"), Some(Ground::Cluster));
        assert_eq!(e2e("lib", "windlass_e2e"), Some(Ground::Checkout));
        assert_eq!(host("test", "rounds"), Some(Ground::ControlPlane));
        assert_eq!(host("test", "plugin"), Some(Ground::Checkout));
        assert_eq!(host("lib", "rounds"), Some(Ground::Checkout));
    }

    #[test]
    fn a_program_without_tests_is_none_of_them() {
        assert_eq!(built("host#windlass", "bin", "windlass", false), None);
    }

    #[test]
    fn a_test_program_that_dies_is_a_failure() {
        let folder = tempfile::tempdir().unwrap();
        let log = Log::create(folder.path(), "log").unwrap();
        let binary = TestBinary {
            program: "false".into(),
            folder: folder.path().to_owned(),
            ground: Ground::Checkout,
        };
        assert_eq!(binary.run(&[], &[], &log).unwrap(), Tally::FAILED);
    }
}
