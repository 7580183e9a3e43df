//! `windlass plugin build`: the component of a project, by its language's own tools.

mod javascript;
mod python;
mod rust;
mod tool;

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use serde_json::Value;

use crate::author::args::{BuildArgs, Language};

/// Builds the project's component and returns its file.
///
/// # Errors
/// When the folder holds no project, a tool is missing (with what to install), or the tool's own word is that it
/// failed.
pub fn build(arguments: &BuildArgs) -> anyhow::Result<PathBuf> {
    let project = std::path::absolute(&arguments.project)?;
    let language = language(&project)?;
    let output = match &arguments.output {
        Some(output) => std::path::absolute(output)?,
        None => project.join(format!("{}.wasm", plugin_name(&project)?)),
    };
    match language {
        Language::Rust => rust::build(&project, &output),
        Language::Python => python::build(&project, &output),
        Language::Javascript => javascript::build(&project, &output),
    }?;
    Ok(output)
}

/// Told by the file that the language's own tools look for.
fn language(project: &Path) -> anyhow::Result<Language> {
    for (file, language) in [
        ("Cargo.toml", Language::Rust),
        ("package.json", Language::Javascript),
        ("requirements.txt", Language::Python),
    ] {
        if project.join(file).is_file() {
            return Ok(language);
        }
    }
    bail!(
        "there is no project in {}: it has neither Cargo.toml, package.json nor requirements.txt; begin one with `windlass plugin new`",
        project.display()
    )
}

/// The name in the project's plugin.yaml, else the folder's.
fn plugin_name(project: &Path) -> anyhow::Result<String> {
    let file = project.join("plugin.yaml");
    if !file.is_file() {
        let name = project.file_name().and_then(|name| name.to_str());
        return name
            .map(str::to_owned)
            .context("the project's folder has no name: say --output FILE");
    }
    let read = || -> anyhow::Result<Option<String>> {
        let plugin: Value = serde_saphyr::from_str(&std::fs::read_to_string(&file)?)?;
        Ok(plugin["metadata"]["name"].as_str().map(str::to_owned))
    };
    let name = read().with_context(|| format!("failed to read {}", file.display()))?;
    name.with_context(|| format!("{} has no metadata.name", file.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_language_is_told_by_the_files_of_its_tools() {
        for (file, expected) in [
            ("Cargo.toml", Language::Rust),
            ("package.json", Language::Javascript),
            ("requirements.txt", Language::Python),
        ] {
            let folder = tempfile::tempdir().unwrap();
            std::fs::write(folder.path().join(file), "").unwrap();
            assert_eq!(language(folder.path()).unwrap(), expected);
        }
        let nothing = tempfile::tempdir().unwrap();
        let error = language(nothing.path()).unwrap_err().to_string();
        assert!(error.contains("windlass plugin new"), "{error}");
    }

    #[test]
    fn the_component_is_named_after_the_plugin() {
        let folder = tempfile::tempdir().unwrap();
        let project = folder.path().join("there");
        std::fs::create_dir(&project).unwrap();
        assert_eq!(plugin_name(&project).unwrap(), "there");
        std::fs::write(project.join("plugin.yaml"), "metadata: {name: site}\n").unwrap();
        assert_eq!(plugin_name(&project).unwrap(), "site");
        std::fs::write(project.join("plugin.yaml"), "metadata: {}\n").unwrap();
        assert!(plugin_name(&project).is_err());
    }
}
