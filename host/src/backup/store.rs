//! Making a backup: begun, files, read back, complete, and only then the removal of what has expired.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use bytes::{Bytes, BytesMut};
use futures::TryStreamExt;
use jiff::Timestamp;
use object_store::ObjectStoreExt;
use object_store::buffered::BufWriter;
use object_store::path::Path as Key;
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::Instant;

use super::args::StoreArgs;
use super::manifest::{BEGUN, Begun, COMPLETE, DATA, File, Manifest, digest};
use super::place::Place;
use super::report::Report;
use super::retention;
use crate::clock::{Clock, SystemClock};

/// The smallest part of an upload, and what is read at once.
const PART: u64 = 8 << 20;
/// S3 takes 10,000 parts of one object: large files get larger ones.
const MOST_PARTS: u64 = 9_000;
/// Parts under way at once: with them, memory is bounded.
const AT_ONCE: usize = 3;

/// `windlass backup store`.
///
/// # Errors
/// In words, with the step that failed. What was written so far stays as a broken attempt.
pub(super) async fn store(arguments: &StoreArgs) -> anyhow::Result<Report> {
    let started = Instant::now();
    let place = Place::open(&arguments.place)?;
    let facts = facts(arguments.facts.as_deref())?;
    let sources = sources(&arguments.from)?;
    let begun = now()?;
    begin(&place, &arguments.name, begun).await?;
    let mut files = Vec::with_capacity(sources.len());
    for (path, source) in &sources {
        files.push(copy(&place, &arguments.name, path, source).await?);
    }
    let manifest = Manifest {
        name: arguments.name.clone(),
        begun,
        finished: now()?,
        bytes: files.iter().map(|file| file.bytes).sum(),
        sha256: digest(&files),
        files,
        facts,
    };
    let complete = place.key(&arguments.name, [COMPLETE]);
    place
        .write(&complete, serde_json::to_string(&manifest)?)
        .await?;
    let removed = match arguments.keep() {
        Some(keep) => retention::prune(&place, keep, SystemClock.now())
            .await?
            .len(),
        None => 0,
    };
    Ok(Report::new(
        &manifest,
        place.shown(&arguments.name),
        started.elapsed(),
        removed,
    ))
}

/// Makes room for the backup and says that it was begun.
async fn begin(place: &Place, name: &str, begun: Timestamp) -> anyhow::Result<()> {
    if place.read(&place.key(name, [COMPLETE])).await?.is_some() {
        bail!(
            "{} is complete already: give another name",
            place.shown(name)
        );
    }
    retention::remove(place, name).await?;
    let text = serde_json::to_string(&Begun { begun })?;
    place.write(&place.key(name, [BEGUN]), text).await
}

fn now() -> anyhow::Result<Timestamp> {
    let now = i64::try_from(SystemClock.now()).context("the clock is wrong")?;
    Timestamp::from_millisecond(now).context("the clock is wrong")
}

fn facts(file: Option<&Path>) -> anyhow::Result<Map<String, Value>> {
    let Some(file) = file else {
        return Ok(Map::new());
    };
    let text = std::fs::read_to_string(file)
        .with_context(|| format!("failed to read the facts in {}", file.display()))?;
    serde_json::from_str(&text)
        .with_context(|| format!("{} does not hold a JSON object", file.display()))
}

/// What to copy: each file with its path in the backup, sorted by it.
fn sources(from: &Path) -> anyhow::Result<Vec<(String, PathBuf)>> {
    let meta = std::fs::metadata(from)
        .with_context(|| format!("failed to find what to back up at {}", from.display()))?;
    let mut found = Vec::new();
    match meta.is_dir() {
        true => walk(from, "", &mut found)?,
        false => found.push((text(from.file_name().unwrap_or_default())?, from.to_owned())),
    }
    if found.is_empty() {
        bail!("{} is empty: there is nothing to back up", from.display());
    }
    found.sort();
    Ok(found)
}

fn walk(folder: &Path, prefix: &str, found: &mut Vec<(String, PathBuf)>) -> anyhow::Result<()> {
    let unread = || format!("failed to read the folder {}", folder.display());
    for entry in std::fs::read_dir(folder).with_context(unread)? {
        let entry = entry.with_context(unread)?;
        let path = format!("{prefix}{}", text(&entry.file_name())?);
        let kind = entry.file_type().with_context(unread)?;
        if kind.is_dir() {
            walk(&entry.path(), &format!("{path}/"), found)?;
        } else if kind.is_file() {
            found.push((path, entry.path()));
        } else {
            bail!("{} is neither a file nor a folder", entry.path().display());
        }
    }
    Ok(())
}

fn text(name: &std::ffi::OsStr) -> anyhow::Result<String> {
    let text = name.to_str().map(str::to_owned);
    text.with_context(|| format!("the name {} is not UTF-8", name.display()))
}

/// Copies one file and reads it back.
async fn copy(place: &Place, name: &str, path: &str, source: &Path) -> anyhow::Result<File> {
    let key = place.key(name, [DATA].into_iter().chain(path.split('/')));
    let (bytes, sha256) = write(place, &key, source)
        .await
        .with_context(|| format!("failed to write {key}"))?;
    let back = read_back(place, &key)
        .await
        .with_context(|| format!("failed to read {key} back"))?;
    if back != (bytes, sha256.clone()) {
        bail!(
            "{key} is not what was written: {bytes} bytes were, {} came back",
            back.0
        );
    }
    let path = path.to_owned();
    Ok(File {
        path,
        bytes,
        sha256,
    })
}

async fn write(place: &Place, key: &Key, source: &Path) -> anyhow::Result<(u64, String)> {
    let mut file = tokio::fs::File::open(source).await?;
    let part = usize::try_from(PART.max(file.metadata().await?.len() / MOST_PARTS))?;
    let mut upload =
        BufWriter::with_capacity(place.store(), key.clone(), part).with_max_concurrency(AT_ONCE);
    let sent = send(&mut file, &mut upload).await;
    if sent.is_err() {
        // What was sent so far is of no use; the error that matters is the first.
        let _ = upload.abort().await;
    }
    sent
}

async fn send(file: &mut tokio::fs::File, upload: &mut BufWriter) -> anyhow::Result<(u64, String)> {
    let mut sum = Sum::default();
    loop {
        let chunk = chunk(file).await?;
        if chunk.is_empty() {
            break;
        }
        sum.add(&chunk);
        upload.put(chunk).await?;
    }
    upload.shutdown().await?;
    Ok(sum.done())
}

/// The next bytes of a file, up to a part; empty at its end.
async fn chunk(file: &mut tokio::fs::File) -> std::io::Result<Bytes> {
    let mut chunk = BytesMut::with_capacity(1 << 20);
    file.read_buf(&mut chunk).await?;
    Ok(chunk.freeze())
}

/// The size and digest of what is stored.
async fn read_back(place: &Place, key: &Key) -> anyhow::Result<(u64, String)> {
    let mut stream = place.store().get(key).await?.into_stream();
    let mut sum = Sum::default();
    while let Some(chunk) = stream.try_next().await? {
        sum.add(&chunk);
    }
    Ok(sum.done())
}

/// Size and digest of bytes that come one after another.
#[derive(Default)]
pub(super) struct Sum {
    bytes: u64,
    digest: Sha256,
}

impl Sum {
    pub(super) fn add(&mut self, chunk: &[u8]) {
        self.bytes += u64::try_from(chunk.len()).unwrap_or(u64::MAX);
        self.digest.update(chunk);
    }

    pub(super) fn done(self) -> (u64, String) {
        (self.bytes, hex::encode(self.digest.finalize()))
    }
}
