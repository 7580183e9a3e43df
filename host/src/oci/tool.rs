//! `windlass plugin push` and `pull`: what people type to move plugins between files, layouts and registries.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Args;

use super::artifact;
use super::content::Content;
use super::credentials::{self, Login};
use super::fetch::{Fetcher, push};
use super::location::{Location, Place};
use super::repository::{self, Access, Repository};

/// `windlass plugin push`.
#[derive(Debug, Args)]
pub struct PushArgs {
    /// The component's file.
    pub component: PathBuf,
    /// Where to: oci://HOST/REPOSITORY:TAG, or an OCI layout's FOLDER:TAG.
    pub location: String,
    /// What people should know of it, such as org.opencontainers.image.source=URL; may be repeated.
    #[arg(long, value_parser = annotation)]
    pub annotation: Vec<(String, String)>,
    /// How the registry is reached.
    #[command(flatten)]
    pub registry: RegistryArgs,
}

/// `windlass plugin pull`.
#[derive(Debug, Args)]
pub struct PullArgs {
    /// Where from: oci://HOST/REPOSITORY[:TAG][@DIGEST], or an OCI layout's FOLDER[:TAG][@DIGEST].
    pub location: String,
    /// The file that the component is written to.
    #[arg(long, short)]
    pub output: PathBuf,
    /// How the registry is reached.
    #[command(flatten)]
    pub registry: RegistryArgs,
}

/// How a registry is reached. Who asks stands in Docker's configuration, as `docker login` writes it.
#[derive(Debug, Default, Args)]
pub struct RegistryArgs {
    /// A file with a certificate authority to trust beside the system's, as PEM.
    #[arg(long)]
    pub ca: Option<PathBuf>,
    /// Speak HTTP without TLS.
    #[arg(long)]
    pub insecure: bool,
}

/// Pushes a component and prints where it is, with its digest.
///
/// # Errors
/// When the file is no component or the place does not take it.
pub async fn run_push(arguments: &PushArgs) -> anyhow::Result<()> {
    let location = Location::given(&arguments.location)?;
    let tag = location
        .tag
        .clone()
        .context("say under which tag: LOCATION:TAG")?;
    let path = arguments.component.display();
    let component = std::fs::read(&arguments.component)
        .with_context(|| format!("failed to read the component {path}"))?;
    let annotations: BTreeMap<_, _> = arguments.annotation.iter().cloned().collect();
    let packed = artifact::pack(&component, &annotations)
        .with_context(|| format!("failed to pack {path}"))?;
    let repository = opened(&location, &arguments.registry)?;
    let digest = push(&*repository, &packed, &tag).await?;
    println!("{}:{tag}@{digest}", location.place);
    Ok(())
}

/// Pulls a component into a file and prints its artifact's digest.
///
/// # Errors
/// When the place does not give it or it is no plugin.
pub async fn run_pull(arguments: &PullArgs) -> anyhow::Result<()> {
    let location = Location::given(&arguments.location)?;
    let repository = opened(&location, &arguments.registry)?;
    let folder = tempfile::tempdir().context("failed to make a folder for the download")?;
    let fetcher = Fetcher::new(Content::open(folder.path())?);
    let digest = fetcher.resolve(&*repository, &location).await?;
    let artifact = fetcher.artifact(&*repository, &location, &digest).await?;
    let path = arguments.output.display();
    std::fs::write(&arguments.output, artifact.component)
        .with_context(|| format!("failed to write {path}"))?;
    println!("{digest}");
    Ok(())
}

fn opened(location: &Location, registry: &RegistryArgs) -> anyhow::Result<Box<dyn Repository>> {
    let authority = registry.ca.as_deref().map(|path| {
        std::fs::read_to_string(path).with_context(|| format!("failed to read {}", path.display()))
    });
    let access = Access {
        login: match &location.place {
            Place::Registry { host, .. } => docker_login(host)?,
            Place::Layout(_) => None,
        },
        authority: authority.transpose()?,
        insecure: registry.insecure,
    };
    Ok(repository::open(location, &access)?)
}

/// The login for the registry `host` in a person's Docker configuration; None where there is none.
///
/// # Errors
/// When the configuration is there and cannot be read.
pub fn docker_login(host: &str) -> anyhow::Result<Option<Login>> {
    let folder = std::env::var_os("DOCKER_CONFIG").map(PathBuf::from);
    let folder = folder.or_else(|| Some(Path::new(&std::env::var_os("HOME")?).join(".docker")));
    let Some(path) = folder.map(|folder| folder.join("config.json")) else {
        return Ok(None);
    };
    let text = match std::fs::read(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => {
            return Err(error).with_context(|| format!("failed to read {}", path.display()));
        }
    };
    Ok(credentials::login_for(host, &text).ok())
}

fn annotation(text: &str) -> Result<(String, String), String> {
    let (key, value) = text.split_once('=').ok_or("write KEY=VALUE")?;
    Ok((key.to_owned(), value.to_owned()))
}
