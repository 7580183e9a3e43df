//! The Go programs: the cluster's one binary and the tools beside it.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;

use crate::command;
use crate::stage::Log;
use crate::workplace::Workplace;

pub(super) const ADVICE: &str =
    "look whether the disk has room and whether Go's module proxy can be reached";

pub(super) const COREDNS: &str = "./coredns";
pub(super) const FOR_TESTS: [&str; 3] = [
    "./registry",
    "github.com/versity/versitygw/cmd/versitygw",
    "helm.sh/helm/v4/cmd/helm",
];

/// The version that the cluster reports: the one that its go.mod requires.
const KUBERNETES: (&str, &str) = ("1", "34");
const KUBERNETES_PATCH: &str = "4";

/// What every Go command is run with. Building, vetting and testing must agree on it, or Go
/// compiles all of Kubernetes once for each.
pub(crate) fn build_environment(command: &mut Command) -> &mut Command {
    command
        .env("CGO_ENABLED", "0")
        .env("GOFLAGS", "-buildvcs=false -trimpath")
}

/// Builds the cluster's binary into the cache; Go itself knows what has changed.
pub(super) fn build_cluster(workplace: &Workplace, log: &Log) -> Result<()> {
    let mut build = build_in(&workplace.checkout().join("tests/cluster"));
    build
        .args(["-ldflags", &version_flags(), "-o"])
        .arg(workplace.program("windlass-cluster"))
        .arg(".");
    log.run(&mut build)
}

/// Builds the maker of images into the cache.
pub(super) fn build_image_maker(workplace: &Workplace, log: &Log) -> Result<()> {
    let mut build = build_in(&workplace.checkout().join("tests/cluster"));
    build
        .arg("-o")
        .arg(workplace.program("windlass-image"))
        .arg("./cmd/image");
    log.run(&mut build)
}

/// Builds upstream's generator for Prometheus into the cache.
pub(super) fn build_oracle(workplace: &Workplace, log: &Log) -> Result<()> {
    let mut build = build_in(&workplace.checkout().join("tests/oracle"));
    build
        .args(["-ldflags", "-s -w", "-o"])
        .arg(workplace.program("windlass-oracle"))
        .arg(".");
    log.run(&mut build)
}

/// prometheus-operator's program in the cache.
pub(crate) const UPSTREAM_PROGRAM: &str = "prometheus-operator";
const UPSTREAM: &str = "github.com/prometheus-operator/prometheus-operator";

/// Builds prometheus-operator into the cache, of the version that the oracle is pinned to.
pub(super) fn build_upstream(workplace: &Workplace, log: &Log) -> Result<()> {
    let mut build = build_in(&workplace.checkout().join("tests/oracle"));
    build
        .args(["-ldflags", "-s -w", "-o"])
        .arg(workplace.program(UPSTREAM_PROGRAM))
        .arg(format!("{UPSTREAM}/cmd/operator"));
    log.run(&mut build)
}

/// The folder with prometheus-operator's CRDs, of the same version.
pub(crate) fn upstream_crds(workplace: &Workplace) -> Result<PathBuf> {
    let mut list = Command::new("go");
    build_environment(&mut list)
        .current_dir(workplace.checkout().join("tests/oracle"))
        .args(["list", "-m", "-f", "{{.Dir}}", UPSTREAM]);
    let module = command::capture(&mut list)?;
    Ok(PathBuf::from(module.trim()).join("example/prometheus-operator-crd"))
}

/// Builds the tools with these import paths into the cache, under their own names.
pub(super) fn build_tools(workplace: &Workplace, imports: &[&str], log: &Log) -> Result<()> {
    let mut build = build_in(&workplace.checkout().join("tests/tools"));
    // The slash says that this is a folder, also before it exists.
    build
        .args(["-ldflags", "-s -w", "-o"])
        .arg(workplace.program(""))
        .args(imports);
    log.run(&mut build)
}

fn build_in(module: &Path) -> Command {
    let mut command = Command::new("go");
    build_environment(&mut command)
        .current_dir(module)
        .arg("build");
    command
}

fn version_flags() -> String {
    let (major, minor) = KUBERNETES;
    let package = "k8s.io/component-base/version";
    format!(
        "-s -w -X {package}.gitVersion=v{major}.{minor}.{KUBERNETES_PATCH} \
         -X {package}.gitMajor={major} -X {package}.gitMinor={minor}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A cluster that reports another version than it runs would make every claim about it false.
    #[test]
    fn the_reported_version_is_the_one_that_is_built() {
        let (major, minor) = KUBERNETES;
        let required = format!("k8s.io/kubernetes v{major}.{minor}.{KUBERNETES_PATCH}\n");
        assert!(
            include_str!("../../../cluster/go.mod").contains(&required),
            "{required}"
        );
    }
}
