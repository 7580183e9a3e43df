//! A digest of JSON that does not depend on the order of keys.

use serde_json::Value;
use sha2::{Digest, Sha256};

/// 32 hex digits that change when the value does.
pub(super) fn digest(value: &Value) -> String {
    let mut hash = Sha256::new();
    feed(value, &mut hash);
    hex::encode(&hash.finalize()[..16])
}

/// Feeds a value so that no two values feed the same bytes.
fn feed(value: &Value, hash: &mut Sha256) {
    match value {
        Value::Object(map) => {
            let mut entries: Vec<_> = map.iter().collect();
            entries.sort_by_key(|(key, _)| key.as_str());
            hash.update(format!("{{{}:", entries.len()));
            for (key, value) in entries {
                text(key, hash);
                feed(value, hash);
            }
        }
        Value::Array(list) => {
            hash.update(format!("[{}:", list.len()));
            list.iter().for_each(|item| feed(item, hash));
        }
        Value::String(string) => text(string, hash),
        Value::Null | Value::Bool(_) | Value::Number(_) => hash.update(format!("{value};")),
    }
}

fn text(text: &str, hash: &mut Sha256) {
    hash.update(format!("\"{}:", text.len()));
    hash.update(text.as_bytes());
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_order_of_keys_does_not_matter_and_everything_else_does() {
        let one: Value = serde_json::from_str(r#"{"a": 1, "b": [true, null]}"#).unwrap();
        let other: Value = serde_json::from_str(r#"{"b": [true, null], "a": 1}"#).unwrap();
        assert_eq!(digest(&one), digest(&other));
        let different = [
            json!({}),
            json!([]),
            json!(""),
            json!(null),
            json!(1),
            json!("1"),
            json!([1, 2]),
            json!([2, 1]),
            json!([[1], 2]),
            json!([1, [2]]),
            json!({"a": 1}),
            json!({"a": "1"}),
            json!(["a", 1]),
        ];
        let digests: std::collections::BTreeSet<_> = different.iter().map(digest).collect();
        assert_eq!(digests.len(), different.len());
    }
}
