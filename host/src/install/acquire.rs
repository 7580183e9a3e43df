//! From a source to the bytes of a component: fetched, its digests checked, its signature verified.

use std::collections::BTreeSet;
use std::path::Path;

use k8s_openapi::api::core::v1::Secret;
use kube::api::Api;

use crate::cluster::{Cluster, asked};
use crate::oci::content::Content;
use crate::oci::credentials::{self, Login};
use crate::oci::location::{Location, NotALocation, Place};
use crate::oci::repository::{self, Access, Repository, RepositoryError};
use crate::oci::signature::{self, NotAKey, NotVerified, PublicKey};
use crate::oci::tool;
use crate::oci::{Digest, FetchError, Fetcher, NotAnArtifact, artifact, fetch};
use crate::plugin::configuration::{PluginSpec, RegistryAccess, Source};

/// The key of a pull secret, as `kubectl create secret docker-registry` makes it.
const DOCKER_CONFIG: &str = ".dockerconfigjson";

/// Gets components from wherever they are.
pub struct Acquirer {
    fetcher: Fetcher,
    /// Which artifacts were verified with which keys: a registry that is down later does not stop them.
    verified: Content,
    logins: Logins,
}

/// Who asks a registry whose Plugin names a pull secret.
enum Logins {
    /// Nobody can say.
    Unknown,
    /// The host, by the pull secret, which lies in the host's own namespace.
    PullSecrets { cluster: Cluster, namespace: String },
    /// The person who runs this, as `docker login` noted.
    Own,
}

/// A component and what it is called.
#[derive(Clone, Debug)]
pub struct Acquired {
    /// The artifact's digest; of a file, its own.
    pub digest: Digest,
    /// The component.
    pub component: Vec<u8>,
    /// What of it is kept on disk.
    pub contents: BTreeSet<Digest>,
    /// True when a key of the policy has signed it.
    pub signed: bool,
}

/// Why a component was not acquired.
#[derive(Debug, thiserror::Error)]
pub enum AcquireError {
    /// The source cannot be understood.
    #[error(transparent)]
    Location(#[from] NotALocation),
    /// A file cannot be read, or is no component.
    #[error("failed to read the component {path}: {why}")]
    File {
        /// The file.
        path: String,
        /// Why.
        why: String,
    },
    /// The pull secret is not there or cannot be used.
    #[error("failed to use the pull secret {name}: {why}")]
    PullSecret {
        /// Its name.
        name: String,
        /// Why; never what is in it.
        why: String,
    },
    /// It was not fetched.
    #[error(transparent)]
    Fetch(#[from] FetchError),
    /// A key of the policy is none.
    #[error(transparent)]
    Key(#[from] NotAKey),
    /// Nobody known has signed it.
    #[error(transparent)]
    Signature(#[from] NotVerified),
    /// A file has no signature.
    #[error("a file carries no signature: use oci or layout as source, or leave out verify")]
    FileNotSigned,
}

impl AcquireError {
    /// One word for a condition's reason.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::Location(_) => "InvalidSource",
            Self::File { .. } => "FileFailed",
            Self::PullSecret { .. } => "PullSecretFailed",
            Self::Fetch(error) => error.reason(),
            Self::Key(_) => "InvalidKey",
            Self::Signature(error) => error.reason(),
            Self::FileNotSigned => "NotSigned",
        }
    }

    /// Whether the artifact was had, and only its signature is missing.
    pub fn is_about_signature(&self) -> bool {
        matches!(
            self,
            Self::Key(_) | Self::Signature(_) | Self::FileNotSigned
        )
    }
}

impl From<RepositoryError> for AcquireError {
    fn from(error: RepositoryError) -> Self {
        Self::Fetch(error.into())
    }
}

impl Acquirer {
    /// Keeps what it fetches in `folder`, which nobody else may write to; without a cluster, registries are asked by
    /// nobody in particular.
    ///
    /// # Errors
    /// When the folder cannot be made.
    pub fn new(folder: &Path) -> std::io::Result<Self> {
        Ok(Self {
            fetcher: Fetcher::new(Content::open(&folder.join("content"))?),
            verified: Content::open(&folder.join("verified"))?,
            logins: Logins::Unknown,
        })
    }

    /// The same with pull secrets from `namespace`.
    #[must_use]
    pub fn with_pull_secrets(self, cluster: Cluster, namespace: String) -> Self {
        Self {
            logins: Logins::PullSecrets { cluster, namespace },
            ..self
        }
    }

    /// The same for a person at a machine that need not reach the cluster: in the place of pull secrets stands how they
    /// are logged in to the registry.
    #[must_use]
    pub fn with_own_logins(self) -> Self {
        Self {
            logins: Logins::Own,
            ..self
        }
    }

    /// Acquires what `spec` names; where its tag was resolved before, that digest is `pinned`.
    ///
    /// # Errors
    /// Names the step that failed, and why.
    pub async fn acquire(
        &self,
        spec: &PluginSpec,
        pinned: Option<&Digest>,
    ) -> Result<Acquired, AcquireError> {
        let location = match located(&spec.source)? {
            Located::File(path) => return self.file(spec, path).await,
            Located::Artifact(location) => location,
        };
        let repository = self.repository(spec, &location).await?;
        let digest = match pinned {
            Some(pinned) if location.digest.is_none() => pinned.clone(),
            _ => self.fetcher.resolve(&*repository, &location).await?,
        };
        let fetched = self
            .fetcher
            .artifact(&*repository, &location, &digest)
            .await?;
        let signed = self.verify(spec, &*repository, &digest).await?;
        Ok(Acquired {
            digest,
            component: fetched.component,
            contents: fetched.contents,
            signed,
        })
    }

    /// Whether a key of the policy has signed it; false where there is no policy.
    async fn verify(
        &self,
        spec: &PluginSpec,
        repository: &dyn Repository,
        digest: &Digest,
    ) -> Result<bool, AcquireError> {
        let Some(verify) = &spec.verify else {
            return Ok(false);
        };
        let keys = verify.cosign_keys.iter().map(|pem| PublicKey::read(pem));
        let keys = keys.collect::<Result<Vec<_>, _>>()?;
        let seal = format!("{digest} {}", verify.cosign_keys.join(" ")).into_bytes();
        if self.verified.get(&Digest::of(&seal)).is_none() {
            signature::verify(repository, digest, &keys).await?;
            if let Err(error) = self.verified.put(&seal) {
                tracing::warn!(%error, "failed to remember who signed an artifact");
            }
        }
        Ok(true)
    }

    /// What the tag of `spec` means now; None where nothing is resolved by a tag.
    ///
    /// # Errors
    /// When the place does not answer or has no such tag.
    pub async fn resolve(&self, spec: &PluginSpec) -> Result<Option<Digest>, AcquireError> {
        let location = match located(&spec.source)? {
            Located::Artifact(location) if location.digest.is_none() => location,
            _ => return Ok(None),
        };
        let repository = self.repository(spec, &location).await?;
        Ok(Some(self.fetcher.resolve(&*repository, &location).await?))
    }

    /// Deletes content that was not used for long, when there is too much of it.
    ///
    /// # Errors
    /// When the folder cannot be read.
    pub fn make_room(&self, in_use: &BTreeSet<Digest>) -> std::io::Result<()> {
        self.fetcher.content().make_room(in_use)
    }

    async fn file(&self, spec: &PluginSpec, path: &Path) -> Result<Acquired, AcquireError> {
        if spec.verify.is_some() {
            return Err(AcquireError::FileNotSigned);
        }
        let failed = |why: String| AcquireError::File {
            path: path.display().to_string(),
            why,
        };
        let metadata = tokio::fs::metadata(path).await;
        let size = metadata.map_err(|error| failed(error.to_string()))?.len();
        if size > fetch::LARGEST_COMPONENT as u64 {
            return Err(failed(format!(
                "it is larger than {} bytes",
                fetch::LARGEST_COMPONENT
            )));
        }
        let read = tokio::fs::read(path).await;
        let component = read.map_err(|error| failed(error.to_string()))?;
        artifact::check_component(&component)
            .map_err(|why: NotAnArtifact| failed(why.to_string()))?;
        Ok(Acquired {
            digest: Digest::of(&component),
            component,
            contents: BTreeSet::new(),
            signed: false,
        })
    }

    async fn repository(
        &self,
        spec: &PluginSpec,
        location: &Location,
    ) -> Result<Box<dyn Repository>, AcquireError> {
        let access = match (&location.place, &spec.registry) {
            (Place::Registry { host, .. }, Some(registry)) => Access {
                login: self.login(registry, host).await?,
                authority: registry.ca.clone(),
                insecure: registry.insecure,
            },
            _ => Access::default(),
        };
        Ok(repository::open(location, &access)?)
    }

    async fn login(
        &self,
        registry: &RegistryAccess,
        host: &str,
    ) -> Result<Option<Login>, AcquireError> {
        let Some(name) = &registry.pull_secret else {
            return Ok(None);
        };
        let failed = |why: String| AcquireError::PullSecret {
            name: name.clone(),
            why,
        };
        let (cluster, namespace) = match &self.logins {
            Logins::PullSecrets { cluster, namespace } => (cluster, namespace),
            Logins::Own => return own_login(host).map(Some).map_err(failed),
            Logins::Unknown => return Err(failed("there is no cluster to read it from".into())),
        };
        let api: Api<Secret> = Api::namespaced(cluster.client(), namespace);
        let found = asked("get a pull secret", api.get_opt(name)).await;
        let secret = found
            .map_err(|error| failed(error.to_string()))?
            .ok_or_else(|| failed(format!("it is not in {namespace}")))?;
        let data = secret.data.unwrap_or_default();
        let config = data.get(DOCKER_CONFIG);
        let config = config.ok_or_else(|| failed(format!("it has no key {DOCKER_CONFIG}")))?;
        let login = credentials::login_for(host, &config.0);
        login.map(Some).map_err(|error| failed(error.to_string()))
    }
}

/// How the person who runs this is logged in to the registry `host`; or, in words, that they are not.
fn own_login(host: &str) -> Result<Login, String> {
    let login = tool::docker_login(host).map_err(|error| format!("{error:#}"))?;
    login.ok_or_else(|| {
        format!(
            "it is in the cluster, and here nobody is logged in: run docker login {host}, or pull the plugin elsewhere \
             with windlass plugin pull and name the file as source"
        )
    })
}

/// What a source names.
enum Located<'a> {
    File(&'a Path),
    Artifact(Location),
}

fn located(source: &Source) -> Result<Located<'_>, NotALocation> {
    match source {
        Source::File(path) => Ok(Located::File(path)),
        Source::Oci(text) => Location::in_registry(text).map(Located::Artifact),
        Source::Layout(text) => Location::in_layout(text).map(Located::Artifact),
    }
}
