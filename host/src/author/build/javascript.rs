//! A project in JavaScript: componentize-js, by the project's own build.mjs.

use std::path::Path;

use anyhow::Context;

use super::tool::Tool;

pub(super) fn build(project: &Path, output: &Path) -> anyhow::Result<()> {
    if !project
        .join("node_modules/@bytecodealliance/componentize-js")
        .is_dir()
    {
        eprintln!("making node_modules with what package.json names");
        let npm = Tool {
            program: Path::new("npm"),
            install: "install Node.js 20 or newer from https://nodejs.org",
            environment: &[],
        };
        npm.run(project, &["install", "--silent", "--no-fund", "--no-audit"])?;
    }
    let node = Tool {
        program: Path::new("node"),
        install: "install Node.js 20 or newer from https://nodejs.org",
        environment: &[],
    };
    let output = output.to_str().context("the output's path is no text")?;
    node.run(project, &["build.mjs", output])
}
