//! A place for backups: S3-compatible storage or a folder, both behind one trait.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, bail};
use bytes::Bytes;
use futures::TryStreamExt;
use object_store::aws::AmazonS3Builder;
use object_store::local::LocalFileSystem;
use object_store::path::Path as Key;
use object_store::{
    Certificate, ClientOptions, ObjectMeta, ObjectStore, ObjectStoreExt, PutPayload,
};

use super::args::PlaceArgs;
use crate::secrets::{Masks, SecretValue};

/// The files of a mounted Secret that hold credentials of S3.
const ACCESS_KEY_ID: &str = "AWS_ACCESS_KEY_ID";
const SECRET_ACCESS_KEY: &str = "AWS_SECRET_ACCESS_KEY";
const SESSION_TOKEN: &str = "AWS_SESSION_TOKEN";

/// Where backups are kept.
pub(super) struct Place {
    store: Arc<dyn ObjectStore>,
    prefix: Key,
    /// As a person wrote it, without a slash at its end.
    shown: String,
}

impl Place {
    /// Reads where it is; nothing is connected to yet.
    ///
    /// # Errors
    /// When it is neither form, or the credentials cannot be read.
    pub(super) fn open(arguments: &PlaceArgs) -> anyhow::Result<Self> {
        let shown = arguments.at.trim_end_matches('/').to_owned();
        if let Some(rest) = shown.strip_prefix("s3://") {
            let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
            let prefix = Key::parse(prefix).with_context(|| format!("{shown} is no place"))?;
            let store = Arc::new(s3(bucket, arguments)?);
            return Ok(Self {
                store,
                prefix,
                shown,
            });
        }
        if !Path::new(&shown).is_absolute() {
            bail!("{shown:?} is no place: write s3://BUCKET[/PREFIX] or an absolute path");
        }
        let folder = LocalFileSystem::new_with_prefix(&shown)
            .with_context(|| format!("failed to open the folder {shown}: is it mounted?"))?;
        let folder = folder.with_fsync(true).with_automatic_cleanup(true);
        Ok(Self {
            store: Arc::new(folder),
            prefix: Key::default(),
            shown,
        })
    }

    /// What holds the objects.
    pub(super) fn store(&self) -> Arc<dyn ObjectStore> {
        self.store.clone()
    }

    /// The backup's place in words.
    pub(super) fn shown(&self, name: &str) -> String {
        format!("{}/{name}", self.shown)
    }

    /// The key of a part of a backup: its path, in pieces.
    pub(super) fn key<'a>(
        &'a self,
        name: &'a str,
        parts: impl IntoIterator<Item = &'a str>,
    ) -> Key {
        let pieces = self.prefix.parts().chain([name.into()]);
        pieces.chain(parts.into_iter().map(Into::into)).collect()
    }

    /// The names of everything that looks like a folder.
    ///
    /// # Errors
    /// When the place does not answer.
    pub(super) async fn names(&self) -> anyhow::Result<Vec<String>> {
        let listed = self.store.list_with_delimiter(Some(&self.prefix)).await;
        let listed = listed.with_context(|| format!("failed to list {}", self.shown))?;
        let name = |folder: &Key| folder.filename().map(str::to_owned);
        Ok(listed.common_prefixes.iter().filter_map(name).collect())
    }

    /// Everything of one backup.
    ///
    /// # Errors
    /// When the place does not answer.
    pub(super) async fn objects(&self, name: &str) -> anyhow::Result<Vec<ObjectMeta>> {
        let under = self.key(name, []);
        let listed: Result<Vec<_>, _> = self.store.list(Some(&under)).try_collect().await;
        listed.with_context(|| format!("failed to list {}", self.shown(name)))
    }

    /// A small object; None where there is none.
    ///
    /// # Errors
    /// When the place does not answer.
    pub(super) async fn read(&self, key: &Key) -> anyhow::Result<Option<Bytes>> {
        let got = match self.store.get(key).await {
            Ok(got) => got.bytes().await,
            Err(object_store::Error::NotFound { .. }) => return Ok(None),
            Err(error) => Err(error),
        };
        got.map(Some)
            .with_context(|| format!("failed to read {key}"))
    }

    /// Writes a small object.
    ///
    /// # Errors
    /// When the place does not take it.
    pub(super) async fn write(&self, key: &Key, text: String) -> anyhow::Result<()> {
        let put = self.store.put(key, PutPayload::from(text)).await;
        put.map(drop)
            .with_context(|| format!("failed to write {key}"))
    }

    /// Removes an object; one that is gone already is removed as well.
    ///
    /// # Errors
    /// When the place does not let it go.
    pub(super) async fn remove(&self, key: &Key) -> anyhow::Result<()> {
        match self.store.delete(key).await {
            Ok(()) | Err(object_store::Error::NotFound { .. }) => Ok(()),
            Err(error) => Err(error).with_context(|| format!("failed to remove {key}")),
        }
    }
}

/// The same failure without the credentials of its place: a storage that refuses may quote them, and what is told
/// goes to a Pod's status and log.
pub(super) fn masked(place: &PlaceArgs, error: &anyhow::Error) -> anyhow::Error {
    let mut masks = Masks::default();
    for name in [ACCESS_KEY_ID, SECRET_ACCESS_KEY, SESSION_TOKEN] {
        if let Ok(value) = credential(&place.credentials, name) {
            masks.add(&SecretValue::new(value.into_bytes()));
        }
    }
    let mut causes = error
        .chain()
        .rev()
        .map(|cause| masks.blot(&cause.to_string()));
    let root = anyhow::Error::msg(causes.next().unwrap_or_default());
    causes.fold(root, |error, cause| error.context(cause))
}

fn s3(bucket: &str, arguments: &PlaceArgs) -> anyhow::Result<object_store::aws::AmazonS3> {
    let PlaceArgs {
        at: _,
        endpoint,
        region,
        credentials,
        ca,
    } = arguments;
    let mut options = ClientOptions::new();
    if let Some(ca) = ca {
        let pem = std::fs::read(ca).with_context(|| format!("failed to read {}", ca.display()))?;
        let bundle = Certificate::from_pem_bundle(&pem)
            .with_context(|| format!("{} holds no certificates in PEM", ca.display()))?;
        options = bundle
            .into_iter()
            .fold(options, ClientOptions::with_root_certificate);
    }
    let mut builder = AmazonS3Builder::new()
        .with_bucket_name(bucket)
        .with_region(region)
        .with_access_key_id(credential(credentials, ACCESS_KEY_ID)?)
        .with_secret_access_key(credential(credentials, SECRET_ACCESS_KEY)?);
    if credentials.join(SESSION_TOKEN).exists() {
        builder = builder.with_token(credential(credentials, SESSION_TOKEN)?);
    }
    if let Some(endpoint) = endpoint {
        options = options.with_allow_http(endpoint.starts_with("http://"));
        builder = builder.with_endpoint(endpoint);
    }
    let built = builder.with_client_options(options).build();
    built.with_context(|| format!("failed to make a client of the bucket {bucket}"))
}

fn credential(folder: &Path, name: &str) -> anyhow::Result<String> {
    let file = folder.join(name);
    let text = std::fs::read_to_string(&file).with_context(|| {
        format!(
            "failed to read {}: mount a Secret with the key {name} there",
            file.display()
        )
    })?;
    Ok(text.trim_end().to_owned())
}
