//! Where an artifact is: `oci://HOST/REPOSITORY[:TAG][@DIGEST]`, or a layout's `FOLDER[:TAG][@DIGEST]`.

use std::fmt;
use std::path::PathBuf;

use oci_client::Reference;

use super::Digest;

/// How locations in registries begin.
pub const SCHEME: &str = "oci://";

/// Where an artifact is, and which.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Location {
    /// Where.
    pub place: Place,
    /// Which, as people call it.
    pub tag: Option<String>,
    /// Which, exactly.
    pub digest: Option<Digest>,
}

/// Where artifacts lie.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// A repository of a registry.
    Registry {
        /// `oci.example.com` or `oci.example.com:5000`.
        host: String,
        /// `plugins/redis`.
        repository: String,
    },
    /// An OCI image layout on disk.
    Layout(PathBuf),
}

/// A text that is no location.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("\"{text}\" does not say where an artifact is: {why}")]
pub struct NotALocation {
    text: String,
    why: String,
}

impl Location {
    /// Reads `oci://HOST/REPOSITORY[:TAG][@DIGEST]`.
    ///
    /// # Errors
    /// When a part is missing or malformed. The registry's name is never guessed.
    pub fn in_registry(text: &str) -> Result<Self, NotALocation> {
        let named = |why: &str| NotALocation {
            text: text.chars().take(300).collect(),
            why: why.into(),
        };
        let rest = text
            .strip_prefix(SCHEME)
            .ok_or_else(|| named("it begins with oci://"))?;
        let host = rest.split('/').next().unwrap_or_default();
        if !(host.contains(['.', ':']) || host == "localhost") || host == rest {
            return Err(named(
                "write oci://HOST/REPOSITORY:TAG, with the registry's whole name",
            ));
        }
        let reference: Reference = rest.parse().map_err(|error| named(&format!("{error}")))?;
        let digest = reference.digest().map(str::parse).transpose();
        // Where nothing was said, the library says latest.
        let last = without_digest(rest).rsplit('/').next();
        let tagged = last.is_some_and(|last| last.contains(':'));
        Ok(Self {
            place: Place::Registry {
                host: reference.registry().to_owned(),
                repository: reference.repository().to_owned(),
            },
            tag: reference.tag().filter(|_| tagged).map(str::to_owned),
            digest: digest.map_err(|error: super::digest::NotADigest| named(&error.to_string()))?,
        })
    }

    /// Reads `FOLDER[:TAG][@DIGEST]`.
    ///
    /// # Errors
    /// When the folder is missing or the digest is none.
    pub fn in_layout(text: &str) -> Result<Self, NotALocation> {
        let named = |why: &str| NotALocation {
            text: text.chars().take(300).collect(),
            why: why.into(),
        };
        let (rest, digest) = match text.rsplit_once('@') {
            Some((rest, digest)) => {
                let digest = digest
                    .parse::<Digest>()
                    .map_err(|error| named(&error.to_string()))?;
                (rest, Some(digest))
            }
            None => (text, None),
        };
        let (folder, tag) = match rest.rsplit_once(':') {
            Some((folder, tag)) if !tag.contains('/') => (folder, Some(tag.to_owned())),
            _ => (rest, None),
        };
        match folder.is_empty() {
            true => Err(named("write FOLDER or FOLDER:TAG")),
            false => Ok(Self {
                place: Place::Layout(folder.into()),
                tag,
                digest,
            }),
        }
    }

    /// What a person gives to a command: with `oci://` a registry, else a layout.
    ///
    /// # Errors
    /// As the two above.
    pub fn given(text: &str) -> Result<Self, NotALocation> {
        match text.starts_with(SCHEME) {
            true => Self::in_registry(text),
            false => Self::in_layout(text),
        }
    }
}

fn without_digest(text: &str) -> &str {
    text.split_once('@').map_or(text, |(before, _)| before)
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Registry { host, repository } => write!(f, "{SCHEME}{host}/{repository}"),
            Self::Layout(folder) => write!(f, "{}", folder.display()),
        }
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.place.fmt(f)?;
        if let Some(tag) = &self.tag {
            write!(f, ":{tag}")?;
        }
        match &self.digest {
            Some(digest) => write!(f, "@{digest}"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIGEST: &str = "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

    #[test]
    fn locations_are_read_and_written_in_the_same_form() {
        for text in [
            "oci://oci.example.com/plugins/redis:0.1.0",
            "oci://oci.example.com:5000/plugins/redis",
            "oci://localhost:5000/redis:latest",
            &format!("oci://localhost/redis@{DIGEST}"),
            &format!("oci://oci.example.com/plugins/redis:1@{DIGEST}"),
            "/plugins",
            "plugins:redis",
            &format!("/plugins:redis@{DIGEST}"),
        ] {
            assert_eq!(
                Location::given(text).map(|location| location.to_string()),
                Ok(text.into())
            );
        }
    }

    #[test]
    fn a_mistake_is_named_and_no_registry_is_guessed() {
        for (text, hint) in [
            ("oci://redis", "whole name"),
            ("oci://plugins/redis:1", "whole name"),
            ("oci://oci.example.com", "HOST/REPOSITORY"),
            ("oci://oci.example.com/Plugins", "reference format"),
            ("oci://oci.example.com/redis@sha256:12", "sha256"),
            (":tag", "FOLDER"),
            ("/plugins@latest", "sha256"),
        ] {
            let error = Location::given(text).expect_err(text).to_string();
            assert!(error.contains(hint), "{text}: {error}");
        }
    }
}
