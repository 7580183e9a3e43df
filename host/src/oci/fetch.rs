//! From a location to a checked artifact, through the content on disk.

use std::collections::BTreeSet;

use super::artifact::{self, NotAnArtifact};
use super::content::Content;
use super::repository::{LARGEST_MANIFEST, Name, Repository, RepositoryError};
use super::{Digest, Location};

/// The largest component that is taken: interpreters are a third of it.
pub const LARGEST_COMPONENT: usize = 64 << 20;

/// Why an artifact was not fetched.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    /// The place does not give it.
    #[error(transparent)]
    Repository(#[from] RepositoryError),
    /// It is not a plugin.
    #[error("{location} is not a plugin: {why}")]
    NotAPlugin {
        /// Where it is.
        location: String,
        /// Why.
        why: NotAnArtifact,
    },
}

impl FetchError {
    /// One word for a condition's reason.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::Repository(error) => error.reason(),
            Self::NotAPlugin { why, .. } => why.reason(),
        }
    }
}

/// An artifact that was fetched and checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fetched {
    /// The component.
    pub component: Vec<u8>,
    /// Everything that it consists of: manifest, config and layer.
    pub contents: BTreeSet<Digest>,
}

/// Fetches artifacts. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Fetcher {
    content: Content,
}

impl Fetcher {
    /// Keeps what it fetches in `content`.
    pub fn new(content: Content) -> Self {
        Self { content }
    }

    /// Where content is kept.
    pub fn content(&self) -> &Content {
        &self.content
    }

    /// What `location` means now: the digest that it names, or that its tag has.
    ///
    /// # Errors
    /// When the place does not answer or has no such tag.
    pub async fn resolve(
        &self,
        repository: &dyn Repository,
        location: &Location,
    ) -> Result<Digest, RepositoryError> {
        if let Some(digest) = &location.digest {
            return Ok(digest.clone());
        }
        let name = location.tag.clone().map_or(Name::Default, Name::Tag);
        let manifest = repository.manifest(&name).await?;
        self.keep(&manifest);
        Ok(Digest::of(&manifest))
    }

    /// The artifact of that digest. What is on disk is not asked for.
    ///
    /// # Errors
    /// When the place does not give it, or it is not a plugin.
    pub async fn artifact(
        &self,
        repository: &dyn Repository,
        location: &Location,
        digest: &Digest,
    ) -> Result<Fetched, FetchError> {
        let refused = |why: NotAnArtifact| FetchError::NotAPlugin {
            location: location.to_string(),
            why,
        };
        let name = Name::Digest(digest.clone());
        let manifest = self.kept_or(digest, repository.manifest(&name)).await?;
        let parts = artifact::read_manifest(&manifest).map_err(refused)?;
        let config = repository.blob(&parts.config, LARGEST_MANIFEST);
        let config = self.kept_or(&parts.config, config).await?;
        artifact::check_config(&config, &parts.layer).map_err(refused)?;
        let component = repository.blob(&parts.layer, LARGEST_COMPONENT);
        let component = self.kept_or(&parts.layer, component).await?;
        artifact::check_component(&component).map_err(refused)?;
        Ok(Fetched {
            component,
            contents: [digest.clone(), parts.config, parts.layer].into(),
        })
    }

    /// The content of that digest, from disk or as `asked`.
    async fn kept_or(
        &self,
        digest: &Digest,
        asked: impl Future<Output = Result<Vec<u8>, RepositoryError>>,
    ) -> Result<Vec<u8>, RepositoryError> {
        if let Some(bytes) = self.content.get(digest) {
            return Ok(bytes);
        }
        let bytes = asked.await?;
        self.keep(&bytes);
        Ok(bytes)
    }

    /// A disk that is full costs another download, not the plugin.
    fn keep(&self, bytes: &[u8]) {
        if let Err(error) = self.content.put(bytes) {
            tracing::warn!(%error, "failed to keep what was fetched");
        }
    }
}

/// Puts an artifact into a repository, the manifest last: it is there as a whole or not at all.
///
/// # Errors
/// When the place does not take it.
pub async fn push(
    repository: &dyn Repository,
    packed: &artifact::Packed,
    tag: &str,
) -> Result<Digest, RepositoryError> {
    repository.put_blob(&packed.layer).await?;
    repository.put_blob(&packed.config).await?;
    repository
        .put_manifest(&packed.manifest, artifact::MANIFEST, Some(tag))
        .await?;
    Ok(packed.digest())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::oci::repository::{Access, open};

    const COMPONENT: &[u8] = b"\0asm\x0d\0\x01\0";

    struct World {
        _folder: tempfile::TempDir,
        layout: std::path::PathBuf,
        fetcher: Fetcher,
    }

    impl World {
        fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            let content = Content::open(&folder.path().join("content")).unwrap();
            Self {
                layout: folder.path().join("layout"),
                fetcher: Fetcher::new(content),
                _folder: folder,
            }
        }

        fn location(&self, rest: &str) -> Location {
            Location::in_layout(&format!("{}{rest}", self.layout.display())).unwrap()
        }

        fn repository(&self) -> Box<dyn Repository> {
            open(&self.location(""), &Access::default()).unwrap()
        }

        async fn push(&self, component: &[u8], tag: &str) -> Digest {
            let packed = artifact::pack(component, &BTreeMap::new()).unwrap();
            push(&*self.repository(), &packed, tag).await.unwrap()
        }

        async fn resolve(&self, rest: &str) -> Result<Digest, RepositoryError> {
            let repository = self.repository();
            self.fetcher
                .resolve(&*repository, &self.location(rest))
                .await
        }

        async fn fetch(&self, digest: &Digest) -> Result<Fetched, FetchError> {
            let repository = self.repository();
            self.fetcher
                .artifact(&*repository, &self.location(""), digest)
                .await
        }
    }

    #[tokio::test]
    async fn what_is_pushed_is_found_by_tag_and_alone_and_fetched() {
        let world = World::new();
        let digest = world.push(COMPONENT, "redis").await;
        assert_eq!(world.resolve(":redis").await.unwrap(), digest);
        assert_eq!(world.resolve("").await.unwrap(), digest);
        assert_eq!(world.fetch(&digest).await.unwrap().component, COMPONENT);
        world.push(&[COMPONENT, &[0, 1, 0]].concat(), "mysql").await;
        let several = world.resolve("").await.unwrap_err();
        assert!(several.to_string().contains("FOLDER:TAG"), "{several}");
    }

    #[tokio::test]
    async fn a_tag_moves_and_the_old_artifact_stays() {
        let world = World::new();
        let old = world.push(COMPONENT, "redis").await;
        let new = world.push(&[COMPONENT, &[0, 1, 0]].concat(), "redis").await;
        assert_eq!(world.resolve(":redis").await.unwrap(), new);
        assert_eq!(world.fetch(&old).await.unwrap().component, COMPONENT);
        let missing = world.resolve(":other").await.unwrap_err();
        assert!(
            matches!(missing, RepositoryError::NotFound { .. }),
            "{missing}"
        );
        assert!(missing.to_string().contains("redis"), "{missing}");
    }

    #[tokio::test]
    async fn what_was_fetched_is_there_without_the_place() {
        let world = World::new();
        let digest = world.push(COMPONENT, "redis").await;
        world.fetch(&digest).await.unwrap();
        std::fs::remove_dir_all(&world.layout).unwrap();
        assert_eq!(world.fetch(&digest).await.unwrap().component, COMPONENT);
    }

    #[tokio::test]
    async fn everything_that_an_artifact_consists_of_is_named_to_be_kept() {
        let world = World::new();
        let digest = world.push(COMPONENT, "redis").await;
        let packed = artifact::pack(COMPONENT, &BTreeMap::new()).unwrap();
        let parts = [&packed.manifest, &packed.config, &packed.layer];
        let parts = parts.map(|bytes| Digest::of(bytes)).into();
        assert_eq!(world.fetch(&digest).await.unwrap().contents, parts);
    }

    #[tokio::test]
    async fn a_changed_layer_or_manifest_is_refused() {
        for what in ["layer", "manifest", "config"] {
            let world = World::new();
            let digest = world.push(COMPONENT, "redis").await;
            let packed = artifact::pack(COMPONENT, &BTreeMap::new()).unwrap();
            let bytes = match what {
                "layer" => packed.layer,
                "config" => packed.config,
                _ => packed.manifest,
            };
            let blob = world
                .layout
                .join("blobs/sha256")
                .join(Digest::of(&bytes).hex());
            std::fs::write(blob, [bytes.as_slice(), b" "].concat()).unwrap();
            let error = world.fetch(&digest).await.unwrap_err();
            assert_eq!(error.reason(), "Tampered", "{what}: {error}");
        }
    }

    #[tokio::test]
    async fn a_truncated_layer_is_refused_and_a_missing_one_named() {
        let world = World::new();
        let digest = world.push(COMPONENT, "redis").await;
        let blob = world
            .layout
            .join("blobs/sha256")
            .join(Digest::of(COMPONENT).hex());
        std::fs::write(&blob, &COMPONENT[..4]).unwrap();
        assert_eq!(world.fetch(&digest).await.unwrap_err().reason(), "Tampered");
        std::fs::remove_file(&blob).unwrap();
        assert_eq!(world.fetch(&digest).await.unwrap_err().reason(), "NotFound");
    }
}
