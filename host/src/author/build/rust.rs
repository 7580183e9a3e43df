//! A project in Rust: cargo, for wasm32-wasip2.

use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};
use serde_json::Value;

use super::tool::Tool;

const TARGET: &str = "wasm32-wasip2";

pub(super) fn build(project: &Path, output: &Path) -> anyhow::Result<()> {
    let rust = |program: &'static str| Tool {
        program: Path::new(program),
        install: "install Rust from https://rustup.rs, and open a new terminal",
        environment: &[],
    };
    let library = rust("rustc").ask(project, &["--print", "target-libdir", "--target", TARGET])?;
    ensure!(
        Path::new(library.trim()).is_dir(),
        "Rust has no standard library for {TARGET} here: run `rustup target add {TARGET}` in {}",
        project.display()
    );
    let arguments = [
        "build",
        "--profile",
        "guest",
        "--target",
        TARGET,
        "--message-format",
        "json-render-diagnostics",
    ];
    let messages = rust("cargo").ask(project, &arguments)?;
    let component = component(&messages, project)?;
    std::fs::copy(&component, output)
        .with_context(|| format!("failed to write {}", output.display()))?;
    Ok(())
}

/// The component among what cargo made: the one of the project itself.
fn component(messages: &str, project: &Path) -> anyhow::Result<PathBuf> {
    let manifest = project.join("Cargo.toml");
    let messages = messages
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let ours = messages.filter(|message| {
        message["reason"] == "compiler-artifact"
            && message["manifest_path"]
                .as_str()
                .is_some_and(|path| is_same(Path::new(path), &manifest))
    });
    let mut files =
        ours.flat_map(|message| message["filenames"].as_array().cloned().unwrap_or_default());
    let is_component = |file: &Value| file.as_str().is_some_and(|file| file.ends_with(".wasm"));
    let file = files.find(is_component).context(
        "cargo built no component: the library needs `crate-type = [\"rlib\", \"cdylib\"]` in Cargo.toml",
    )?;
    Ok(PathBuf::from(file.as_str().unwrap_or_default()))
}

/// The same file, also by way of links.
fn is_same(one: &Path, other: &Path) -> bool {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    real(one) == real(other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_projects_own_component_is_found_among_what_cargo_made() {
        let messages = r#"
{"reason":"compiler-artifact","manifest_path":"/p/vendor/sdk/Cargo.toml","filenames":["/t/other.wasm"]}
{"reason":"compiler-artifact","manifest_path":"/p/Cargo.toml","filenames":["/t/libsite.rlib","/t/site.wasm"]}
{"reason":"build-finished","success":true}"#;
        let found = component(messages, Path::new("/p")).unwrap();
        assert_eq!(found, Path::new("/t/site.wasm"));
        let error = component("", Path::new("/p")).unwrap_err().to_string();
        assert!(error.contains("cdylib"), "{error}");
    }
}
