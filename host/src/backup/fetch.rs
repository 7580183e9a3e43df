//! Copying a backup back.

use std::path::Path;

use anyhow::{Context, bail};
use futures::TryStreamExt;
use object_store::ObjectStoreExt;
use tokio::io::AsyncWriteExt;

use super::args::FetchArgs;
use super::manifest::{COMPLETE, DATA, File, Manifest};
use super::place::Place;
use super::store::Sum;

/// `windlass backup fetch`.
///
/// # Errors
/// When there is no complete backup of that name, the folder is not empty, or what came is not what was stored.
pub(super) async fn fetch(arguments: &FetchArgs) -> anyhow::Result<()> {
    let FetchArgs { place, name, to } = arguments;
    let place = Place::open(place)?;
    let Some(text) = place.read(&place.key(name, [COMPLETE])).await? else {
        bail!("there is no complete backup {}", place.shown(name));
    };
    let manifest: Manifest = serde_json::from_slice(&text)
        .with_context(|| format!("failed to read {}/{COMPLETE}", place.shown(name)))?;
    std::fs::create_dir_all(to).with_context(|| format!("failed to make {}", to.display()))?;
    let mut entries = std::fs::read_dir(to)
        .with_context(|| format!("failed to read the folder {}", to.display()))?;
    if entries.next().is_some() {
        bail!("{} is not empty", to.display());
    }
    for file in &manifest.files {
        let fetched = copy(&place, name, file, to).await;
        fetched.with_context(|| format!("failed to fetch {}", file.path))?;
    }
    println!("{}", serde_json::to_string(&manifest)?);
    Ok(())
}

async fn copy(place: &Place, name: &str, file: &File, to: &Path) -> anyhow::Result<()> {
    let pieces: Vec<&str> = file.path.split('/').collect();
    if pieces.iter().any(|piece| matches!(*piece, "" | "." | "..")) {
        bail!("its path leads out of the folder");
    }
    let target = pieces
        .iter()
        .fold(to.to_owned(), |path, piece| path.join(piece));
    if let Some(folder) = target.parent() {
        tokio::fs::create_dir_all(folder).await?;
    }
    let key = place.key(name, [DATA].into_iter().chain(pieces));
    let mut stream = place.store().get(&key).await?.into_stream();
    let mut written = tokio::fs::File::create_new(&target).await?;
    let mut sum = Sum::default();
    while let Some(chunk) = stream.try_next().await? {
        sum.add(&chunk);
        written.write_all(&chunk).await?;
    }
    written.sync_all().await?;
    match sum.done() == (file.bytes, file.sha256.clone()) {
        true => Ok(()),
        false => bail!("it is not what was stored: its size or digest differs"),
    }
}
