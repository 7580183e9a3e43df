//! The benchmarks' programs, as cargo builds them.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::{Result, bail};
use serde::Deserialize;

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
    cargo.args(["--bench", "redis", "--bench", "prometheus"]);
    cargo.args(["--message-format", "json-render-diagnostics"]);
    for package in OPTIMISED {
        let opt_level = format!("profile.release.package.{package}.opt-level=3");
        cargo.args(["--config", &opt_level]);
    }
    let built = log.capture(&mut cargo)?;
    if !built.succeeded {
        bail!("`{}` failed", command::shown(&cargo));
    }
    Ok(programs(&built.text))
}

/// A line of cargo's that says what was built.
#[derive(Deserialize)]
struct Artifact {
    target: Target,
    executable: Option<PathBuf>,
}

#[derive(Deserialize)]
struct Target {
    name: String,
    kind: Vec<String>,
}

fn programs(messages: &str) -> Programs {
    let artifacts = messages
        .lines()
        .filter_map(|line| serde_json::from_str::<Artifact>(line).ok());
    artifacts
        .filter(|artifact| artifact.target.kind == ["bench"])
        .filter_map(|artifact| Some((artifact.target.name, artifact.executable?)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::programs;

    #[test]
    fn benchmarks_are_told_from_what_else_was_built() {
        let line = |kind: &str, name: &str| {
            let program = format!("/target/{name}");
            serde_json::json!({"target": {"kind": [kind], "name": name}, "executable": program})
                .to_string()
        };
        let messages = [
            line("bin", "xtask"),
            r#"{"reason":"build-finished","success":true}"#.to_owned(),
            line("bench", "redis"),
        ];
        let found = programs(&messages.join("\n"));
        assert_eq!(found, [("redis".into(), "/target/redis".into())].into());
    }
}
