//! Who made an artifact: signatures that cosign made with a key.
//!
//! Two forms are known: cosign's own, under the tag `sha256-DIGEST.sig`, and the Sigstore bundle, which refers to the
//! artifact (OCI 1.1). One signature by one of the keys is enough. What is signed is the manifest's digest, and with it
//! every byte. Formats: cosign's `SIGNATURE_SPEC.md`, Sigstore's `sigstore_bundle.proto`, and DSSE's `protocol.md`.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use oci_client::manifest::OciImageManifest;
use p256::ecdsa::signature::Verifier;
use p256::ecdsa::{Signature, VerifyingKey};
use p256::pkcs8::DecodePublicKey;
use serde::Deserialize;

use super::Digest;
use super::digest::NotADigest;
use super::repository::{LARGEST_MANIFEST, Name, Repository, RepositoryError};

const SIMPLE_SIGNING: &str = "application/vnd.dev.cosign.simplesigning.v1+json";
const SIGNATURE_ANNOTATION: &str = "dev.cosignproject.cosign/signature";
const BUNDLE: &str = "application/vnd.dev.sigstore.bundle";
const IN_TOTO: &str = "application/vnd.in-toto+json";
const COSIGN_SIGN: &str = "https://sigstore.dev/cosign/sign/v1";

/// Signatures of one artifact that are looked at.
const MOST_SIGNATURES: usize = 32;

/// Somebody's public key: ECDSA on P-256, which is what cosign makes.
#[derive(Clone)]
pub struct PublicKey(VerifyingKey);

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PublicKey(…)")
    }
}

/// A text that is no public key.
#[derive(Debug, thiserror::Error)]
#[error("the public key is not one that cosign makes (PEM, ECDSA P-256): {0}")]
pub struct NotAKey(String);

/// Why nobody known has signed an artifact.
#[derive(Debug, thiserror::Error)]
pub enum NotVerified {
    /// There is no signature.
    #[error("{0} is not signed: sign it with cosign sign --key, or leave out verify")]
    NotSigned(Digest),
    /// There are some, none by a known key.
    #[error("{digest} has {count} signatures, none of them by a key in verify.cosignKeys")]
    OtherKey {
        /// The artifact.
        digest: Digest,
        /// How many there are.
        count: usize,
    },
    /// Signatures could not be looked for.
    #[error("failed to look for signatures: {0}")]
    Repository(#[from] RepositoryError),
}

impl NotVerified {
    /// One word for a condition's reason.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::NotSigned(_) => "NotSigned",
            Self::OtherKey { .. } => "SignedByAnotherKey",
            Self::Repository(error) => error.reason(),
        }
    }
}

impl PublicKey {
    /// Reads PEM, as `cosign generate-key-pair` writes it into `cosign.pub`.
    ///
    /// # Errors
    /// When it is something else.
    pub fn read(pem: &str) -> Result<Self, NotAKey> {
        VerifyingKey::from_public_key_pem(pem.trim())
            .map(Self)
            .map_err(|error| NotAKey(error.to_string()))
    }

    fn has_signed(&self, message: &[u8], signature: &[u8]) -> bool {
        Signature::from_der(signature)
            .is_ok_and(|signature| self.0.verify(message, &signature).is_ok())
    }
}

/// A statement about an artifact, and its signature.
#[derive(Debug)]
struct Signed {
    message: Vec<u8>,
    signature: Vec<u8>,
    /// The manifest that the message names.
    about: Option<Digest>,
}

/// Succeeds when one of `keys` has signed the artifact of that digest.
///
/// # Errors
/// When none has, or the place does not answer.
pub async fn verify(
    repository: &dyn Repository,
    digest: &Digest,
    keys: &[PublicKey],
) -> Result<(), NotVerified> {
    let mut signatures = tagged(repository, digest).await?;
    signatures.extend(referring(repository, digest).await?);
    let by_known = |signed: &Signed| {
        let mut known = keys.iter();
        known.any(|key| key.has_signed(&signed.message, &signed.signature))
    };
    let about_it = |signed: &Signed| signed.about.as_ref() == Some(digest);
    match signatures.len() {
        0 => Err(NotVerified::NotSigned(digest.clone())),
        _ if signatures
            .iter()
            .any(|signed| about_it(signed) && by_known(signed)) =>
        {
            Ok(())
        }
        count => Err(NotVerified::OtherKey {
            digest: digest.clone(),
            count,
        }),
    }
}

/// cosign's own form.
async fn tagged(
    repository: &dyn Repository,
    digest: &Digest,
) -> Result<Vec<Signed>, RepositoryError> {
    let tag = format!("sha256-{}.sig", digest.hex());
    let manifest = match repository.manifest(&Name::Tag(tag)).await {
        Ok(manifest) => manifest,
        Err(RepositoryError::NotFound { .. }) => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let Ok(manifest) = serde_json::from_slice::<OciImageManifest>(&manifest) else {
        return Ok(Vec::new());
    };
    let mut signatures = Vec::new();
    for layer in manifest.layers.into_iter().take(MOST_SIGNATURES) {
        let annotation = layer
            .annotations
            .as_ref()
            .and_then(|all| all.get(SIGNATURE_ANNOTATION));
        let signature = annotation.and_then(|text| STANDARD.decode(text).ok());
        let (Some(signature), Ok(blob), SIMPLE_SIGNING) = (
            signature,
            layer.digest.parse::<Digest>(),
            layer.media_type.as_str(),
        ) else {
            continue;
        };
        let message = repository.blob(&blob, LARGEST_MANIFEST).await?;
        let about = simple_signing_subject(&message);
        signatures.push(Signed {
            message,
            signature,
            about,
        });
    }
    Ok(signatures)
}

fn simple_signing_subject(message: &[u8]) -> Option<Digest> {
    let payload: serde_json::Value = serde_json::from_slice(message).ok()?;
    let critical = &payload["critical"];
    (critical["type"] == "cosign container image signature").then_some(())?;
    critical["image"]["docker-manifest-digest"]
        .as_str()?
        .parse()
        .ok()
}

/// Sigstore bundles that refer to the artifact.
async fn referring(
    repository: &dyn Repository,
    digest: &Digest,
) -> Result<Vec<Signed>, RepositoryError> {
    let referrers = repository.referrers(digest).await?;
    let mut signatures = Vec::new();
    for referrer in referrers.into_iter().take(MOST_SIGNATURES) {
        let Ok(name) = referrer.digest.parse() else {
            continue;
        };
        let manifest = repository.manifest(&Name::Digest(name)).await?;
        let Ok(manifest) = serde_json::from_slice::<OciImageManifest>(&manifest) else {
            continue;
        };
        let bundles = manifest
            .layers
            .iter()
            .filter(|layer| layer.media_type.starts_with(BUNDLE));
        for layer in bundles.take(MOST_SIGNATURES) {
            let blob: Result<Digest, NotADigest> = layer.digest.parse();
            if let Ok(blob) = blob {
                let bundle = repository.blob(&blob, LARGEST_MANIFEST).await?;
                signatures.extend(bundled(&bundle));
            }
        }
    }
    Ok(signatures)
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Bundle {
    dsse_envelope: Envelope,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Envelope {
    payload: String,
    payload_type: String,
    signatures: Vec<EnvelopeSignature>,
}

#[derive(Deserialize)]
struct EnvelopeSignature {
    sig: String,
}

fn bundled(bytes: &[u8]) -> Vec<Signed> {
    let Ok(Bundle {
        dsse_envelope: envelope,
    }) = serde_json::from_slice(bytes)
    else {
        return Vec::new();
    };
    let Ok(payload) = STANDARD.decode(&envelope.payload) else {
        return Vec::new();
    };
    let about = match envelope.payload_type == IN_TOTO {
        true => statement_subject(&payload),
        false => None,
    };
    let message = pre_authentication_encoding(&envelope.payload_type, &payload);
    let signatures = envelope.signatures.iter().take(MOST_SIGNATURES);
    signatures
        .filter_map(|EnvelopeSignature { sig }| STANDARD.decode(sig).ok())
        .map(|signature| Signed {
            message: message.clone(),
            signature,
            about: about.clone(),
        })
        .collect()
}

/// What DSSE signs: type and body, each with its length, so that neither can be taken for the other.
fn pre_authentication_encoding(kind: &str, body: &[u8]) -> Vec<u8> {
    let head = format!("DSSEv1 {} {kind} {} ", kind.len(), body.len());
    [head.as_bytes(), body].concat()
}

fn statement_subject(payload: &[u8]) -> Option<Digest> {
    let statement: serde_json::Value = serde_json::from_slice(payload).ok()?;
    (statement["predicateType"] == COSIGN_SIGN).then_some(())?;
    let hex = statement["subject"][0]["digest"]["sha256"].as_str()?;
    format!("sha256:{hex}").parse().ok()
}

#[cfg(test)]
mod tests;
