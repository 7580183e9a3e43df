//! `windlass plugin`: what authors and administrators of plugins type.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

/// The language of a project.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Language {
    /// Rust, with the SDK.
    Rust,
    /// Python, by componentize-py.
    Python,
    /// JavaScript, by componentize-js.
    Javascript,
}

/// `windlass plugin new`.
#[derive(Debug, Args)]
pub struct NewArgs {
    /// The plugin's name, a DNS label such as `website`; also the folder that is made.
    pub name: String,
    /// What it is written in.
    #[arg(long, short, value_enum, default_value = "rust")]
    pub language: Language,
    /// The kind that it serves, in CamelCase; made from the name where it is left out.
    #[arg(long)]
    pub kind: Option<String>,
    /// The API group of the kind: a domain of yours.
    #[arg(long, default_value = "example.com")]
    pub group: String,
    /// The folder to make it in, instead of one called NAME here.
    #[arg(long)]
    pub path: Option<PathBuf>,
}

/// `windlass plugin build`.
#[derive(Debug, Args)]
pub struct BuildArgs {
    /// The project's folder.
    #[arg(default_value = ".")]
    pub project: PathBuf,
    /// Where the component goes, instead of NAME.wasm in the project.
    #[arg(long, short)]
    pub output: Option<PathBuf>,
    /// How the checks are run.
    #[command(flatten)]
    pub trial: TrialArgs,
}

/// `windlass plugin check`.
#[derive(Debug, Args)]
pub struct CheckArgs {
    /// The component's file.
    pub component: String,
    /// How the checks are run.
    #[command(flatten)]
    pub trial: TrialArgs,
}

/// `windlass plugin inspect`.
#[derive(Debug, Args)]
pub struct InspectArgs {
    /// The component's file.
    pub component: String,
    /// Where compiled plugins are kept.
    #[command(flatten)]
    pub cache: CacheArgs,
}

/// What a component is tried with.
#[derive(Debug, Args)]
pub struct TrialArgs {
    /// A YAML file with an object of a kind that the plugin serves, to reconcile on trial; made up from the CRD
    /// where it is left out.
    #[arg(long)]
    pub object: Option<PathBuf>,
    /// Where compiled plugins are kept.
    #[command(flatten)]
    pub cache: CacheArgs,
}

/// Where compiled plugins are kept.
#[derive(Debug, Default, Args)]
pub struct CacheArgs {
    /// Where compiled plugins are kept [default: windlass/compiled in the user's cache folder].
    #[arg(long, env = "WINDLASS_CACHE")]
    pub cache: Option<PathBuf>,
}
