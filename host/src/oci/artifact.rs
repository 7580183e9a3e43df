//! The form of a plugin as an artifact: manifest, config, one layer.
//!
//! Read and written as the CNCF's Wasm OCI Artifact layout says. Packing one component twice gives the same bytes, so
//! the same digest.

use std::collections::BTreeMap;

use oci_client::manifest::OciImageManifest;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::Digest;

/// The media type of manifests.
pub const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
/// The media type of configs.
pub const CONFIG: &str = "application/vnd.wasm.config.v0+json";
/// The media type of layers.
pub const LAYER: &str = "application/wasm";

/// How a component begins: WebAssembly's magic, and the version of the component model.
const COMPONENT: &[u8; 8] = b"\0asm\x0d\0\x01\0";
/// How a core module begins.
const CORE_MODULE: &[u8; 8] = b"\0asm\x01\0\0\0";

/// What a manifest names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parts {
    /// The config's digest.
    pub config: Digest,
    /// The layer's digest.
    pub layer: Digest,
}

/// Why something is no plugin's artifact.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotAnArtifact {
    /// The manifest or config cannot be understood.
    #[error("its {part} cannot be understood: {why}")]
    Malformed {
        /// Which.
        part: &'static str,
        /// Why.
        why: String,
    },
    /// Another kind of artifact, such as a container image.
    #[error("its {part} has the media type {found}; a plugin's has {expected}")]
    Foreign {
        /// Which.
        part: &'static str,
        /// What it has.
        found: String,
        /// What it should have.
        expected: &'static str,
    },
    /// More or less than one layer.
    #[error("it has {0} layers; a plugin has one, its component")]
    Layers(usize),
    /// For another machine.
    #[error("it is made for {0}; a plugin is made for wasm and wasip2")]
    Architecture(String),
    /// Its config is about another layer.
    #[error("its config is about the layer {0}, which is not its layer")]
    OtherLayer(String),
    /// A WebAssembly module without the component model.
    #[error(
        "it is a core module, not a component: build for wasm32-wasip2, or wrap it with wasm-tools component new"
    )]
    CoreModule,
    /// No WebAssembly at all.
    #[error("it is not WebAssembly")]
    NotWasm,
}

impl NotAnArtifact {
    /// One word for a condition's reason.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::Malformed { .. } => "Malformed",
            Self::Foreign { .. } => "ForeignMediaType",
            Self::Layers(_) => "NotOneLayer",
            Self::Architecture(_) => "WrongArchitecture",
            Self::OtherLayer(_) => "Tampered",
            Self::CoreModule => "CoreModule",
            Self::NotWasm => "NotWebAssembly",
        }
    }
}

/// `application/vnd.wasm.config.v0+json`, as far as it matters here.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Config {
    created: String,
    architecture: String,
    os: String,
    layer_digests: Vec<String>,
}

/// An artifact ready to be put somewhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packed {
    /// The manifest.
    pub manifest: Vec<u8>,
    /// The config.
    pub config: Vec<u8>,
    /// The one layer.
    pub layer: Vec<u8>,
}

impl Packed {
    /// What it will be called.
    pub fn digest(&self) -> Digest {
        Digest::of(&self.manifest)
    }
}

/// Makes an artifact of a component. `annotations` are for people: title, version, …
///
/// # Errors
/// When it is not a component.
pub fn pack(
    component: &[u8],
    annotations: &BTreeMap<String, String>,
) -> Result<Packed, NotAnArtifact> {
    check_component(component)?;
    let layer = Digest::of(component);
    let config = json!({
        // Always the same, so that the same component is the same artifact.
        "created": "1970-01-01T00:00:00Z",
        "architecture": "wasm",
        "os": "wasip2",
        "layerDigests": [layer],
        "component": {
            "exports": ["windlass:plugin/operator"],
            "imports": ["windlass:plugin/log"],
            "target": "windlass:plugin/plugin",
        },
    });
    let config = config.to_string().into_bytes();
    let manifest = json!({
        "schemaVersion": 2,
        "mediaType": MANIFEST,
        "config": {"mediaType": CONFIG, "digest": Digest::of(&config), "size": config.len()},
        "layers": [{"mediaType": LAYER, "digest": layer, "size": component.len()}],
        "annotations": annotations,
    });
    Ok(Packed {
        manifest: manifest.to_string().into_bytes(),
        config,
        layer: component.to_vec(),
    })
}

/// What a manifest names, checked.
///
/// # Errors
/// When it is not the manifest of a plugin.
pub fn read_manifest(bytes: &[u8]) -> Result<Parts, NotAnArtifact> {
    let malformed = |why: String| NotAnArtifact::Malformed {
        part: "manifest",
        why,
    };
    let text: serde_json::Value =
        serde_json::from_slice(bytes).map_err(|error| malformed(error.to_string()))?;
    // An image that was built for several machines is an index; serde would only miss fields.
    let media_type = text["mediaType"].as_str().unwrap_or(MANIFEST);
    expect("manifest", media_type, MANIFEST)?;
    let manifest: OciImageManifest =
        serde_json::from_value(text).map_err(|error| malformed(error.to_string()))?;
    let OciImageManifest { config, layers, .. } = manifest;
    expect("config", &config.media_type, CONFIG)?;
    let [layer] = layers.as_slice() else {
        return Err(NotAnArtifact::Layers(layers.len()));
    };
    expect("layer", &layer.media_type, LAYER)?;
    let digest = |text: &str| {
        let parsed = text.parse();
        parsed.map_err(|error: super::digest::NotADigest| malformed(error.to_string()))
    };
    Ok(Parts {
        config: digest(&config.digest)?,
        layer: digest(&layer.digest)?,
    })
}

/// Checks a config against the layer that the manifest names.
///
/// # Errors
/// When it is for another machine, or about another layer.
pub fn check_config(bytes: &[u8], layer: &Digest) -> Result<(), NotAnArtifact> {
    let config: Config =
        serde_json::from_slice(bytes).map_err(|error| NotAnArtifact::Malformed {
            part: "config",
            why: error.to_string(),
        })?;
    if config.architecture != "wasm" || config.os != "wasip2" {
        let machine = format!("{} and {}", config.architecture, config.os);
        return Err(NotAnArtifact::Architecture(
            machine.chars().take(100).collect(),
        ));
    }
    match config.layer_digests.as_slice() {
        [only] if *only == layer.to_string() => Ok(()),
        others => Err(NotAnArtifact::OtherLayer(
            others.join(", ").chars().take(200).collect(),
        )),
    }
}

/// Checks how a component begins; whether it is valid, the compiler says.
///
/// # Errors
/// When it is a core module or no WebAssembly.
pub fn check_component(bytes: &[u8]) -> Result<(), NotAnArtifact> {
    match bytes.get(..8) {
        Some(begin) if begin == COMPONENT => Ok(()),
        Some(begin) if begin == CORE_MODULE => Err(NotAnArtifact::CoreModule),
        _ => Err(NotAnArtifact::NotWasm),
    }
}

fn expect(part: &'static str, found: &str, expected: &'static str) -> Result<(), NotAnArtifact> {
    match found == expected {
        true => Ok(()),
        false => Err(NotAnArtifact::Foreign {
            part,
            found: found.chars().take(200).collect(),
            expected,
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packed() -> Packed {
        pack(COMPONENT, &BTreeMap::new()).unwrap()
    }

    #[test]
    fn what_is_packed_is_read_and_always_the_same() {
        let packed = packed();
        let parts = read_manifest(&packed.manifest).unwrap();
        assert_eq!(parts.layer, Digest::of(COMPONENT));
        assert_eq!(parts.config, Digest::of(&packed.config));
        assert_eq!(check_config(&packed.config, &parts.layer), Ok(()));
        assert_eq!(packed.digest(), self::packed().digest());
    }

    #[test]
    fn what_is_no_plugin_is_named() {
        let manifest = String::from_utf8(packed().manifest).unwrap();
        let two = manifest.replace(
            "\"layers\":[",
            "\"layers\":[{\"mediaType\":\"application/wasm\",\"digest\":\"sha256:1\",\"size\":1},",
        );
        for (text, hint) in [
            (two, "2 layers"),
            (
                manifest.replace(LAYER, "application/vnd.oci.image.layer.v1.tar"),
                "layer has the media type",
            ),
            (
                manifest.replace(CONFIG, "application/vnd.oci.image.config.v1+json"),
                "config has the media type",
            ),
            (
                manifest.replace("image.manifest", "image.index"),
                "manifest has the media type",
            ),
            (manifest.replace("sha256:", "md5:"), "not a digest"),
            ("{".into(), "cannot be understood"),
            ("[]".into(), "cannot be understood"),
        ] {
            let error = read_manifest(text.as_bytes()).expect_err(hint).to_string();
            assert!(error.contains(hint), "{hint}: {error}");
        }
    }

    #[test]
    fn a_config_for_another_machine_or_layer_is_refused() {
        let config = String::from_utf8(packed().config).unwrap();
        let layer = Digest::of(COMPONENT);
        for (text, hint) in [
            (config.replace("wasip2", "linux"), "wasm and linux"),
            (config.replace("\"wasm\"", "\"amd64\""), "amd64"),
            (
                config.replace(layer.hex(), Digest::of(b"other").hex()),
                "not its layer",
            ),
            ("{}".into(), "cannot be understood"),
        ] {
            let error = check_config(text.as_bytes(), &layer)
                .expect_err(hint)
                .to_string();
            assert!(error.contains(hint), "{hint}: {error}");
        }
    }

    #[test]
    fn a_core_module_is_told_from_a_component_and_from_anything_else() {
        assert_eq!(check_component(CORE_MODULE), Err(NotAnArtifact::CoreModule));
        assert_eq!(check_component(b"#!/bin/sh"), Err(NotAnArtifact::NotWasm));
        assert_eq!(check_component(b"\0asm"), Err(NotAnArtifact::NotWasm));
    }
}
