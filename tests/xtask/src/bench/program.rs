//! The benchmarks' programs, as cargo builds them.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::Result;

use crate::artifact::{self, Artifact};
use crate::command;
use crate::stage::Log;
use crate::workplace::Workplace;

/// What is only tested natively otherwise and is optimised here as it is for a component.
const OPTIMISED: [&str; 2] = ["windlass-sdk", "windlass-redis"];

/// The programs, by name.
pub(super) type Programs = BTreeMap<String, PathBuf>;

/// Builds them, beside what other builds of the workspace have made already.
pub(super) fn build(workplace: &Workplace, log: &Log) -> Result<Programs> {
    let mut cargo = command::cargo(workplace.checkout());
    cargo.args(["build", "--release", "--locked", "--workspace"]);
    for program in ["plugins", "prometheus", "redis"] {
        cargo.args(["--bench", program]);
    }
    for package in OPTIMISED {
        let opt_level = format!("profile.release.package.{package}.opt-level=3");
        cargo.args(["--config", &opt_level]);
    }
    Ok(programs(artifact::build(&mut cargo, log)?))
}

fn programs(built: Vec<Artifact>) -> Programs {
    built
        .into_iter()
        .filter(|artifact| artifact.target.kind == ["bench"])
        .filter_map(|artifact| Some((artifact.target.name, artifact.executable?)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::programs;
    use crate::artifact::artifacts;

    #[test]
    fn benchmarks_are_told_from_what_else_was_built() {
        let line = |kind: &str, name: &str| {
            serde_json::json!({
                "reason": "compiler-artifact",
                "package_id": "path+file:///checkout/tests/bench#windlass-bench@0.1.0",
                "manifest_path": "/checkout/tests/bench/Cargo.toml",
                "target": {"kind": [kind], "name": name},
                "profile": {"test": false},
                "executable": format!("/target/{name}"),
            })
            .to_string()
        };
        let messages = [
            line("bin", "xtask"),
            r#"{"reason":"build-finished","success":true}"#.to_owned(),
            line("bench", "redis"),
        ];
        let found = programs(artifacts(&messages.join("\n")).unwrap());
        assert_eq!(found, [("redis".into(), "/target/redis".into())].into());
    }
}
