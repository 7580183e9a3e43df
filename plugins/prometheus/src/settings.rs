//! The plugin's own configuration, set by whoever runs the host.

use serde::Deserialize;
use serde_json::{Value, json};

/// The image of the sidecar where nothing is configured: the host's own, of this release.
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

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::{PluginConfig, RELOADER};

    #[test]
    fn the_installation_names_the_image_that_is_the_default() {
        let text = include_str!("../../../deploy/plugins/prometheus.yaml");
        let plugin: Value = serde_saphyr::from_str(text).unwrap();
        let config: PluginConfig =
            serde_json::from_value(plugin["spec"]["config"].clone()).unwrap();
        assert_eq!(config.reloader_image, RELOADER);
    }
}
