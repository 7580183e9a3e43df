//! Writes the plugin's CRDs into `crds/`, or with `--check` fails when they are not what would be written.

use std::path::Path;
use std::process::ExitCode;

use kube::CustomResourceExt;
use windlass_redis::cluster::RedisCluster;
use windlass_redis::spec::Redis;

fn main() -> ExitCode {
    let check = std::env::args().skip(1).any(|argument| argument == "--check");
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../crds");
    let crds = [Redis::crd(), RedisCluster::crd()];
    let mut failed = false;
    for crd in crds {
        let name = format!("{}_{}.yaml", crd.spec.group, crd.spec.names.plural);
        let text = match serde_saphyr::to_string(&crd) {
            Ok(text) => format!("# Generated from the Rust types of plugins/redis; see README.md.\n{text}"),
            Err(why) => {
                eprintln!("failed to write {name}: {why}");
                return ExitCode::FAILURE;
            }
        };
        let file = folder.join(&name);
        let there = std::fs::read_to_string(&file).unwrap_or_default();
        if there == text {
            continue;
        }
        if check {
            eprintln!("{name} is out of date: run cargo run --release -p windlass-redis --example crds");
            failed = true;
        } else if let Err(why) = std::fs::write(&file, &text) {
            eprintln!("failed to write {}: {why}", file.display());
            failed = true;
        }
    }
    if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}
