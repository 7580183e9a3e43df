//! Volumes, and where they are mounted.

use serde_json::{Value, json};

use super::{Blueprint, claim};
use crate::config::{LOGS, is_bare_file, rules_folder};

/// A volume with its place in the Prometheus container.
struct Mounted {
    volume: Value,
    mount: Value,
}

/// The volumes of the Pod, those of users last.
pub(super) fn volumes(of: &Blueprint<'_>) -> Vec<Value> {
    let mut list = vec![
        json!({"name": "config", "secret": {"secretName": of.names.base()}}),
        json!({"name": "tls-assets", "projected": {"sources": [{"secret": {"name": of.names.tls_assets()}}]}}),
        // In memory: the configuration holds passwords.
        json!({"name": "config-out", "emptyDir": {"medium": "Memory"}}),
    ];
    list.extend(named(of).into_iter().map(|mounted| mounted.volume));
    list.extend(claim::passing(of));
    list.extend(of.spec.volumes.iter().map(|volume| volume.0.clone()));
    list
}

/// Where they are mounted in the Prometheus container.
pub(super) fn mounts(of: &Blueprint<'_>) -> Vec<Value> {
    let mut list = vec![
        json!({"name": "config-out", "readOnly": true, "mountPath": "/etc/prometheus/config_out"}),
        json!({"name": "tls-assets", "readOnly": true, "mountPath": "/etc/prometheus/certs"}),
        json!({"name": claim::name(of), "mountPath": "/prometheus", "subPath": claim::sub_path(of)}),
    ];
    list.extend(of.spec.volume_mounts.iter().map(|mount| mount.0.clone()));
    list.extend(named(of).into_iter().map(|mounted| mounted.mount));
    list
}

/// Where they are mounted in the sidecar.
pub(super) fn reloader_mounts(of: &Blueprint<'_>) -> Vec<Value> {
    let mut list = vec![
        json!({"name": "config", "mountPath": "/etc/prometheus/config"}),
        json!({"name": "config-out", "mountPath": "/etc/prometheus/config_out"}),
    ];
    list.extend(of.rules.iter().map(|name| rules_mount(name)));
    list
}

fn rules_mount(config_map: &str) -> Value {
    json!({"name": config_map, "mountPath": rules_folder(config_map)})
}

fn named(of: &Blueprint<'_>) -> Vec<Mounted> {
    let secrets = of.spec.secrets.iter().map(|name| {
        let volume = label("secret", name);
        Mounted {
            mount: json!({"name": volume, "readOnly": true, "mountPath": format!("/etc/prometheus/secrets/{name}")}),
            volume: json!({"name": volume, "secret": {"secretName": name}}),
        }
    });
    let config_maps = of.spec.config_maps.iter().map(|name| {
        let volume = label("configmap", name);
        Mounted {
            mount: json!({"name": volume, "readOnly": true, "mountPath": format!("/etc/prometheus/configmaps/{name}")}),
            volume: json!({"name": volume, "configMap": {"name": name}}),
        }
    });
    let rules = of.rules.iter().map(|name| Mounted {
        mount: rules_mount(name),
        volume: json!({"name": name, "configMap": {"name": name}}),
    });
    secrets
        .chain(config_maps)
        .chain(logs(of))
        .chain(rules)
        .collect()
}

/// A folder for log files that are named without one.
fn logs(of: &Blueprint<'_>) -> Option<Mounted> {
    let failures = of
        .spec
        .scrape_failure_log_file
        .as_deref()
        .unwrap_or_default();
    let wanted = is_bare_file(failures) || is_bare_file(&of.spec.query_log_file);
    wanted.then(|| Mounted {
        volume: json!({"name": "log-file", "emptyDir": {}}),
        mount: json!({"name": "log-file", "mountPath": LOGS}),
    })
}

/// A volume's name: 63 characters of a-z, 0-9 and -.
fn label(prefix: &str, name: &str) -> String {
    let clean = |character: char| match character.is_ascii_lowercase() || character.is_ascii_digit()
    {
        true => character,
        false => '-',
    };
    let name: String = format!("{prefix}-{name}")
        .to_lowercase()
        .chars()
        .map(clean)
        .take(63)
        .collect();
    name.trim_matches('-').to_owned()
}
