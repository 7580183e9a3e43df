//! The plugin's own configuration.

use serde::Deserialize;
use serde_json::{Value, json};

/// The image where nothing is configured: the host's own, of this release.
const HOST: &str = concat!("windlass.dev/windlass:", env!("CARGO_PKG_VERSION"));

/// What the Plugin's `spec.config` says.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Config {
    /// The image that has the host's own program: it stores backups.
    pub host_image: String,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            host_image: HOST.to_owned(),
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
            "hostImage": {
                "type": "string",
                "minLength": 1,
                "description": "The image that has the host's own program: it stores backups."
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::Config;

    #[test]
    fn the_installation_names_the_image_that_is_the_default() {
        let text = include_str!("../../../deploy/plugins/mysql.yaml");
        let plugin: Value = serde_saphyr::from_str(text).unwrap();
        let config: Config = serde_json::from_value(plugin["spec"]["config"].clone()).unwrap();
        assert_eq!(config, Config::default());
    }
}
