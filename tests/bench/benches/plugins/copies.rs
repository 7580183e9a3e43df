//! Many plugins out of one: the same code under digests of their own, each compiled and kept by itself.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result};
use serde_json::{Value, json};
use windlass::plugin::configuration::PluginSpec;
use windlass::plugin::{Loader, Plugin};

/// The component with a custom section that names `number`: other bytes, the same meaning (the core specification of
/// WebAssembly, "Custom Section"; the component model has the same).
fn numbered(wasm: &[u8], number: u32) -> Vec<u8> {
    let content = [b"\x06number".as_slice(), &number.to_le_bytes()].concat();
    let section = [
        &[0, u8::try_from(content.len()).unwrap_or(u8::MAX)],
        &content[..],
    ]
    .concat();
    [wasm, &section].concat()
}

/// So many plugins that are loaded and have not been called.
pub(crate) async fn load(
    loader: &Loader,
    component: &Path,
    count: u32,
) -> Result<Vec<Arc<Plugin>>> {
    let wasm = std::fs::read(component)
        .with_context(|| format!("failed to read {}", component.display()))?;
    let spec = spec(component)?;
    let mut plugins = Vec::new();
    for number in 0..count {
        let name = format!("copy-{number}");
        let copy = numbered(&wasm, number);
        plugins.push(loader.prepare(&name, &spec, &copy).await?);
    }
    Ok(plugins)
}

fn spec(component: &Path) -> Result<PluginSpec> {
    let spec: Value = json!({"source": {"file": component}, "sampleEvery": 0});
    Ok(serde_json::from_value(spec)?)
}
