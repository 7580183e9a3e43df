//! my.cnf and the boot script.

use k8s_openapi::api::core::v1::ConfigMap;
use windlass_sdk::quantity;

use super::Blueprint;

const BOOT: &str = include_str!("../../files/boot.sh");
const DUMP: &str = include_str!("../../files/dump.sh");
const FIRST: &str = include_str!("../../files/first.sql");
const FIXED: &str = include_str!("../../files/my.cnf");

/// The ConfigMap that is mounted at /etc/windlass.
pub fn config(of: &Blueprint<'_>) -> ConfigMap {
    let files = [
        ("boot.sh", BOOT.to_owned()),
        ("dump.sh", DUMP.to_owned()),
        ("first.sql", FIRST.to_owned()),
        ("my.cnf", my_cnf(of)),
    ];
    ConfigMap {
        metadata: of.names.metadata(of.names.config()),
        data: Some(files.map(|(name, text)| (name.to_owned(), text)).into()),
        ..ConfigMap::default()
    }
}

fn my_cnf(of: &Blueprint<'_>) -> String {
    match buffer_pool(of) {
        Some(bytes) => {
            format!("{FIXED}\n# Half of the memory request.\ninnodb_buffer_pool_size={bytes}\n")
        }
        None => FIXED.to_owned(),
    }
}

/// Half of the memory request; without one, MySQL's own default.
pub fn buffer_pool(of: &Blueprint<'_>) -> Option<u64> {
    let memory = of.spec.resources.requests.get("memory")?;
    Some(quantity::bytes(&memory.text())? / 2)
}
