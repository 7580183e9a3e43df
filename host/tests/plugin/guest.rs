//! Finds the components that tests call, building them when they are missing or old.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use serde_json::Value;

/// The plugin that misbehaves on request.
pub(crate) fn hostile() -> &'static PathBuf {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| build("windlass-hostile-guest"))
}

/// Builds a guest and returns its component. cargo does nothing when it is there and up to date.
fn build(package: &str) -> PathBuf {
    let output = Command::new(env!("CARGO"))
        .args([
            "build",
            "--profile",
            "guest",
            "--target",
            "wasm32-wasip2",
            "--package",
            package,
        ])
        .args(["--message-format", "json"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .stderr(Stdio::inherit())
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "{package} was not built");
    let messages = String::from_utf8(output.stdout).expect("cargo writes UTF-8");
    messages
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .filter_map(|message| Some(message["filenames"].as_array()?.clone()))
        .flatten()
        .filter_map(|name| name.as_str().map(PathBuf::from))
        .rfind(|path| {
            path.extension()
                .is_some_and(|extension| extension == "wasm")
        })
        .unwrap_or_else(|| panic!("cargo built no component for {package}"))
}
