//! Golden files: what is rendered, beside what a person reviewed. Feature `golden`, for tests only.
//!
//! `UPDATE_GOLDEN=1 cargo test` writes the files anew.

use std::path::Path;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Fails with a difference when the file does not hold this object as YAML; with `UPDATE_GOLDEN`
/// set, writes it.
///
/// # Panics
/// When they differ, or the file cannot be written.
pub fn check(file: &Path, object: &impl Serialize) {
    check_text(file, &yaml(object));
}

/// The same for a CRD: its heading says where it comes from, and its descriptions are one line a
/// paragraph, since `kubectl explain` breaks lines itself.
///
/// # Panics
/// When they differ, or the file cannot be written.
pub fn check_crd(folder: &Path, crd: &CustomResourceDefinition, source: &str) {
    let name = format!("{}_{}.yaml", crd.spec.group, crd.spec.names.plural);
    let mut value = serde_json::to_value(crd).unwrap_or_default();
    join_lines(&mut value);
    let heading = format!("# Generated from the Rust types of {source}; see README.md.\n");
    check_text(&folder.join(name), &(heading + &yaml(&value)));
}

/// An object as people write it, in YAML: a sample that lies beside the code.
///
/// # Panics
/// When it is no such object.
#[must_use]
pub fn object<T: DeserializeOwned>(yaml: &str) -> T {
    match serde_saphyr::from_str(yaml) {
        Ok(object) => object,
        Err(why) => panic!("failed to read {}: {why}", std::any::type_name::<T>()),
    }
}

fn check_text(file: &Path, rendered: &str) {
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        if let Err(why) = std::fs::write(file, rendered) {
            panic!("failed to write {}: {why}", file.display());
        }
        return;
    }
    let reviewed = std::fs::read_to_string(file).unwrap_or_default();
    if reviewed != rendered {
        let difference = similar::TextDiff::from_lines(reviewed.as_str(), rendered);
        panic!(
            "{} differs; if it is meant, run the test with UPDATE_GOLDEN=1 and review:\n{}",
            file.display(),
            difference.unified_diff()
        );
    }
}

fn yaml(object: &impl Serialize) -> String {
    match serde_saphyr::to_string(object) {
        Ok(yaml) => yaml,
        Err(why) => panic!("failed to write as YAML: {why}"),
    }
}

fn join_lines(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            if let Some(Value::String(text)) = fields.get_mut("description") {
                let paragraphs: Vec<String> = text
                    .split("\n\n")
                    .map(|paragraph| paragraph.replace('\n', " "))
                    .collect();
                *text = paragraphs.join("\n\n");
            }
            fields.values_mut().for_each(join_lines);
        }
        Value::Array(list) => list.iter_mut().for_each(join_lines),
        _ => {}
    }
}
