//! Whether two parsed documents say the same.

use serde_json::Value;
use similar::TextDiff;

/// What differs, in words; None where nothing does. Lists are compared in order, mappings by key.
pub fn compare(theirs: &Value, ours: &Value) -> Option<String> {
    let at = difference(theirs, ours, String::new())?;
    let text = |value: &Value| serde_json::to_string_pretty(&sorted(value)).unwrap_or_default();
    let (theirs, ours) = (text(theirs), text(ours));
    let diff = TextDiff::from_lines(&theirs, &ours);
    Some(format!(
        "differs at {at} (- upstream, + here)\n{}",
        diff.unified_diff().context_radius(2)
    ))
}

fn difference(theirs: &Value, ours: &Value, at: String) -> Option<String> {
    match (theirs, ours) {
        (Value::Object(a), Value::Object(b)) => {
            let keys = a.keys().chain(b.keys());
            let mut differing = keys.filter_map(|key| {
                difference(
                    a.get(key).unwrap_or(&Value::Null),
                    b.get(key).unwrap_or(&Value::Null),
                    format!("{at}/{key}"),
                )
            });
            differing.next()
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            let mut pairs = a.iter().zip(b).enumerate();
            pairs.find_map(|(index, (a, b))| difference(a, b, format!("{at}/{index}")))
        }
        (Value::Number(a), Value::Number(b)) if a.as_f64() == b.as_f64() => None,
        // A mapping or list without entries says as little as none.
        (Value::Null, Value::Object(map)) | (Value::Object(map), Value::Null) if map.is_empty() => {
            None
        }
        (a, b) if a == b => None,
        _ => Some(at),
    }
}

/// The same with keys in order, for reading.
fn sorted(value: &Value) -> Value {
    match value {
        Value::Object(map) => {
            let ordered: std::collections::BTreeMap<&String, Value> = map
                .iter()
                .map(|(key, value)| (key, sorted(value)))
                .collect();
            ordered
                .into_iter()
                .map(|(key, value)| (key.clone(), value))
                .collect()
        }
        Value::Array(list) => list.iter().map(sorted).collect(),
        other => other.clone(),
    }
}
