//! A child as the plan wants it: its manifest read, normalised, its slots taken out.

use std::collections::{BTreeMap, BTreeSet};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use crate::object::{DOMAIN, Kind, Object, ObjectKey};
use crate::plan::refused::Refused;
use crate::plan::slot::{Slot, check_randoms};
use crate::plugin::bindings::{Child, WhenDropped, WhenImmutable, Write};

/// The largest manifest, in bytes: what etcd takes.
const LARGEST: usize = 1_572_864;

/// The largest manifest of which parts are compressed; the API server judges what is left.
const LARGEST_COMPRESSED: usize = 33_554_432;

/// What of `metadata` is the plugin's to say.
const METADATA: [&str; 4] = ["name", "namespace", "labels", "annotations"];

/// One object that should exist, ready to be compared and filled.
#[derive(Clone, Debug)]
pub struct WantedChild {
    /// Its name.
    pub key: ObjectKey,
    /// Everything that the plugin decides about but the slots: nulls dropped, namespace filled in, `stringData`
    /// turned into `data`.
    pub manifest: Map<String, Value>,
    /// Slots by their key in `data`.
    pub slots: BTreeMap<String, Slot>,
    /// Keys of `data` to compress.
    pub gzip: BTreeSet<String>,
    /// What happens to it when it is no longer named.
    pub when_dropped: WhenDropped,
    /// How it is written.
    pub write: Write,
    /// What to do about a field that cannot be changed.
    pub when_immutable: WhenImmutable,
    /// Whether several owners want it.
    pub shared: bool,
    /// Changes with anything that the plugin wrote about it.
    pub content: Content,
}

/// The SHA-256 of what a plugin wrote about a child.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Content([u8; 32]);

impl Content {
    fn of(child: &Child) -> Self {
        let how = (
            child.when_dropped,
            child.write,
            child.when_immutable,
            child.shared,
            &child.gzip,
        );
        let digest = Sha256::new()
            .chain_update(format!("{how:?}"))
            .chain_update(&child.manifest);
        Self(digest.finalize().into())
    }
}

impl WantedChild {
    /// Whether it is a Secret.
    pub fn is_secret(&self) -> bool {
        is_secret(&self.key.kind)
    }

    /// Reads what the plugin wrote for `owner`.
    ///
    /// # Errors
    /// [`Refused::Form`] when the manifest breaks a rule.
    pub(super) fn parse(child: Child, owner: &Object) -> Result<Self, Refused> {
        let content = Content::of(&child);
        let Child {
            manifest,
            when_dropped,
            write,
            when_immutable,
            shared,
            gzip,
        } = child;
        let largest = match gzip.is_empty() {
            true => LARGEST,
            false => LARGEST_COMPRESSED,
        };
        let mut manifest = read(&manifest, largest)?;
        let key = name(&manifest, owner)?;
        let what = format!("child {key}");
        let form = |why: String| Refused::form(&what, why);
        drop_nulls(&mut manifest);
        check_metadata(&manifest).map_err(form)?;
        if let Some(namespace) = &key.namespace {
            map_at(&mut manifest, "metadata").insert("namespace".into(), namespace.as_str().into());
        }
        let slots = match is_secret(&key.kind) {
            true => secret_data(&mut manifest, key.namespace.as_deref().unwrap_or_default()),
            false => Ok(BTreeMap::new()),
        }
        .map_err(form)?;
        check_no_slot_elsewhere(&manifest).map_err(form)?;
        check_randoms(slots.values()).map_err(form)?;
        let gzip = gzip.into_iter().collect();
        check_gzip(&key.kind, &manifest, &slots, &gzip).map_err(form)?;
        if shared && slots.values().any(|slot| slot.randoms().next().is_some()) {
            return Err(form(
                "a shared child may not hold a random value: each owner would make its own".into(),
            ));
        }
        Ok(Self {
            key,
            manifest,
            slots,
            gzip,
            when_dropped,
            write,
            when_immutable,
            shared,
            content,
        })
    }
}

fn is_secret(kind: &Kind) -> bool {
    kind.group.is_empty() && kind.kind == "Secret"
}

fn is_config_map(kind: &Kind) -> bool {
    kind.group.is_empty() && kind.kind == "ConfigMap"
}

fn read(manifest: &str, largest: usize) -> Result<Map<String, Value>, Refused> {
    let begin = || manifest.chars().take(80).collect::<String>();
    if manifest.len() > largest {
        let why = format!("{} bytes, an object has at most {largest}", manifest.len());
        return Err(Refused::form(
            format!("the child that begins with {}", begin()),
            why,
        ));
    }
    serde_json::from_str(manifest).map_err(|error| {
        Refused::form(
            format!("the child that begins with {}", begin()),
            format!("is not a JSON object: {error}"),
        )
    })
}

fn name(manifest: &Map<String, Value>, owner: &Object) -> Result<ObjectKey, Refused> {
    let text = |value: Option<&Value>| value.and_then(Value::as_str).map(str::to_owned);
    let meta = manifest.get("metadata");
    let (version, kind) = (text(manifest.get("apiVersion")), text(manifest.get("kind")));
    let name = text(meta.and_then(|meta| meta.get("name")));
    let (Some(version), Some(kind), Some(name)) = (version, kind, name) else {
        return Err(Refused::form(
            "a child",
            "lacks apiVersion, kind or metadata.name",
        ));
    };
    let namespace = text(meta.and_then(|meta| meta.get("namespace")));
    let key = ObjectKey {
        kind: Kind::new(&version, &kind),
        namespace: owner.key.namespace.clone(),
        name,
    };
    if namespace.is_some() && namespace != key.namespace {
        let why = format!(
            "wants namespace {}; children live in the object's own namespace only",
            namespace.unwrap_or_default()
        );
        return Err(Refused::form(format!("child {key}"), why));
    }
    if key.name.is_empty() || key.name.contains(['/', '%']) || key.name.len() > 253 {
        return Err(Refused::form(
            format!("child {key}"),
            "its name is not 1 to 253 bytes without / and %",
        ));
    }
    if key.kind.qualified() == owner.key.kind.qualified() && key.name == owner.key.name {
        return Err(Refused::form(
            format!("child {key}"),
            "is the object itself",
        ));
    }
    Ok(key)
}

fn check_metadata(manifest: &Map<String, Value>) -> Result<(), String> {
    if manifest.contains_key("status") {
        return Err("status is its controller's to say: leave it out".into());
    }
    let Some(meta) = manifest.get("metadata").and_then(Value::as_object) else {
        return Err("metadata is not an object".into());
    };
    if let Some(key) = meta.keys().find(|key| !METADATA.contains(&key.as_str())) {
        return Err(format!(
            "metadata.{key} is not the plugin's to say: leave it out"
        ));
    }
    for part in ["labels", "annotations"] {
        let entries = meta
            .get(part)
            .and_then(Value::as_object)
            .into_iter()
            .flatten();
        if let Some((key, _)) = entries.into_iter().find(|(key, _)| key.starts_with(DOMAIN)) {
            return Err(format!("metadata.{part}: \"{key}\" is the host's to say"));
        }
    }
    Ok(())
}

fn drop_nulls(map: &mut Map<String, Value>) {
    map.retain(|_, value| !value.is_null());
    map.values_mut().for_each(drop_nulls_below);
}

fn drop_nulls_below(value: &mut Value) {
    match value {
        Value::Object(map) => drop_nulls(map),
        Value::Array(list) => list.iter_mut().for_each(drop_nulls_below),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// The object under `key`, made where there is none.
pub(crate) fn map_at<'a>(map: &'a mut Map<String, Value>, key: &str) -> &'a mut Map<String, Value> {
    let value = map.entry(key).or_insert_with(|| Value::Object(Map::new()));
    if !value.is_object() {
        *value = Value::Object(Map::new());
    }
    match value {
        Value::Object(map) => map,
        _ => unreachable!("made an object above"),
    }
}

/// Leaves a Secret's literal values as base64 in `data` and returns its slots. As for the API server,
/// `stringData` wins.
fn secret_data(
    manifest: &mut Map<String, Value>,
    namespace: &str,
) -> Result<BTreeMap<String, Slot>, String> {
    let mut slots = BTreeMap::new();
    let mut literals = Map::new();
    for (field, encoded) in [("data", true), ("stringData", false)] {
        for (key, value) in entries(manifest, field)? {
            literals.remove(&key);
            slots.remove(&key);
            match value {
                slot if Slot::is_slot(&slot) => {
                    let slot = Slot::parse(&slot, namespace)
                        .map_err(|why| format!("{field}.{key}: {why}"))?;
                    slots.insert(key, slot);
                }
                Value::String(text) if encoded => {
                    let bytes = STANDARD
                        .decode(&text)
                        .map_err(|_| format!("{field}.{key} is not base64"))?;
                    literals.insert(key, STANDARD.encode(bytes).into());
                }
                Value::String(text) => {
                    literals.insert(key, STANDARD.encode(text).into());
                }
                _ => return Err(format!("{field}.{key} is neither a string nor a slot")),
            }
        }
    }
    if !literals.is_empty() {
        manifest.insert("data".into(), Value::Object(literals));
    }
    Ok(slots)
}

/// Takes the entries of a field of `manifest` out of it.
fn entries(manifest: &mut Map<String, Value>, field: &str) -> Result<Map<String, Value>, String> {
    match manifest.remove(field) {
        None => Ok(Map::new()),
        Some(Value::Object(map)) => Ok(map),
        Some(_) => Err(format!("{field} is not an object")),
    }
}

fn check_no_slot_elsewhere(manifest: &Map<String, Value>) -> Result<(), String> {
    let found = manifest
        .iter()
        .find_map(|(key, value)| Some(format!("{key}{}", slot_below(value)?)));
    match found {
        Some(path) => Err(format!(
            "{path} is a slot; slots stand only in data and stringData of a Secret"
        )),
        None => Ok(()),
    }
}

fn slot_below(value: &Value) -> Option<String> {
    match value {
        slot if Slot::is_slot(slot) => Some(String::new()),
        Value::Object(map) => map
            .iter()
            .find_map(|(key, value)| Some(format!(".{key}{}", slot_below(value)?))),
        Value::Array(list) => list
            .iter()
            .enumerate()
            .find_map(|(at, value)| Some(format!("[{at}]{}", slot_below(value)?))),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    }
}

fn check_gzip(
    kind: &Kind,
    manifest: &Map<String, Value>,
    slots: &BTreeMap<String, Slot>,
    gzip: &BTreeSet<String>,
) -> Result<(), String> {
    if !gzip.is_empty() && !is_secret(kind) && !is_config_map(kind) {
        return Err("gzip is for Secrets and ConfigMaps".into());
    }
    let there = |key: &&String| {
        slots.contains_key(*key)
            || manifest
                .get("data")
                .and_then(|data| data.get(key.as_str()))
                .is_some()
    };
    match gzip.iter().find(|key| !there(key)) {
        Some(key) => Err(format!("gzip names \"{key}\", which is not in data")),
        None => Ok(()),
    }
}
