//! What the plugin says about itself: the truth, and less than it does.

use serde_json::json;

const CRD: &str = include_str!("victim.yaml");

pub(crate) fn json() -> String {
    json!({
        "name": "hostile",
        "version": "0.1.0",
        "purpose": "does what no plugin should, for tests",
        "serves": [{
            "group": "hostile.windlass.dev", "version": "v1", "kind": "Victim", "finalizes": true
        }],
        "crds": [CRD],
        "owns": ["v1/ConfigMap", "v1/Secret"],
        "reads": [{"kind": "v1/Pod", "selector": ""}],
        "queries": {"redis": [6379], "http": []},
        "actions": {"redis": [6379]},
        "configSchema": {
            "type": "object",
            "properties": {"do": {"type": "string"}},
            "additionalProperties": false
        },
    })
    .to_string()
}
