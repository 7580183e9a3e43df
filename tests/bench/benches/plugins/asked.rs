//! A call to the plugin that misbehaves on request.

use serde_json::json;
use windlass::plugin::bindings::Request;

/// A request that has it do `behaviour`, for an object of this name.
pub(crate) fn to_do(behaviour: &str, name: &str) -> Request {
    let object = json!({
        "apiVersion": "hostile.windlass.dev/v1", "kind": "Victim",
        "metadata": {"name": name, "namespace": "default",
            "annotations": {"hostile.windlass.dev/do": behaviour}},
    });
    Request {
        object: object.to_string(),
        children: Vec::new(),
        facts: Vec::new(),
        outcomes: Vec::new(),
        running: Vec::new(),
        available: Vec::new(),
        now: 0,
        config: "{}".into(),
        deletion: None,
    }
}
