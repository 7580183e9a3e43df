//! A project in Python: componentize-py, in an environment of the project's own.

use std::path::Path;

use anyhow::Context;

use super::tool::Tool;

/// The module that exports the operator.
const MODULE: &str = "component";

pub(super) fn build(project: &Path, output: &Path) -> anyhow::Result<()> {
    let program = project.join(".venv/bin/componentize-py");
    if !program.is_file() {
        install(project)?;
    }
    let own = project.join(".venv");
    let componentize = Tool {
        program: &program,
        install: "remove .venv and build again",
        // Else it looks for the packages of whatever Python comes first.
        environment: &[("VIRTUAL_ENV", own.as_path())],
    };
    let output = output.to_str().context("the output's path is no text")?;
    componentize.run(
        project,
        &[
            "-d",
            "wit",
            "-w",
            "plugin",
            "componentize",
            "--stub-wasi",
            MODULE,
            "-o",
            output,
        ],
    )
}

fn install(project: &Path) -> anyhow::Result<()> {
    eprintln!("making .venv with what requirements.txt names");
    let python = Tool {
        program: Path::new("python3"),
        install: "install Python 3.10 or newer with venv, such as with `apt install python3-venv`",
        environment: &[],
    };
    python.run(project, &["-m", "venv", ".venv"])?;
    let own = project.join(".venv/bin/python");
    let pip = Tool {
        program: &own,
        install: "remove .venv and build again",
        environment: &[],
    };
    pip.run(
        project,
        &[
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
            "-r",
            "requirements.txt",
        ],
    )
}
