//! `windlass plugin new`: a project that builds, is tested and runs as it is.

mod names;
mod vendor;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

use crate::author::args::{Language, NewArgs};
use crate::author::kit::Kit;
use names::Names;

/// Makes the project and returns its folder.
///
/// # Errors
/// When a name cannot be, the folder holds something, or it cannot be written: then nothing is left behind.
pub fn create(arguments: &NewArgs, kit: &Kit) -> anyhow::Result<PathBuf> {
    let names = Names::of(arguments)?;
    let folder = match &arguments.path {
        Some(path) => path.clone(),
        None => PathBuf::from(&names.plugin),
    };
    refuse_content(&folder)?;
    let files = files(arguments.language, &names, kit)?;
    write(&folder, &files)
        .with_context(|| format!("failed to make the project in {}", folder.display()))?;
    Ok(folder)
}

/// A file of the project: its path, and what it holds.
type File = (String, Vec<u8>);

fn files(language: Language, names: &Names, kit: &Kit) -> anyhow::Result<Vec<File>> {
    let template = |name: &str| {
        let folder = kit.templates.get_dir(name);
        folder.with_context(|| format!("this windlass carries no template {name}"))
    };
    let language_folder = match language {
        Language::Rust => "rust",
        Language::Python => "python",
        Language::Javascript => "javascript",
    };
    let mut files = Vec::new();
    for folder in [template("shared")?, template(language_folder)?] {
        for (path, content) in Kit::files(folder) {
            files.push((path, filled(content, names)?));
        }
    }
    let wit = Kit::files(kit.wit).into_iter();
    files.extend(wit.map(|(path, content)| (format!("wit/{path}"), content.to_vec())));
    if language == Language::Rust {
        files.extend(sdk(kit)?);
        files.push(("Cargo.lock".into(), vendor::lock(kit.lock).into_bytes()));
    }
    Ok(files)
}

fn filled(content: &[u8], names: &Names) -> anyhow::Result<Vec<u8>> {
    let text = std::str::from_utf8(content).context("a template is no text")?;
    Ok(names.fill(text)?.into_bytes())
}

fn sdk(kit: &Kit) -> anyhow::Result<Vec<File>> {
    let mut files = vec![("LICENSE".to_owned(), kit.licence.as_bytes().to_vec())];
    for (path, content) in Kit::files(kit.sdk) {
        let content = match path.as_str() {
            "Cargo.toml" => {
                let manifest =
                    std::str::from_utf8(content).context("the SDK's manifest is no text")?;
                vendor::manifest(manifest, kit.workspace)?.into_bytes()
            }
            // Its own tests stay at home.
            path if path.starts_with("tests/") => continue,
            _ => content.to_vec(),
        };
        files.push((path, content));
    }
    let vendored = files.into_iter();
    Ok(vendored
        .map(|(path, content)| (format!("vendor/windlass-sdk/{path}"), content))
        .collect())
}

fn refuse_content(folder: &Path) -> anyhow::Result<()> {
    match fs::read_dir(folder) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        Err(error) => {
            Err(error).with_context(|| format!("failed to look into {}", folder.display()))
        }
        Ok(mut entries) => match entries.next() {
            None => Ok(()),
            Some(_) => bail!(
                "{} is there and not empty: choose another name, or another folder with --path",
                folder.display()
            ),
        },
    }
}

/// Whole or not at all: written beside its place and put there by renaming.
fn write(folder: &Path, files: &[File]) -> anyhow::Result<()> {
    let parent = match folder.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    fs::create_dir_all(parent)?;
    let draft = tempfile::Builder::new()
        .prefix(".windlass-new-")
        .tempdir_in(parent)?;
    let project = draft.path().join("project");
    for (path, content) in files {
        let file = project.join(path);
        if let Some(folder) = file.parent() {
            fs::create_dir_all(folder)?;
        }
        fs::write(file, content)?;
    }
    // An empty folder may be there.
    match fs::remove_dir(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error.into()),
        _ => {}
    }
    fs::rename(project, folder)?;
    Ok(())
}

/// What to do next, for people.
pub fn next_steps(folder: &Path, language: Language) -> String {
    let test = match language {
        Language::Rust => "cargo test",
        Language::Python => "python3 -m unittest discover tests",
        Language::Javascript => "node --test",
    };
    format!(
        "Made {}. Next:\n\n  cd {}\n  {test}\n  windlass plugin build\n\nREADME.md there says how it goes on.\n",
        folder.display(),
        folder.display()
    )
}
