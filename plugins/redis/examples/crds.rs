//! Writes the plugin's CRDs into `crds/`, or with `--check` fails when they are not what would be written.

use std::path::Path;
use std::process::ExitCode;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::CustomResourceExt;
use serde_json::Value;
use windlass_redis::cluster::RedisCluster;
use windlass_redis::spec::Redis;

fn main() -> ExitCode {
    let check = std::env::args()
        .skip(1)
        .any(|argument| argument == "--check");
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../crds");
    let crds = [Redis::crd(), RedisCluster::crd()];
    let mut failed = false;
    for crd in crds {
        let name = format!("{}_{}.yaml", crd.spec.group, crd.spec.names.plural);
        let text = match render(&crd) {
            Ok(text) => text,
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
            eprintln!(
                "{name} is out of date: run cargo run --release -p windlass-redis --example crds"
            );
            failed = true;
        } else if let Err(why) = std::fs::write(&file, &text) {
            eprintln!("failed to write {}: {why}", file.display());
            failed = true;
        }
    }
    if failed {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    }
}

fn render(crd: &CustomResourceDefinition) -> Result<String, Box<dyn std::error::Error>> {
    let mut value = serde_json::to_value(crd)?;
    join_lines(&mut value);
    let yaml = serde_saphyr::to_string(&value)?;
    Ok(format!(
        "# Generated from the Rust types of plugins/redis; see README.md.\n{yaml}"
    ))
}

/// Comments are broken into lines where the source is; `kubectl explain` breaks them again.
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
