//! The plugin's own configuration, set by whoever runs the host.

use serde::Deserialize;
use serde_json::{Value, json};

/// The image of the sidecar where nothing is configured: the host's own.
const RELOADER: &str = concat!("windlass.dev/windlass:", env!("CARGO_PKG_VERSION"));

/// The plugin's own configuration.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PluginConfig {
    /// The image that runs `windlass reload-config`.
    pub reloader_image: String,
}

impl Default for PluginConfig {
    fn default() -> Self {
        Self {
            reloader_image: RELOADER.to_owned(),
        }
    }
}

/// Its JSON schema.
#[must_use]
pub fn schema() -> Value {
    json!({
        "type": "object",
        "additionalProperties": false,
        "properties": {
            "reloaderImage": {
                "type": "string",
                "minLength": 1,
                "description": "The image that runs windlass reload-config beside each Prometheus: the host's own.",
            },
        },
    })
}
