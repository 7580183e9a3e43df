//! An OCI image layout on disk: `oci-layout`, `index.json` and `blobs/sha256/`.
//!
//! Guarantees: what is written is whole or not there, whenever the process ends; what is read has its digest.

use std::fs::Permissions;
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use async_trait::async_trait;
use oci_client::manifest::{OciDescriptor, OciImageManifest};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::Digest;
use super::repository::{LARGEST_MANIFEST, Name, Repository, RepositoryError};

/// The annotation that holds a tag.
const TAG: &str = "org.opencontainers.image.ref.name";

/// The mode of its files: a layout goes into images and onto other machines, where others read it.
const FOR_ALL_TO_READ: u32 = 0o644;

const INDEX_MEDIA_TYPE: &str = "application/vnd.oci.image.index.v1+json";

/// A layout in a folder.
pub(super) struct Layout(PathBuf);

/// `index.json`. What is not known is kept.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Index {
    schema_version: u8,
    media_type: Option<String>,
    manifests: Vec<OciDescriptor>,
    #[serde(flatten)]
    other: Map<String, Value>,
}

impl Layout {
    pub(super) fn new(folder: &Path) -> Self {
        Self(folder.to_owned())
    }

    fn index(&self) -> Result<Index, RepositoryError> {
        let path = self.0.join("index.json");
        let bytes = read(&path, LARGEST_MANIFEST)?;
        serde_json::from_slice(&bytes).map_err(|error| RepositoryError::Malformed {
            what: path.display().to_string(),
            why: error.to_string(),
        })
    }

    /// The one of that tag.
    fn find(&self, tag: &str) -> Result<OciDescriptor, RepositoryError> {
        let index = self.index()?;
        let tags = index
            .manifests
            .iter()
            .filter_map(tag_of)
            .collect::<Vec<_>>()
            .join(", ");
        let found = index
            .manifests
            .into_iter()
            .find(|one| tag_of(one) == Some(tag));
        found.ok_or_else(|| RepositoryError::NotFound {
            what: format!("{}:{tag}", self.0.display()),
            why: format!("its index.json names these tags: {tags}"),
        })
    }

    fn blob_path(&self, digest: &Digest) -> PathBuf {
        self.0.join("blobs/sha256").join(digest.hex())
    }

    fn checked(&self, digest: &Digest, limit: usize) -> Result<Vec<u8>, RepositoryError> {
        let path = self.blob_path(digest);
        let bytes = read(&path, limit)?;
        match Digest::of(&bytes) {
            found if found == *digest => Ok(bytes),
            found => Err(RepositoryError::Tampered {
                what: path.display().to_string(),
                got: found.to_string(),
            }),
        }
    }

    /// What a registry without an API for referrers keeps under a tag (OCI distribution, "Referrers Tag Schema"), as it
    /// is copied from there.
    fn under_fallback_tag(&self, digest: &Digest) -> Result<Vec<OciDescriptor>, RepositoryError> {
        let descriptor = match self.find(&format!("sha256-{}", digest.hex())) {
            Ok(descriptor) => descriptor,
            Err(RepositoryError::NotFound { .. }) => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let bytes = self.checked(&digest_of(&descriptor)?, LARGEST_MANIFEST)?;
        let index: Option<Index> = serde_json::from_slice(&bytes).ok();
        Ok(index.map(|index| index.manifests).unwrap_or_default())
    }

    /// The only artifact, where nobody said which.
    fn only(&self) -> Result<Digest, RepositoryError> {
        let index = self.index()?;
        let about_others = |descriptor: &&OciDescriptor| {
            !tag_of(descriptor).is_some_and(|tag| tag.starts_with("sha256-"))
        };
        let artifacts: Vec<_> = index.manifests.iter().filter(about_others).collect();
        match artifacts.as_slice() {
            [only] => digest_of(only),
            several => Err(RepositoryError::NotFound {
                what: self.0.display().to_string(),
                why: format!("it holds {} artifacts: write FOLDER:TAG", several.len()),
            }),
        }
    }

    fn write(&self, path: &Path, bytes: &[u8]) -> Result<(), RepositoryError> {
        let written = || {
            let folder = path.parent().unwrap_or(&self.0);
            std::fs::create_dir_all(folder)?;
            let mut draft = tempfile::Builder::new()
                .permissions(Permissions::from_mode(FOR_ALL_TO_READ))
                .tempfile_in(folder)?;
            draft.write_all(bytes)?;
            draft.as_file().sync_all()?;
            draft.persist(path)?;
            Ok::<_, io::Error>(())
        };
        written().map_err(|error| disk(path, &error))
    }

    fn add(&self, descriptor: OciDescriptor) -> Result<(), RepositoryError> {
        let mut index = match self.index() {
            Ok(index) => index,
            Err(RepositoryError::NotFound { .. }) => Index {
                schema_version: 2,
                media_type: Some(INDEX_MEDIA_TYPE.into()),
                manifests: Vec::new(),
                other: Map::new(),
            },
            Err(error) => return Err(error),
        };
        let replaced = |one: &OciDescriptor| match tag_of(&descriptor) {
            Some(tag) => tag_of(one) == Some(tag),
            None => one.digest == descriptor.digest && tag_of(one).is_none(),
        };
        index.manifests.retain(|one| !replaced(one));
        index.manifests.push(descriptor);
        self.write(
            &self.0.join("oci-layout"),
            br#"{"imageLayoutVersion":"1.0.0"}"#,
        )?;
        let text = serde_json::to_vec(&index).map_err(|error| RepositoryError::Malformed {
            what: "index.json".into(),
            why: error.to_string(),
        })?;
        self.write(&self.0.join("index.json"), &text)
    }
}

#[async_trait]
impl Repository for Layout {
    async fn manifest(&self, name: &Name) -> Result<Vec<u8>, RepositoryError> {
        let digest = match name {
            Name::Digest(digest) => digest.clone(),
            Name::Default => self.only()?,
            Name::Tag(tag) => digest_of(&self.find(tag)?)?,
        };
        self.checked(&digest, LARGEST_MANIFEST)
    }

    async fn blob(&self, digest: &Digest, limit: usize) -> Result<Vec<u8>, RepositoryError> {
        self.checked(digest, limit)
    }

    async fn referrers(&self, digest: &Digest) -> Result<Vec<OciDescriptor>, RepositoryError> {
        let is_about = |descriptor: &OciDescriptor| {
            let bytes = self
                .checked(&digest_of(descriptor).ok()?, LARGEST_MANIFEST)
                .ok()?;
            let manifest: OciImageManifest = serde_json::from_slice(&bytes).ok()?;
            (manifest.subject?.digest == digest.to_string()).then_some(())
        };
        let mut manifests = self.index()?.manifests;
        manifests.extend(self.under_fallback_tag(digest)?);
        manifests.retain(|descriptor| is_about(descriptor).is_some());
        Ok(manifests)
    }

    async fn put_blob(&self, bytes: &[u8]) -> Result<(), RepositoryError> {
        self.write(&self.blob_path(&Digest::of(bytes)), bytes)
    }

    async fn put_manifest(
        &self,
        bytes: &[u8],
        media_type: &str,
        tag: Option<&str>,
    ) -> Result<(), RepositoryError> {
        self.put_blob(bytes).await?;
        let annotation = |tag: &str| [(TAG.to_owned(), tag.to_owned())].into();
        self.add(OciDescriptor {
            media_type: media_type.into(),
            digest: Digest::of(bytes).to_string(),
            size: i64::try_from(bytes.len()).unwrap_or(i64::MAX),
            annotations: tag.map(annotation),
            ..OciDescriptor::default()
        })
    }
}

fn tag_of(descriptor: &OciDescriptor) -> Option<&str> {
    descriptor
        .annotations
        .as_ref()?
        .get(TAG)
        .map(String::as_str)
}

fn digest_of(descriptor: &OciDescriptor) -> Result<Digest, RepositoryError> {
    descriptor
        .digest
        .parse()
        .map_err(
            |error: super::digest::NotADigest| RepositoryError::Malformed {
                what: "index.json".into(),
                why: error.to_string(),
            },
        )
}

fn read(path: &Path, limit: usize) -> Result<Vec<u8>, RepositoryError> {
    let failed = |error: io::Error| match error.kind() {
        io::ErrorKind::NotFound => RepositoryError::NotFound {
            what: path.display().to_string(),
            why: error.to_string(),
        },
        _ => disk(path, &error),
    };
    let size = std::fs::metadata(path).map_err(failed)?.len();
    if size > limit as u64 {
        return Err(RepositoryError::TooLarge {
            what: path.display().to_string(),
            limit,
        });
    }
    std::fs::read(path).map_err(failed)
}

fn disk(path: &Path, error: &io::Error) -> RepositoryError {
    RepositoryError::Disk {
        what: path.display().to_string(),
        why: error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt;

    use super::*;

    #[tokio::test]
    async fn others_can_read_what_is_written_and_cannot_change_it() {
        let folder = tempfile::tempdir().unwrap();
        let layout = Layout::new(folder.path());
        layout.put_blob(b"component").await.unwrap();
        layout
            .put_manifest(b"{}", "application/json", Some("one"))
            .await
            .unwrap();
        let blob = layout.blob_path(&Digest::of(b"component"));
        for file in [
            blob,
            folder.path().join("index.json"),
            folder.path().join("oci-layout"),
        ] {
            let mode = std::fs::metadata(&file).unwrap().mode();
            assert_eq!(mode & 0o777, 0o644, "{}", file.display());
        }
    }
}
