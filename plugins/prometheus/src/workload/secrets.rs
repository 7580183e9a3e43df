//! Secrets: the configuration, and files for TLS.

use std::borrow::Cow;
use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde_json::{Map, Value, json};
use windlass_sdk::{SecretManifest, Slot};

use crate::known::file_of;
use crate::names::Names;
use crate::yaml::{Asset, Piece, SecretRef};

/// The key of the configuration.
pub const CONFIGURATION: &str = "prometheus.yaml.gz";

/// The Secret with the configuration. `revision` names what stands in it; the sidecar gives it back once it is live.
#[must_use]
pub fn configuration(names: &Names, pieces: Vec<Piece>, revision: &str) -> SecretManifest {
    let slot = pieces
        .into_iter()
        .fold(Slot::new(), |slot, piece| match piece {
            Piece::Text(text) => slot.text(text),
            Piece::Scalar(secret) => slot.yaml_string(&secret.namespace, &secret.name, &secret.key),
            Piece::Items { secret, indent } => {
                slot.yaml_items(&secret.namespace, &secret.name, &secret.key, indent)
            }
        });
    SecretManifest::new(metadata(names.base()))
        .value(CONFIGURATION, slot)
        .value("revision", Slot::new().text(revision))
}

/// Names a configuration: it changes with any of its text, the places in it, and the values that stand there.
#[must_use]
pub fn revision(pieces: &[Piece], values: &BTreeMap<String, String>) -> String {
    let values = json!(values).to_string();
    let parts = pieces.iter().map(|piece| match piece {
        Piece::Text(text) => Cow::Borrowed(&**text),
        Piece::Scalar(secret) => Cow::Owned(json!(["string", place(secret)]).to_string()),
        Piece::Items { secret, indent } => {
            Cow::Owned(json!(["items", place(secret), indent]).to_string())
        }
    });
    windlass_sdk::fingerprint(parts.chain([Cow::Owned(values)]))
}

fn place(secret: &SecretRef) -> [&str; 3] {
    [&secret.namespace, &secret.name, &secret.key]
}

/// An empty configuration for a user to fill.
#[must_use]
pub fn unmanaged(names: &Names) -> SecretManifest {
    SecretManifest::new(metadata(names.base())).value(CONFIGURATION, Slot::new())
}

/// The Secret with certificates and keys that the configuration names as files.
#[must_use]
pub fn tls_assets(names: &Names, assets: &[(String, Asset)]) -> Value {
    let files: Map<String, Value> = assets.iter().map(|(_, asset)| file(asset)).collect();
    json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": names.tls_assets()},
        "type": "Opaque",
        "stringData": files,
    })
}

fn file(asset: &Asset) -> (String, Value) {
    match asset {
        Asset::Text { file, text } => (file.clone(), text.as_str().into()),
        Asset::Secret(secret) => {
            let slot = Slot::new().secret_from(&secret.namespace, &secret.name, &secret.key);
            (file_of(secret), json!(slot))
        }
    }
}

fn metadata(name: String) -> ObjectMeta {
    ObjectMeta {
        name: Some(name),
        ..ObjectMeta::default()
    }
}
