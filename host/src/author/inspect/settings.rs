//! A plugin's configuration as a list of settings.

use serde_json::Value;

/// One line for each setting of a JSON schema, its path first; empty where there are none.
pub(super) fn settings(schema: &Value) -> Vec<[String; 2]> {
    let mut lines = Vec::new();
    list(schema, "", &mut lines);
    lines
}

fn list(schema: &Value, path: &str, lines: &mut Vec<[String; 2]>) {
    let required = schema["required"].as_array();
    let is_required =
        |field: &str| required.is_some_and(|names| names.iter().any(|name| name == field));
    for (field, inner) in schema["properties"].as_object().into_iter().flatten() {
        let path = match path {
            "" => field.clone(),
            path => format!("{path}.{field}"),
        };
        if inner["properties"].is_object() {
            list(inner, &path, lines);
        } else {
            let told = told(inner, is_required(field));
            lines.push([path, told]);
        }
    }
}

fn told(schema: &Value, required: bool) -> String {
    let mut words = vec![schema["type"].as_str().unwrap_or("anything").to_owned()];
    if required {
        words.push("required".to_owned());
    }
    if let Some(default) = schema.get("default") {
        words.push(format!("default {default}"));
    }
    if let Some(choice) = schema["enum"].as_array() {
        let choice: Vec<_> = choice.iter().map(ToString::to_string).collect();
        words.push(format!("one of {}", choice.join(", ")));
    }
    let form = words.join(", ");
    match schema["description"].as_str() {
        Some(text) => format!("{} ({form})", text.lines().next().unwrap_or_default()),
        None => form,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn settings_are_listed_by_path_with_what_they_take() {
        let schema = json!({
            "type": "object",
            "required": ["domain"],
            "properties": {
                "domain": {"type": "string", "description": "The cluster's domain."},
                "images": {"type": "object", "properties": {
                    "policy": {"enum": ["Always", "Never"], "default": "Never"},
                }},
            },
        });
        assert_eq!(
            settings(&schema),
            [
                [
                    "domain".to_owned(),
                    "The cluster's domain. (string, required)".to_owned()
                ],
                [
                    "images.policy".to_owned(),
                    "anything, default \"Never\", one of \"Always\", \"Never\"".to_owned()
                ],
            ]
        );
        assert!(settings(&json!({})).is_empty());
    }
}
