//! A repository of a registry, over the OCI distribution protocol.
//!
//! Guarantees: a blob is refused once it is larger than its limit, however much the registry sends; every request ends
//! in time.

use std::error::Error as _;
use std::time::Duration;

use async_trait::async_trait;
use futures::TryStreamExt;
use http::HeaderValue;
use oci_client::Reference;
use oci_client::client::{Certificate, CertificateEncoding, Client, ClientConfig, ClientProtocol};
use oci_client::errors::{DigestError, OciDistributionError, OciErrorCode};
use oci_client::manifest::OciDescriptor;
use oci_client::secrets::RegistryAuth;
use oci_client::{RegistryOperation, manifest};

use super::Digest;
use super::repository::{Access, LARGEST_MANIFEST, Name, Repository, RepositoryError};
use crate::tls;

/// How long a registry may take.
#[derive(Clone, Copy, Debug)]
struct Patience {
    /// For a connection, and for each further piece of an answer.
    silence: Duration,
    /// For one request in all.
    deadline: Duration,
}

const PATIENCE: Patience = Patience {
    silence: Duration::from_secs(10),
    deadline: Duration::from_secs(120),
};

const AGENT: &str = concat!("windlass/", env!("CARGO_PKG_VERSION"));

const MANIFEST_TYPES: [&str; 2] = [
    manifest::OCI_IMAGE_MEDIA_TYPE,
    manifest::OCI_IMAGE_INDEX_MEDIA_TYPE,
];

/// A repository, and who asks.
pub(super) struct Registry {
    client: Client,
    host: String,
    repository: String,
    auth: RegistryAuth,
    patience: Patience,
}

impl Registry {
    pub(super) fn new(
        host: &str,
        repository: &str,
        access: &Access,
    ) -> Result<Self, RepositoryError> {
        Self::patient(host, repository, access, PATIENCE)
    }

    fn patient(
        host: &str,
        repository: &str,
        access: &Access,
        patience: Patience,
    ) -> Result<Self, RepositoryError> {
        tls::choose_cryptography();
        let authorities = access.authority.iter().map(|pem| Certificate {
            encoding: CertificateEncoding::Pem,
            data: pem.clone().into_bytes(),
        });
        let config = ClientConfig {
            protocol: match access.insecure {
                true => ClientProtocol::Http,
                false => ClientProtocol::Https,
            },
            extra_root_certificates: authorities.collect(),
            read_timeout: Some(patience.silence),
            connect_timeout: Some(patience.silence),
            user_agent: AGENT,
            ..ClientConfig::default()
        };
        let client = Client::try_from(config)
            .map_err(|error| RepositoryError::Certificate(error.to_string()))?;
        let auth = match &access.login {
            Some(login) => {
                RegistryAuth::Basic(login.user.clone(), login.password.as_str().to_owned())
            }
            None => RegistryAuth::Anonymous,
        };
        Ok(Self {
            client,
            host: host.into(),
            repository: repository.into(),
            auth,
            patience,
        })
    }

    fn named(&self, name: &Name) -> Reference {
        let (host, repository) = (self.host.clone(), self.repository.clone());
        match name {
            Name::Default => Reference::with_tag(host, repository, "latest".into()),
            Name::Tag(tag) => Reference::with_tag(host, repository, tag.clone()),
            Name::Digest(digest) => Reference::with_digest(host, repository, digest.to_string()),
        }
    }

    fn what(&self, name: &Name) -> String {
        self.named(name).to_string()
    }

    /// Runs one request in time and says in the error what was asked.
    async fn asked<T>(
        &self,
        what: &str,
        request: impl Future<Output = Result<T, OciDistributionError>>,
    ) -> Result<T, RepositoryError> {
        let deadline = self.patience.deadline;
        match tokio::time::timeout(deadline, request).await {
            Ok(answer) => answer.map_err(|error| failed(what, &error)),
            Err(_) => Err(RepositoryError::Unreachable {
                what: what.into(),
                why: format!("no whole answer within {} s", deadline.as_secs()),
            }),
        }
    }

    async fn may(&self, operation: RegistryOperation) -> Result<(), RepositoryError> {
        let name = self.named(&Name::Default);
        let what = format!("{}/{}", self.host, self.repository);
        let asked = self.client.auth(&name, &self.auth, operation);
        self.asked(&what, asked).await.map(drop)
    }
}

#[async_trait]
impl Repository for Registry {
    async fn manifest(&self, name: &Name) -> Result<Vec<u8>, RepositoryError> {
        let what = self.what(name);
        let reference = self.named(name);
        let asked = self
            .client
            .pull_manifest_raw(&reference, &self.auth, &MANIFEST_TYPES);
        let (bytes, _) = self.asked(&what, asked).await?;
        if bytes.len() > LARGEST_MANIFEST {
            return Err(RepositoryError::TooLarge {
                what,
                limit: LARGEST_MANIFEST,
            });
        }
        match name {
            Name::Digest(digest) if Digest::of(&bytes) != *digest => {
                Err(RepositoryError::Tampered {
                    what,
                    got: Digest::of(&bytes).to_string(),
                })
            }
            _ => Ok(bytes.to_vec()),
        }
    }

    async fn blob(&self, digest: &Digest, limit: usize) -> Result<Vec<u8>, RepositoryError> {
        let name = self.named(&Name::Digest(digest.clone()));
        let what = format!("the blob {digest} of {}/{}", self.host, self.repository);
        self.client
            .store_auth_if_needed(&self.host, &self.auth)
            .await;
        let (text, whole) = (digest.to_string(), what.clone());
        let read = async {
            let mut stream = self.client.pull_blob_stream(&name, text.as_str()).await?;
            let mut bytes = Vec::new();
            while let Some(piece) = stream.stream.try_next().await? {
                if bytes.len() + piece.len() > limit {
                    return Ok(Err(RepositoryError::TooLarge { what: whole, limit }));
                }
                bytes.extend_from_slice(&piece);
            }
            Ok(Ok(bytes))
        };
        let bytes = self.asked(&what, read).await??;
        match Digest::of(&bytes) {
            found if found == *digest => Ok(bytes),
            found => Err(RepositoryError::Tampered {
                what,
                got: found.to_string(),
            }),
        }
    }

    async fn referrers(&self, digest: &Digest) -> Result<Vec<OciDescriptor>, RepositoryError> {
        let name = Name::Digest(digest.clone());
        let what = format!("the referrers of {}", self.what(&name));
        let reference = self.named(&name);
        self.client
            .store_auth_if_needed(&self.host, &self.auth)
            .await;
        let index = self
            .asked(&what, self.client.pull_referrers(&reference, None))
            .await?;
        let descriptors = index.manifests.into_iter().map(|entry| OciDescriptor {
            media_type: entry.media_type,
            digest: entry.digest,
            size: entry.size,
            annotations: entry.annotations,
            ..OciDescriptor::default()
        });
        Ok(descriptors.collect())
    }

    async fn put_blob(&self, bytes: &[u8]) -> Result<(), RepositoryError> {
        self.may(RegistryOperation::Push).await?;
        let digest = Digest::of(bytes);
        let name = self.named(&Name::Digest(digest.clone()));
        let what = format!("the blob {digest}");
        let text = digest.to_string();
        let pushed = self.client.push_blob(&name, bytes.to_vec(), &text);
        self.asked(&what, pushed).await.map(drop)
    }

    async fn put_manifest(
        &self,
        bytes: &[u8],
        media_type: &str,
        tag: Option<&str>,
    ) -> Result<(), RepositoryError> {
        self.may(RegistryOperation::Push).await?;
        let name = match tag {
            Some(tag) => Name::Tag(tag.into()),
            None => Name::Digest(Digest::of(bytes)),
        };
        let what = self.what(&name);
        let media_type =
            HeaderValue::from_str(media_type).map_err(|error| RepositoryError::Malformed {
                what: what.clone(),
                why: error.to_string(),
            })?;
        let reference = self.named(&name);
        let pushed = self
            .client
            .push_manifest_raw(&reference, bytes.to_vec(), media_type);
        self.asked(&what, pushed).await.map(drop)
    }
}

/// What a failure means for who reads it.
fn failed(what: &str, error: &OciDistributionError) -> RepositoryError {
    use OciDistributionError as Error;
    let what = what.to_owned();
    let why = chain(error);
    match error {
        Error::UnauthorizedError { .. } | Error::AuthenticationFailure(_) => {
            RepositoryError::Unauthorized { what, why }
        }
        Error::ImageManifestNotFoundError(_) => RepositoryError::NotFound { what, why },
        Error::RegistryError { envelope, .. } => {
            match envelope.errors.first().map(|error| &error.code) {
                Some(OciErrorCode::Unauthorized | OciErrorCode::Denied) => {
                    RepositoryError::Unauthorized { what, why }
                }
                Some(OciErrorCode::Toomanyrequests) => RepositoryError::Throttled { what },
                Some(
                    OciErrorCode::ManifestUnknown
                    | OciErrorCode::NameUnknown
                    | OciErrorCode::NotFound
                    | OciErrorCode::BlobUnknown
                    | OciErrorCode::ManifestBlobUnknown,
                ) => RepositoryError::NotFound { what, why },
                _ => RepositoryError::Unreachable { what, why },
            }
        }
        Error::ServerError {
            code: 401 | 403, ..
        } => RepositoryError::Unauthorized { what, why },
        Error::ServerError { code: 404, .. } => RepositoryError::NotFound { what, why },
        Error::ServerError { code: 429, .. } => RepositoryError::Throttled { what },
        Error::DigestError(digest) => tampered(what, digest),
        Error::IoError(error) => match error.get_ref().and_then(|inner| inner.downcast_ref()) {
            Some(digest) => tampered(what, digest),
            None => RepositoryError::Unreachable { what, why },
        },
        Error::RequestError(_) if why.contains("certificate") => RepositoryError::Certificate(why),
        _ => RepositoryError::Unreachable { what, why },
    }
}

fn tampered(what: String, digest: &DigestError) -> RepositoryError {
    let got = match digest {
        DigestError::VerificationError { actual, .. } => actual.clone(),
        other => other.to_string(),
    };
    RepositoryError::Tampered { what, got }
}

/// An error with its causes, in one line of bounded length: parts of it come from the registry.
fn chain(error: &OciDistributionError) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let more = error.to_string();
        if !text.contains(&more) {
            text.push_str(": ");
            text.push_str(&more);
        }
        cause = error.source();
    }
    text.chars()
        .map(|character| {
            if character.is_control() {
                ' '
            } else {
                character
            }
        })
        .take(400)
        .collect()
}

#[cfg(test)]
mod tests;
