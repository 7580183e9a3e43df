//! The containers of a Pod.

use serde_json::{Value, json};

use super::{Blueprint, below, merge, volumes};
use crate::config::rules_folder;

/// The port at which the sidecar says what Prometheus runs.
pub const STATUS_PORT: u16 = 8080;

/// The sidecar's name.
pub(super) const RELOADER: &str = "config-reloader";
/// The name of the container that writes the first configuration.
pub(super) const INIT_RELOADER: &str = "init-config-reloader";

/// The containers, with users' changes to them and users' own.
pub(super) fn containers(of: &Blueprint<'_>) -> Vec<Value> {
    let own = vec![prometheus(of), reloader(of)];
    merge::containers(own, &of.spec.containers)
}

/// The init containers, with users' changes to them and users' own.
pub(super) fn init_containers(of: &Blueprint<'_>) -> Vec<Value> {
    merge::containers(vec![init_reloader(of)], &of.spec.init_containers)
}

fn prometheus(of: &Blueprint<'_>) -> Value {
    let (ready, healthy) = (probe(of, "/-/ready"), probe(of, "/-/healthy"));
    let (period, failures) = startup(of.spec.maximum_startup_duration_seconds);
    let with = |handler: &Value, period: i32, failures: i32| {
        let mut probe = handler.clone();
        merge::patch(
            &mut probe,
            &json!({"timeoutSeconds": 3, "periodSeconds": period, "failureThreshold": failures}),
        );
        probe
    };
    json!({
        "name": "prometheus",
        "image": image(of),
        "imagePullPolicy": filled(&of.spec.image_pull_policy),
        "args": super::arguments(of),
        "env": environment(of),
        "ports": ports(of),
        "volumeMounts": volumes::mounts(of),
        "startupProbe": with(&ready, period, failures),
        "readinessProbe": with(&ready, 5, 3),
        "livenessProbe": with(&healthy, 5, 6),
        "resources": of.spec.resources,
        "terminationMessagePolicy": "FallbackToLogsOnError",
        "securityContext": security(),
    })
}

/// A string, where it is not empty.
pub(super) fn filled(text: &str) -> Option<&str> {
    (!text.is_empty()).then_some(text)
}

fn security() -> Value {
    json!({"readOnlyRootFilesystem": true, "allowPrivilegeEscalation": false, "capabilities": {"drop": ["ALL"]}})
}

/// The image that runs Prometheus.
fn image(of: &Blueprint<'_>) -> String {
    let spec = of.spec;
    if let Some(image) = spec
        .image
        .as_deref()
        .filter(|image| !image.trim().is_empty())
    {
        return image.to_owned();
    }
    let base = match spec.base_image.as_str() {
        "" => "quay.io/prometheus/prometheus",
        base => base,
    };
    match (spec.sha.as_str(), spec.tag.as_str()) {
        ("", "") => format!("{base}:v{}", of.version),
        ("", tag) => format!("{base}:{tag}"),
        (sha, _) => format!("{base}@sha256:{sha}"),
    }
}

/// Before 2.53 the configuration has no place for Go's settings.
fn environment(of: &Blueprint<'_>) -> Option<Value> {
    let percent = of.spec.runtime.as_ref()?.go_gc?;
    (!of.version.since(2, 53)).then(|| json!([{"name": "GOGC", "value": percent.to_string()}]))
}

fn ports(of: &Blueprint<'_>) -> Option<Value> {
    let port = json!([{"name": of.port(), "containerPort": 9090, "protocol": "TCP"}]);
    (!of.spec.listen_local).then_some(port)
}

fn probe(of: &Blueprint<'_>, path: &str) -> Value {
    let path = below(&of.prefix(), path);
    if !of.spec.listen_local {
        return json!({"httpGet": {"path": path, "port": of.port()}});
    }
    let url = format!("http://localhost:9090{path}");
    let script = format!(
        "if [ -x \"$(command -v curl)\" ]; then exec curl --fail {url}; \
         elif [ -x \"$(command -v wget)\" ]; then exec wget -q -O /dev/null {url}; else exit 1; fi"
    );
    json!({"exec": {"command": ["sh", "-c", script]}})
}

/// Replaying the log of a large database takes long: a quarter of an hour unless a user says otherwise.
fn startup(longest: Option<i32>) -> (i32, i32) {
    match longest.unwrap_or(0) {
        seconds if seconds >= 60 => {
            let failures = seconds / 60 + i32::from(seconds % 60 > 0);
            let period = seconds / failures + i32::from(seconds % failures > 0);
            (period, failures)
        }
        _ => (15, 60),
    }
}

fn reloader(of: &Blueprint<'_>) -> Value {
    let reload = below(&of.prefix(), "/-/reload");
    let mut args = vec![
        "reload-config".to_owned(),
        format!("--reload-url=http://127.0.0.1:9090{reload}"),
        format!("--listen=0.0.0.0:{STATUS_PORT}"),
    ];
    args.extend(
        of.rules
            .iter()
            .map(|name| format!("--watch={}", rules_folder(name))),
    );
    let ports = json!([{"name": "reloader-web", "containerPort": STATUS_PORT, "protocol": "TCP"}]);
    sidecar(of, RELOADER, &args, Some(ports))
}

fn init_reloader(of: &Blueprint<'_>) -> Value {
    sidecar(
        of,
        INIT_RELOADER,
        &["reload-config".to_owned(), "--once".to_owned()],
        None,
    )
}

fn sidecar(of: &Blueprint<'_>, name: &str, args: &[String], ports: Option<Value>) -> Value {
    json!({
        "name": name,
        "image": of.reloader,
        "imagePullPolicy": filled(&of.spec.image_pull_policy),
        "args": args,
        "env": [
            {"name": "POD_NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
            {"name": "SHARD", "value": "0"},
        ],
        "ports": ports,
        "volumeMounts": volumes::reloader_mounts(of),
        "resources": {"requests": {"cpu": "10m", "memory": "50Mi"}, "limits": {"memory": "100Mi"}},
        "terminationMessagePolicy": "FallbackToLogsOnError",
        "securityContext": security(),
    })
}

#[cfg(test)]
mod tests {
    use super::startup;

    #[test]
    fn prometheus_gets_as_long_to_start_as_a_user_says() {
        for (longest, (period, failures)) in [
            (None, (15, 60)),
            (Some(30), (15, 60)),
            (Some(60), (60, 1)),
            (Some(600), (60, 10)),
            (Some(90), (45, 2)),
        ] {
            assert_eq!(startup(longest), (period, failures));
            assert!(period * failures >= longest.unwrap_or(0));
        }
    }
}
