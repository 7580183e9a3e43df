//! Clusters made up from seeds: the same seed, the same cluster.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::case::Case;
use super::oracle;

/// Numbers from a seed (SplitMix64).
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// True once in so many.
    fn once_in(&mut self, many: u64) -> bool {
        self.next().is_multiple_of(many)
    }

    fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        let at = self.next() % (from.len() as u64);
        &from[usize::try_from(at).expect("small")]
    }
}

/// The kinds' schemas.
struct Schemas(BTreeMap<&'static str, Value>);

/// The cluster of a seed.
pub fn cluster(seed: u64) -> Case {
    let mut dice = Dice(seed);
    let schemas = Schemas::read();
    let list = |plural: &'static str, dice: &mut Dice| -> Vec<Value> {
        let count = 1 + dice.next() % 2;
        (0..count).map(|_| schemas.monitor(plural, dice)).collect()
    };
    let version = *dice.pick(&["v3.5.0", "v3.5.0", "v3.0.1", "v2.55.0", "v2.40.0"]);
    let mut prometheus = Map::new();
    prometheus.insert("version".into(), version.into());
    for (field, value) in [
        ("enforcedNamespaceLabel", json!("tenant")),
        ("enforcedSampleLimit", json!(100)),
        ("enforcedBodySizeLimit", json!("10MB")),
        ("ignoreNamespaceSelectors", json!(true)),
        ("overrideHonorLabels", json!(true)),
        ("overrideHonorTimestamps", json!(true)),
        ("podTargetLabels", json!(["app.kubernetes.io/name"])),
        ("serviceDiscoveryRole", json!("EndpointSlice")),
        (
            "scrapeClasses",
            json!([{"name": "1", "default": true, "relabelings": [{"targetLabel": "class", "replacement": "1"}]}]),
        ),
    ] {
        if dice.once_in(4) {
            prometheus.insert(field.into(), value);
        }
    }
    Case {
        case: format!("seed {seed}"),
        prometheus,
        service_monitors: list("servicemonitors", &mut dice),
        pod_monitors: list("podmonitors", &mut dice),
        probes: list("probes", &mut dice),
        ..Case::default()
    }
}

impl Schemas {
    fn read() -> Self {
        let folder = oracle_folder();
        let read = |plural: &'static str| {
            let text = std::fs::read_to_string(
                folder.join(format!("monitoring.coreos.com_{plural}.yaml")),
            )
            .expect("upstream's CRD");
            let crd: Value = serde_saphyr::from_str(&text).expect("YAML");
            (
                plural,
                crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
                    .clone(),
            )
        };
        Self(
            ["servicemonitors", "podmonitors", "probes"]
                .map(read)
                .into(),
        )
    }

    /// A spec, of which what names Secrets is left out: there are none.
    fn monitor(&self, plural: &str, dice: &mut Dice) -> Value {
        let mut spec = made_up(&self.0[plural], dice, "");
        if plural == "probes" {
            spec["prober"] = json!({"url": "blackbox:9115", "path": "/probe"});
            spec["targets"] = match dice.once_in(2) {
                true => json!({"staticConfig": {"static": ["a", "b"], "labels": {"x": "y"}}}),
                false => json!({"ingress": {"selector": {"matchLabels": {"a": "b"}}}}),
            };
        }
        spec
    }
}

/// Asked once: `go` takes a while.
fn oracle_folder() -> &'static std::path::PathBuf {
    static FOLDER: std::sync::OnceLock<std::path::PathBuf> = std::sync::OnceLock::new();
    FOLDER.get_or_init(oracle::crds)
}

/// Fields that name Secrets, ConfigMaps or proxies, of which a cluster that is made up has none.
const LEFT_OUT: [&str; 12] = [
    "authorization",
    "basicAuth",
    "bearerTokenSecret",
    "oauth2",
    "ca",
    "cert",
    "keySecret",
    "proxyConnectHeader",
    "noProxy",
    "proxyFromEnvironment",
    "certFile",
    "keyFile",
];

fn made_up(schema: &Value, dice: &mut Dice, field: &str) -> Value {
    if let Some(choices) = schema["enum"].as_array() {
        return dice.pick(choices).clone();
    }
    if let Some(properties) = schema["properties"].as_object() {
        let required: Vec<&str> = schema["required"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        let mut map = Map::new();
        for (name, inner) in properties {
            if required.contains(&name.as_str())
                || (!LEFT_OUT.contains(&name.as_str()) && dice.once_in(3))
            {
                map.insert(name.clone(), made_up(inner, dice, name));
            }
        }
        return Value::Object(map);
    }
    match schema["type"].as_str() {
        Some("array") => {
            let count = dice.next() % 3;
            let items = (0..count).map(|_| made_up(&schema["items"], dice, field));
            Value::Array(unique(items.collect()))
        }
        Some("object") => json!({ "app": made_up(&schema["additionalProperties"], dice, field) }),
        Some("boolean") => dice.once_in(2).into(),
        Some("integer") => dice.pick(&[0, 1, 50, 200]).to_owned().into(),
        _ => text(field, dice),
    }
}

/// What the API server would let pass: no item twice, no name twice.
fn unique(items: Vec<Value>) -> Vec<Value> {
    let mut kept: Vec<Value> = Vec::new();
    for item in items {
        let same = |other: &Value| {
            *other == item || (item["name"].is_string() && other["name"] == item["name"])
        };
        if !kept.iter().any(same) {
            kept.push(item);
        }
    }
    kept
}

/// A string that fits a field.
fn text(field: &str, dice: &mut Dice) -> Value {
    let choices: &[&str] = match field {
        "interval" => &["30s", "1m", "90s", ""],
        "scrapeTimeout" => &["10s", "1m", ""],
        "operator" => &["In", "NotIn", "Exists", "DoesNotExist"],
        "regex" => &["(.+)", "a|b", "(", "[^[]+", ""],
        "targetLabel" => &["a", "b_c", "${1}", "1x", ""],
        "bodySizeLimit" => &["1MB", "20MiB", "0"],
        "proxyUrl" => &["http://proxy:3128"],
        "nativeHistogramMinBucketFactor" => &["1.1", "1100m"],
        "key" | "values" | "matchLabels" | "matchNames" => &["a", "app", "b.c/d", "x-y"],
        "targetLabels" | "podTargetLabels" => &["x", "a-b/c.d", "yes"],
        "scrapeClass" => &["1", ""],
        _ => &["", "x", "a-b/c.d", "yes", "0123"],
    };
    (*dice.pick(choices)).into()
}
