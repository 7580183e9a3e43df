//! Signatures that the real cosign made.

use std::path::{Path, PathBuf};

use super::*;
use crate::oci::Location;
use crate::oci::repository::{Access, open};

const SIGNER: &str = include_str!("cosign.pub");
const OTHER: &str = include_str!("other.pub");

/// In cosign's own form, and as a Sigstore bundle.
const FORMS: [&str; 2] = ["tagged", "bundled"];

fn signed() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src/oci/signature/signed")
}

fn repository(layout: &Path) -> Box<dyn Repository> {
    let location = Location::in_layout(&layout.display().to_string()).unwrap();
    open(&location, &Access::default()).unwrap()
}

async fn digest(repository: &dyn Repository, tag: &str) -> Digest {
    let manifest = repository.manifest(&Name::Tag(tag.into())).await;
    Digest::of(&manifest.unwrap())
}

async fn verified(layout: &Path, tag: &str, keys: &[&str]) -> Result<(), NotVerified> {
    let repository = repository(layout);
    let digest = digest(&*repository, tag).await;
    let keys: Vec<_> = keys
        .iter()
        .map(|pem| PublicKey::read(pem).unwrap())
        .collect();
    verify(&*repository, &digest, &keys).await
}

/// A copy to be damaged.
struct Copy(tempfile::TempDir);

impl Copy {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let blobs = folder.path().join("blobs/sha256");
        std::fs::create_dir_all(&blobs).unwrap();
        for entry in std::fs::read_dir(signed().join("blobs/sha256")).unwrap() {
            let entry = entry.unwrap();
            std::fs::copy(entry.path(), blobs.join(entry.file_name())).unwrap();
        }
        std::fs::copy(
            signed().join("index.json"),
            folder.path().join("index.json"),
        )
        .unwrap();
        Self(folder)
    }

    /// Gives the manifest that one tag names another tag.
    fn rename(&self, from: &str, to: &str) {
        let path = self.0.path().join("index.json");
        let index = std::fs::read_to_string(&path).unwrap();
        let (from, to) = (format!("\"{from}\""), format!("\"{to}\""));
        assert!(index.contains(&from), "{index}");
        std::fs::write(path, index.replace(&from, &to)).unwrap();
    }
}

#[tokio::test]
async fn both_forms_are_known_by_the_signers_key_among_others() {
    for form in FORMS {
        verified(&signed(), form, &[SIGNER]).await.unwrap();
        verified(&signed(), form, &[OTHER, SIGNER]).await.unwrap();
    }
}

#[tokio::test]
async fn another_key_or_none_is_not_enough() {
    for form in FORMS {
        for keys in [&[OTHER][..], &[]] {
            let error = verified(&signed(), form, keys).await.unwrap_err();
            assert_eq!(error.reason(), "SignedByAnotherKey", "{form}: {error}");
        }
    }
}

#[tokio::test]
async fn what_nobody_signed_is_told_as_such() {
    let repository = repository(&signed());
    let stranger = Digest::of(b"something else");
    let keys = [PublicKey::read(SIGNER).unwrap()];
    let error = verify(&*repository, &stranger, &keys).await.unwrap_err();
    assert_eq!(error.reason(), "NotSigned", "{error}");
    assert!(error.to_string().contains("cosign sign"), "{error}");
}

/// The signature is right, but of another artifact.
#[tokio::test]
async fn a_signature_is_for_its_own_artifact_alone() {
    let copy = Copy::new();
    let all = repository(copy.0.path());
    let (tagged, bundled) = (
        digest(&*all, "tagged").await,
        digest(&*all, "bundled").await,
    );
    let own = |digest: &Digest| format!("sha256-{}.sig", digest.hex());
    copy.rename(&own(&tagged), &own(&bundled));
    // Without the bundle, which is good.
    copy.rename(&format!("sha256-{}", bundled.hex()), "elsewhere");
    let error = verified(copy.0.path(), "bundled", &[SIGNER]).await;
    let error = error.unwrap_err();
    assert_eq!(error.reason(), "SignedByAnotherKey", "{error}");
    let error = verified(copy.0.path(), "tagged", &[SIGNER]).await;
    assert_eq!(error.unwrap_err().reason(), "NotSigned");
}

#[tokio::test]
async fn a_changed_statement_is_refused() {
    let copy = Copy::new();
    let mut changed = 0;
    for entry in std::fs::read_dir(copy.0.path().join("blobs/sha256")).unwrap() {
        let path = entry.unwrap().path();
        let text = String::from_utf8_lossy(&std::fs::read(&path).unwrap()).into_owned();
        if text.contains("docker-manifest-digest") || text.contains("dsseEnvelope") {
            std::fs::write(&path, text + " ").unwrap();
            changed += 1;
        }
    }
    assert_eq!(changed, 2);
    for form in FORMS {
        let error = verified(copy.0.path(), form, &[SIGNER]).await.unwrap_err();
        assert_eq!(error.reason(), "Tampered", "{form}: {error}");
    }
}

#[test]
fn what_is_no_key_of_cosign_is_refused() {
    for text in ["", "ssh-ed25519 AAAA", &SIGNER.replace("MFkw", "MFkx")] {
        let error = PublicKey::read(text).unwrap_err();
        assert!(error.to_string().contains("P-256"), "{error}");
    }
}
