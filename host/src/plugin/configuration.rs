//! Which plugins to load and what to allow them: the spec of a `Plugin`, as the cluster or a YAML file has it.

use std::collections::BTreeSet;
use std::fmt;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::object::Kind;
use crate::plugin::grants::{Grants, is_dns_label};
use crate::plugin::limits::Limits;

/// One plugin as an administrator wants it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PluginResource {
    api_version: ApiVersion,
    kind: PluginKind,
    /// What goes by a name here is this plugin; its own name for itself stands in its description.
    pub metadata: Metadata,
    /// What is wanted.
    pub spec: PluginSpec,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum ApiVersion {
    #[serde(rename = "windlass.dev/v1alpha1")]
    V1Alpha1,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum PluginKind {
    Plugin,
}

/// What of an object's metadata matters here.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Metadata {
    /// A DNS label.
    pub name: String,
}

/// What an administrator says about a plugin.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PluginSpec {
    /// Where its component comes from.
    pub source: Source,
    /// How the registry is reached, where the source is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub registry: Option<RegistryAccess>,
    /// Who must have signed it; without this, nobody needs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verify: Option<Verify>,
    /// What it is allowed, by name, such as `own:apps/v1/StatefulSet`; nothing else is.
    #[serde(default)]
    #[schemars(with = "BTreeSet<String>")]
    pub grants: Grants,
    /// The namespaces whose objects it serves; empty for every namespace.
    #[serde(default)]
    pub namespaces: BTreeSet<String>,
    /// What it may use at most.
    #[serde(default)]
    pub limits: Limits,
    /// Rounds at the same time, for different objects.
    #[serde(default = "default_concurrency")]
    pub concurrency: NonZeroU32,
    /// Its configuration, checked against the schema in its description.
    #[serde(default)]
    pub config: Map<String, Value>,
    /// How far calls are kept apart.
    #[serde(default)]
    pub isolation: Isolation,
    /// One call in so many is repeated in a fresh instance, to see that it decides the same; 0 for none.
    #[serde(default = "default_sample_every")]
    pub sample_every: u32,
    /// Existing objects that it may take over although they do not carry its owner's label.
    #[serde(default)]
    pub adopt: BTreeSet<Adopted>,
    /// True to leave all its objects alone.
    #[serde(default)]
    pub suspended: bool,
}

/// Where a component comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Source {
    /// An artifact in a registry: oci://HOST/REPOSITORY[:TAG][@DIGEST]. A tag means what it meant when it was first
    /// looked up; name the digest to be sure of it.
    Oci(String),
    /// An artifact in an OCI image layout on the host's disk: FOLDER[:TAG][@DIGEST].
    Layout(String),
    /// A file on the host's disk; a relative path begins where the configuration file lies.
    #[schemars(with = "String")]
    File(PathBuf),
}

/// How a registry is reached.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct RegistryAccess {
    /// A Secret of type kubernetes.io/dockerconfigjson in the host's own namespace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pull_secret: Option<String>,
    /// A certificate authority to trust beside the system's, as PEM.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ca: Option<String>,
    /// True to speak HTTP without TLS: for a registry on the same machine or network.
    pub insecure: bool,
}

/// Who must have signed an artifact.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Verify {
    /// Public keys as cosign generate-key-pair writes them, as PEM; one of them is enough.
    #[schemars(length(min = 1))]
    pub cosign_keys: Vec<String>,
}

/// How far the calls of one plugin are kept apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Isolation {
    /// Instances serve many calls.
    #[default]
    Warm,
    /// Every call gets an instance of its own: two to four times the cost, nothing is carried over.
    Fresh,
}

/// An object that a plugin may take over.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Adopted {
    /// `apps/v1/StatefulSet`, `v1/Service`, …
    #[schemars(with = "String")]
    pub kind: Kind,
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

fn default_concurrency() -> NonZeroU32 {
    NonZeroU32::MIN.saturating_add(15)
}

fn default_sample_every() -> u32 {
    256
}

/// Why a configuration file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ConfigurationError {
    /// The file is not there or not readable.
    #[error("failed to read the plugins in {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's word.
        source: std::io::Error,
    },
    /// It is not of the form of `Plugin` objects.
    #[error("failed to understand the plugins in {}: {why}", path.display())]
    Form {
        /// The file.
        path: PathBuf,
        /// Where and why.
        why: String,
    },
}

impl PluginResource {
    /// Reads a YAML file of one or several `Plugin` documents.
    ///
    /// # Errors
    /// When the file cannot be read, a document has an unknown or wrong field, or a name occurs twice.
    pub fn read(path: &Path) -> Result<Vec<Self>, ConfigurationError> {
        let text = std::fs::read_to_string(path).map_err(|source| ConfigurationError::Read {
            path: path.into(),
            source,
        })?;
        let mut plugins = parse(&text).map_err(|why| ConfigurationError::Form {
            path: path.into(),
            why,
        })?;
        let folder = path.parent().unwrap_or(Path::new(""));
        for plugin in &mut plugins {
            plugin.spec.source.resolve(folder);
        }
        Ok(plugins)
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Oci(text) => f.write_str(text),
            Self::Layout(text) => write!(f, "layout:{text}"),
            Self::File(path) => write!(f, "file:{}", path.display()),
        }
    }
}

impl Source {
    fn resolve(&mut self, folder: &Path) {
        match self {
            Self::File(file) => *file = folder.join(&*file),
            Self::Layout(text) => *text = folder.join(&*text).display().to_string(),
            Self::Oci(_) => {}
        }
    }
}

fn parse(text: &str) -> Result<Vec<PluginResource>, String> {
    let plugins: Vec<PluginResource> =
        serde_saphyr::from_multiple(text).map_err(|error| error.to_string())?;
    let mut names = BTreeSet::new();
    for PluginResource { metadata, .. } in &plugins {
        if !is_dns_label(&metadata.name) {
            return Err(format!(
                "\"{}\" is not a DNS label: a-z, 0-9 and -",
                metadata.name
            ));
        }
        if !names.insert(&metadata.name) {
            return Err(format!("two plugins are named {}", metadata.name));
        }
    }
    Ok(plugins)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plugin::limits::Bytes;
    use std::time::Duration;

    const MINIMAL: &str = "
apiVersion: windlass.dev/v1alpha1
kind: Plugin
metadata: {name: redis}
spec: {source: {file: redis.wasm}}
";

    #[test]
    fn a_minimal_plugin_gets_the_defaults_and_no_grant() {
        let [plugin] = parse(MINIMAL).unwrap().try_into().unwrap();
        let spec: PluginSpec = plugin.spec;
        assert_eq!(spec.grants, Grants::default());
        assert_eq!(spec.limits, Limits::default());
        assert_eq!(spec.limits.memory.to_string(), "64Mi");
        assert_eq!(spec.concurrency.get(), 16);
        assert_eq!(spec.isolation, Isolation::Warm);
        assert!(!spec.suspended);
    }

    #[test]
    fn a_complete_plugin_is_understood() {
        let text = "
apiVersion: windlass.dev/v1alpha1
kind: Plugin
metadata: {name: redis}
spec:
  source: {file: redis.wasm}
  grants: [own:v1/Service, act:evict]
  namespaces: [team-a]
  limits: {memory: 128Mi, cpu: 2s 500ms, callsPerRound: 4}
  concurrency: 2
  config: {clusterDomain: cluster.local}
  isolation: fresh
  sampleEvery: 0
  adopt: [{kind: v1/Service, namespace: team-a, name: redis}]
  suspended: true
---
apiVersion: windlass.dev/v1alpha1
kind: Plugin
metadata: {name: other}
spec: {source: {file: other.wasm}}
";
        let plugins = parse(text).unwrap();
        let spec = &plugins[0].spec;
        assert_eq!(spec.limits.memory, Bytes::mebi(128));
        assert_eq!(spec.limits.cpu, Duration::from_millis(2500));
        assert_eq!(spec.limits.plan, Bytes::mebi(32));
        assert_eq!(spec.isolation, Isolation::Fresh);
        assert_eq!(spec.adopt.first().unwrap().kind, Kind::new("v1", "Service"));
        assert_eq!(plugins[1].metadata.name, "other");
    }

    #[test]
    fn a_mistake_is_named() {
        for (name, text, hint) in [
            (
                "unknown field",
                MINIMAL.replace("source", "grant: x, source"),
                "grant",
            ),
            (
                "unknown grant",
                MINIMAL.replace("source", "grants: [all], source"),
                "\"all\"",
            ),
            (
                "another kind",
                MINIMAL.replace("kind: Plugin", "kind: Pod"),
                "Pod",
            ),
            ("another version", MINIMAL.replace("v1alpha1", "v9"), "v9"),
            (
                "no source",
                MINIMAL.replace("source: {file: redis.wasm}", ""),
                "source",
            ),
            (
                "a bad size",
                MINIMAL.replace("source", "limits: {memory: lots}, source"),
                "lots",
            ),
            (
                "a bad name",
                MINIMAL.replace("redis}", "Redis}"),
                "DNS label",
            ),
            (
                "twice the same",
                format!("{MINIMAL}---{MINIMAL}"),
                "two plugins",
            ),
        ] {
            let error = parse(&text).expect_err(name);
            assert!(error.contains(hint), "{name}: {error}");
        }
    }

    #[test]
    fn a_relative_file_lies_beside_the_configuration() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("plugins.yaml");
        std::fs::write(&path, MINIMAL).unwrap();
        let [plugin] = PluginResource::read(&path).unwrap().try_into().unwrap();
        assert_eq!(
            plugin.spec.source,
            Source::File(folder.path().join("redis.wasm"))
        );
    }
}
