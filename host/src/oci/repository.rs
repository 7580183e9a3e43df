//! What a registry's repository and a layout on disk have in common.

use async_trait::async_trait;
use oci_client::manifest::OciDescriptor;

use super::Digest;
use super::layout::Layout;
use super::location::{Location, Place};
use super::registry::Registry;

/// The largest manifest, config or index that is taken.
pub const LARGEST_MANIFEST: usize = 4 << 20;

/// What something of a repository is called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Name {
    /// What nobody called by a name: the tag `latest` of a registry, the only artifact of a layout.
    Default,
    /// As people call it.
    Tag(String),
    /// Exactly.
    Digest(Digest),
}

/// A place where manifests and blobs are.
#[async_trait]
pub trait Repository: Send + Sync {
    /// The bytes of a manifest. Where it was asked for by digest, they have that digest.
    async fn manifest(&self, name: &Name) -> Result<Vec<u8>, RepositoryError>;

    /// The bytes of a blob, which have its digest; refused when there are more than `limit`.
    async fn blob(&self, digest: &Digest, limit: usize) -> Result<Vec<u8>, RepositoryError>;

    /// The manifests that say they are about this one (OCI 1.1).
    async fn referrers(&self, digest: &Digest) -> Result<Vec<OciDescriptor>, RepositoryError>;

    /// Puts a blob there.
    async fn put_blob(&self, bytes: &[u8]) -> Result<(), RepositoryError>;

    /// Puts a manifest there, under a tag if one is given.
    async fn put_manifest(
        &self,
        bytes: &[u8],
        media_type: &str,
        tag: Option<&str>,
    ) -> Result<(), RepositoryError>;
}

/// How a registry is reached.
#[derive(Clone, Debug, Default)]
pub struct Access {
    /// Who asks; None for nobody in particular.
    pub login: Option<super::credentials::Login>,
    /// A certificate authority to trust beside the system's, as PEM.
    pub authority: Option<String>,
    /// True to speak HTTP without TLS.
    pub insecure: bool,
}

/// Opens the place of `location`.
///
/// # Errors
/// When the certificate authority is none.
pub fn open(location: &Location, access: &Access) -> Result<Box<dyn Repository>, RepositoryError> {
    Ok(match &location.place {
        Place::Registry { host, repository } => Box::new(Registry::new(host, repository, access)?),
        Place::Layout(folder) => Box::new(Layout::new(folder)),
    })
}

/// Why something was not read or written.
#[derive(Debug, thiserror::Error)]
pub enum RepositoryError {
    /// It is not there.
    #[error("{what} is not there: {why}")]
    NotFound {
        /// What was asked for.
        what: String,
        /// In the place's own words.
        why: String,
    },
    /// The registry wants to know who asks, or knows and refuses.
    #[error("the registry refused access to {what}: {why}; check the pull secret")]
    Unauthorized {
        /// What was asked for.
        what: String,
        /// In its own words.
        why: String,
    },
    /// The registry asks to come later.
    #[error("the registry has too much to do and was asked for {what}: it is tried again")]
    Throttled {
        /// What was asked for.
        what: String,
    },
    /// No answer, or one that tells of a failure over there.
    #[error("failed to ask for {what}: {why}")]
    Unreachable {
        /// What was asked for.
        what: String,
        /// Why.
        why: String,
    },
    /// The connection is not the registry's.
    #[error(
        "the certificate of the registry is not trusted: {0}; set registry.ca to its authority"
    )]
    Certificate(String),
    /// The bytes are not those that were named.
    #[error("{what} has been tampered with or damaged: its bytes have the digest {got}")]
    Tampered {
        /// What was asked for.
        what: String,
        /// What came.
        got: String,
    },
    /// More than is taken.
    #[error("{what} is larger than {limit} bytes")]
    TooLarge {
        /// What was asked for.
        what: String,
        /// The most that is taken.
        limit: usize,
    },
    /// It cannot be understood.
    #[error("{what} is malformed: {why}")]
    Malformed {
        /// What was asked for.
        what: String,
        /// Where and why.
        why: String,
    },
    /// The disk.
    #[error("failed to use {what}: {why}")]
    Disk {
        /// The file.
        what: String,
        /// The system's word.
        why: String,
    },
}

impl RepositoryError {
    /// One word for a condition's reason.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::NotFound { .. } => "NotFound",
            Self::Unauthorized { .. } => "Unauthorized",
            Self::Throttled { .. } => "Throttled",
            Self::Unreachable { .. } => "Unreachable",
            Self::Certificate(_) => "CertificateNotTrusted",
            Self::Tampered { .. } => "Tampered",
            Self::TooLarge { .. } => "TooLarge",
            Self::Malformed { .. } => "Malformed",
            Self::Disk { .. } => "DiskFailed",
        }
    }
}
