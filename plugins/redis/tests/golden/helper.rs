//! Compares what was rendered with what was reviewed.

use std::path::Path;

use serde_json::Value;

/// Fails with a difference when the file does not hold this object; with UPDATE_GOLDEN set, writes it.
pub(crate) fn check(name: &str, object: &Value) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/golden")
        .join(name);
    let rendered = serde_saphyr::to_string(object).unwrap();
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&file, rendered).unwrap();
        return;
    }
    let reviewed = std::fs::read_to_string(&file).unwrap_or_default();
    if reviewed != rendered {
        let difference = similar::TextDiff::from_lines(&reviewed, &rendered);
        panic!(
            "{name} differs; if it is meant, run with UPDATE_GOLDEN=1 and review:\n{}",
            difference.unified_diff()
        );
    }
}
