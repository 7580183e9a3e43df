//! The plugin's own configuration.

use serde::Deserialize;
use serde_json::{Value, json};

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
            host_image: "windlass.dev/windlass:dev".to_owned(),
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
