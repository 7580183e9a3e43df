//! What is known about the Secrets and ConfigMaps that users' objects name.

use crate::api::{ConfigMapKey, SecretKey, SecretOrConfigMap};
use crate::yaml::{Asset, SecretRef, Yaml};

/// What is known about a value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Value {
    /// Whether there is nothing in it, or nothing is known yet.
    pub empty: bool,
    /// The kinds of its PEM blocks, in order.
    pub pem: Vec<String>,
}

impl Value {
    /// What is known about a text that is no secret.
    #[must_use]
    pub fn of(text: &str) -> Self {
        let begin = text
            .lines()
            .filter_map(|line| line.trim().strip_prefix("-----BEGIN "));
        let pem = begin
            .filter_map(|rest| rest.strip_suffix("-----"))
            .map(str::to_owned);
        Self {
            empty: text.is_empty(),
            pem: pem.collect(),
        }
    }

    /// Whether it may be a certificate; one that is empty or not known yet may.
    #[must_use]
    pub fn is_certificate(&self) -> bool {
        self.empty || self.pem.first().is_some_and(|kind| kind == "CERTIFICATE")
    }

    /// Whether it may be a private key; one that is empty or not known yet may.
    #[must_use]
    pub fn is_key(&self) -> bool {
        self.empty || self.pem.iter().any(|kind| kind.ends_with("PRIVATE KEY"))
    }
}

/// Answers about Secrets and ConfigMaps. In a round it asks the host; an object that was not asked about yet is
/// taken to be there, since the round is run again with the answer.
pub trait Known {
    /// Whether a Secret has a key whose value may be used.
    ///
    /// # Errors
    /// In words, what is missing.
    fn secret(&self, namespace: &str, key: &SecretKey) -> Result<Value, String>;

    /// The text under a key of a ConfigMap.
    ///
    /// # Errors
    /// In words, what is missing.
    fn config_map(&self, namespace: &str, key: &ConfigMapKey) -> Result<String, String>;

    /// What is known about a value from a Secret or a ConfigMap.
    ///
    /// # Errors
    /// In words, what is missing.
    fn either(&self, namespace: &str, from: &SecretOrConfigMap) -> Result<Value, String> {
        match (&from.secret, &from.config_map) {
            (Some(key), _) => self.secret(namespace, key),
            (None, Some(key)) => self.config_map(namespace, key).map(|text| Value::of(&text)),
            (None, None) => Ok(Value::of("")),
        }
    }
}

/// Where files from Secrets and ConfigMaps are mounted.
const ASSETS: &str = "/etc/prometheus/certs";

/// The place of a secret value.
#[must_use]
pub fn reference(namespace: &str, key: &SecretKey) -> SecretRef {
    SecretRef {
        namespace: namespace.to_owned(),
        name: key.name.clone(),
        key: key.key.clone(),
    }
}

/// The place of a secret value, where it is there.
pub fn value(known: &dyn Known, namespace: &str, key: &SecretKey) -> Option<Yaml> {
    known.secret(namespace, key).ok()?;
    Some(Yaml::Secret(reference(namespace, key)))
}

/// A value from a Secret or ConfigMap, where it is there.
pub fn either(known: &dyn Known, namespace: &str, from: &SecretOrConfigMap) -> Option<Yaml> {
    match (&from.secret, &from.config_map) {
        (Some(key), _) => value(known, namespace, key),
        (None, Some(key)) => known.config_map(namespace, key).ok().map(Yaml::from),
        (None, None) => Some("".into()),
    }
}

/// The path of a file that holds a Secret key's value.
#[must_use]
pub fn secret_file(namespace: &str, key: &SecretKey) -> Yaml {
    let file = file(0, namespace, &key.name, &key.key);
    Yaml::File {
        path: format!("{ASSETS}/{file}"),
        asset: Asset::Secret(reference(namespace, key)),
    }
}

/// The path of a file that holds a value from a Secret or ConfigMap.
pub fn either_file(known: &dyn Known, namespace: &str, from: &SecretOrConfigMap) -> Option<Yaml> {
    match (&from.secret, &from.config_map) {
        (Some(key), _) => Some(secret_file(namespace, key)),
        (None, Some(key)) => {
            let file = file(1, namespace, &key.name, &key.key);
            let text = known.config_map(namespace, key).unwrap_or_default();
            Some(Yaml::File {
                path: format!("{ASSETS}/{file}"),
                asset: Asset::Text { file, text },
            })
        }
        (None, None) => None,
    }
}

/// The name of a file, as prometheus-operator names it, so that a take-over changes no configuration.
fn file(kind: u8, namespace: &str, name: &str, key: &str) -> String {
    format!("{kind}_{namespace}_{name}_{key}")
}

/// The name of the file that a Secret key's value is mounted under.
#[must_use]
pub fn file_of(secret: &SecretRef) -> String {
    file(0, &secret.namespace, &secret.name, &secret.key)
}
