//! A copy of the checkout that is broken on purpose, and what is built from it.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, ensure};

use super::laws::{Mutation, Program};
use crate::artifact;
use crate::command;
use crate::stage::Log;
use crate::test::{TestBinary, test_binaries};
use crate::workplace::{Workplace, put};

/// The copy. It stays, so that a second run builds only what changed.
pub(super) struct Scratch {
    checkout: PathBuf,
    target: PathBuf,
    /// Where dependencies are built already.
    built: PathBuf,
}

impl Scratch {
    /// Copies the checkout.
    pub(super) fn copy(workplace: &Workplace) -> Result<Self> {
        let root = workplace.cache().join("mutations");
        let scratch = Self {
            checkout: root.join("checkout"),
            target: root.join("target"),
            built: workplace.target(),
        };
        workplace.copy_checkout(&scratch.checkout)?;
        Ok(scratch)
    }

    /// The copy with this fault, until what is returned is dropped.
    pub(super) fn broken(&self, mutation: &Mutation) -> Result<Broken> {
        let path = self.checkout.join(mutation.file);
        let whole = fs::read_to_string(&path)
            .with_context(|| format!("failed to read {}", path.display()))?;
        ensure!(
            whole.matches(mutation.from).count() == 1,
            "{} does not hold once: {}",
            mutation.file,
            mutation.from
        );
        put(&path, whole.replace(mutation.from, mutation.to).as_bytes())?;
        Ok(Broken { path, whole })
    }

    /// Builds a test program of the host.
    pub(super) fn build(&self, program: Program, log: &Log) -> Result<TestBinary> {
        let mut cargo = command::cargo(&self.checkout);
        cargo
            .args(["test", "--no-run", "--release", "--locked", "--workspace"])
            // They are made of the host and would be built with it.
            .args(["--exclude", "windlass-e2e", "--exclude", "windlass-bench"])
            .env("CARGO_TARGET_DIR", &self.target)
            .env("CARGO_BUILD_BUILD_DIR", &self.built)
            .env("CARGO_INCREMENTAL", "1");
        match program {
            Program::Unit => cargo.arg("--lib"),
            Program::OnControlPlane(name) => cargo.args(["--test", name]),
        };
        let host = self.checkout.join("host");
        test_binaries(artifact::build(&mut cargo, log)?)?
            .into_iter()
            .find(|binary| binary.is_of(&host))
            .context("cargo named no program of the host's tests")
    }
}

/// A file as it should not be; put right when this is dropped.
pub(super) struct Broken {
    path: PathBuf,
    whole: String,
}

impl Drop for Broken {
    fn drop(&mut self) {
        // The next run copies it anew.
        let _ = fs::write(&self.path, &self.whole);
    }
}
