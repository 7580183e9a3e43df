//! What authors of plugins run, and administrators before they grant: `windlass plugin`.
//!
//! - [`args`]: what they type;
//! - [`new`]: a project, out of the [`kit`] that the binary carries; [`build`]: its component, by its language's tools;
//! - [`candidate`]: a component as it comes, bytes and a name;
//! - [`check`]: everything that would fail in a host, all at once;
//! - [`inspect`]: what a plugin is and asks for, in words.
//!
//! What may not live here: anything that a host needs to run. These tools stand on the same code as a host does
//! (`plugin::trial`), so that what they say is what will happen.

pub mod args;
pub mod build;
pub mod candidate;
pub mod check;
pub mod inspect;
pub mod kit;
pub mod new;

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use serde_json::Value;

use crate::plugin::compile::Compiler;
use crate::plugin::trial::Bench;
use args::{BuildArgs, CacheArgs, CheckArgs, InspectArgs, NewArgs, TrialArgs};
use candidate::Candidate;
use check::{Finding, Report, Severity};
use kit::Kit;

/// `windlass plugin new`.
///
/// # Errors
/// When a name cannot be, or the folder is not empty.
pub fn run_new(arguments: &NewArgs, kit: &Kit) -> anyhow::Result<()> {
    let folder = new::create(arguments, kit)?;
    print!("{}", new::next_steps(&folder, arguments.language));
    Ok(())
}

/// `windlass plugin build`.
///
/// # Errors
/// When a tool is missing, or the component would fail in a host.
pub async fn run_build(arguments: &BuildArgs) -> anyhow::Result<()> {
    let output = build::build(arguments)?;
    let candidate = Candidate::read(&output)?;
    checked(&candidate, &arguments.trial).await.map(drop)
}

/// `windlass plugin check`.
///
/// # Errors
/// When the component would fail in a host, or cannot be read.
pub async fn run_check(arguments: &CheckArgs) -> anyhow::Result<()> {
    let candidate = Candidate::read(Path::new(&arguments.component))?;
    checked(&candidate, &arguments.trial).await.map(drop)
}

/// `windlass plugin inspect`.
///
/// # Errors
/// When it is no plugin of this contract, or cannot be read.
pub async fn run_inspect(arguments: &InspectArgs) -> anyhow::Result<()> {
    let candidate = Candidate::read(Path::new(&arguments.component))?;
    let trial = bench(&arguments.cache)?.put(&candidate.bytes).await?;
    let description = trial.describe().await?;
    print!("{}", inspect::text(&candidate, &description));
    Ok(())
}

/// Checks a component and prints what was found.
async fn checked(candidate: &Candidate, trial: &TrialArgs) -> anyhow::Result<Report> {
    let given = trial.object.as_deref().map(read_object).transpose()?;
    let report = check::check(&bench(&trial.cache)?, candidate, given.as_ref()).await;
    for finding in &report.findings {
        println!("{finding}");
    }
    match report.errors() {
        0 => {
            println!("{}", verdict(candidate, &report));
            Ok(report)
        }
        1 => bail!("{}: the error above would show in a host", candidate.name),
        errors => bail!(
            "{}: the {errors} errors above would show in a host",
            candidate.name
        ),
    }
}

fn verdict(candidate: &Candidate, report: &Report) -> String {
    let is_warning = |finding: &&Finding| finding.severity == Severity::Warning;
    let warnings = match report.findings.iter().filter(is_warning).count() {
        0 => String::new(),
        1 => ", 1 warning".to_owned(),
        count => format!(", {count} warnings"),
    };
    let what = report
        .description
        .as_ref()
        .map_or_else(String::new, |description| {
            format!("{} {}, ", description.name, description.version)
        });
    format!(
        "{}: a plugin for {}: {what}{}, {}{warnings}",
        candidate.name,
        check::spoken(),
        candidate.size(),
        candidate.digest()
    )
}

fn bench(cache: &CacheArgs) -> anyhow::Result<Bench> {
    let compiler = Compiler::this_program().context("failed to find this program's own file")?;
    let folder = match &cache.cache {
        Some(folder) => folder.clone(),
        None => default_cache()?,
    };
    if let Some(parent) = folder.parent() {
        std::fs::create_dir_all(parent)
            .with_context(|| format!("failed to make the folder {}", parent.display()))?;
    }
    Ok(Bench::open(&folder, compiler)?)
}

fn default_cache() -> anyhow::Result<PathBuf> {
    let caches = match std::env::var_os("XDG_CACHE_HOME").filter(|path| !path.is_empty()) {
        Some(caches) => PathBuf::from(caches),
        None => std::env::home_dir()
            .context("failed to find a folder for compiled plugins: set WINDLASS_CACHE, or HOME")?
            .join(".cache"),
    };
    Ok(caches.join("windlass/compiled"))
}

/// Reads an object as kubectl would: YAML or JSON.
fn read_object(file: &Path) -> anyhow::Result<Value> {
    let text = std::fs::read_to_string(file)
        .with_context(|| format!("failed to read the object in {}", file.display()))?;
    serde_saphyr::from_str(&text)
        .with_context(|| format!("failed to understand the object in {}", file.display()))
}
