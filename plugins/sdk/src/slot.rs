//! Strings that hold secret values which the plugin never sees.

use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};

use crate::wire;

/// A string that the host puts together after the plan was checked. Serialises to `{"$parts": […]}`.
///
/// ```
/// use windlass_sdk::Slot;
/// let line = Slot::new().text("requirepass ").secret("my-redis-auth", "password").text("\n");
/// assert_eq!(
///     serde_json::to_string(&line).unwrap(),
///     r#"{"$parts":["requirepass ",{"secret":{"name":"my-redis-auth","key":"password"}},"\n"]}"#
/// );
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Slot {
    parts: Vec<Part>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Part {
    Secret(SecretPart),
    Random(RandomPart),
    #[serde(untagged)]
    Text(String),
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct SecretPart {
    #[serde(skip_serializing_if = "Option::is_none")]
    namespace: Option<String>,
    name: String,
    key: String,
    #[serde(rename = "as", skip_serializing_if = "Option::is_none")]
    form: Option<Form>,
    #[serde(skip_serializing_if = "Option::is_none")]
    indent: Option<usize>,
}

/// As what a value stands within a YAML document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Form {
    Yaml,
    YamlBlock,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct RandomPart {
    id: String,
    length: u32,
}

impl Slot {
    /// An empty string to add parts to.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds text as it is.
    #[must_use]
    pub fn text(mut self, text: impl Into<String>) -> Self {
        self.parts.push(Part::Text(text.into()));
        self
    }

    /// Adds the value of a key of a Secret in the object's namespace.
    #[must_use]
    pub fn secret(self, name: &str, key: &str) -> Self {
        self.part(None, name, key, None)
    }

    /// Adds the value of a key of a Secret in another namespace; needs `slots-from:NAMESPACE`.
    #[must_use]
    pub fn secret_from(self, namespace: &str, name: &str, key: &str) -> Self {
        self.part(Some(namespace), name, key, None)
    }

    /// Adds a value as one quoted string of a YAML document.
    #[must_use]
    pub fn yaml_string(self, namespace: &str, name: &str, key: &str) -> Self {
        self.part(Some(namespace), name, key, Some((Form::Yaml, None)))
    }

    /// Adds the items of the YAML list that a value is, each line set in by so many spaces.
    #[must_use]
    pub fn yaml_items(self, namespace: &str, name: &str, key: &str, indent: usize) -> Self {
        let form = Some((Form::YamlBlock, Some(indent)));
        self.part(Some(namespace), name, key, form)
    }

    fn part(
        mut self,
        namespace: Option<&str>,
        name: &str,
        key: &str,
        form: Option<(Form, Option<usize>)>,
    ) -> Self {
        self.parts.push(Part::Secret(SecretPart {
            namespace: namespace.map(str::to_owned),
            name: name.to_owned(),
            key: key.to_owned(),
            form: form.map(|(form, _)| form),
            indent: form.and_then(|(_, indent)| indent),
        }));
        self
    }

    /// Adds `[A-Za-z0-9]` of this length, 16 to 128, made once and kept. `id` names it in the object's status.
    #[must_use]
    pub fn random(mut self, id: &str, length: u32) -> Self {
        self.parts.push(Part::Random(RandomPart {
            id: id.to_owned(),
            length,
        }));
        self
    }
}

impl Serialize for Slot {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(1))?;
        map.serialize_entry("$parts", &self.parts)?;
        map.end()
    }
}

/// One argument of a Redis command: text, or text and secret values joined.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Argument(pub(crate) wire::Argument);

impl From<&str> for Argument {
    fn from(text: &str) -> Self {
        Self(wire::Argument::Text(text.to_owned()))
    }
}

impl From<String> for Argument {
    fn from(text: String) -> Self {
        Self(wire::Argument::Text(text))
    }
}

impl Argument {
    /// `prefix` followed by a secret value: `>` and a password in `ACL SETUSER`.
    #[must_use]
    pub fn secret(prefix: &str, key: wire::SecretKey) -> Self {
        let text = wire::Part::Text(prefix.to_owned());
        Self(wire::Argument::Parts(vec![text, wire::Part::Secret(key)]))
    }
}

#[cfg(test)]
mod tests {
    use super::Slot;

    #[test]
    fn a_random_value_is_a_part() {
        let slot = Slot::new().random("password", 32);
        let json = serde_json::to_string(&slot).unwrap();
        assert_eq!(
            json,
            r#"{"$parts":[{"random":{"id":"password","length":32}}]}"#
        );
    }

    #[test]
    fn a_value_may_stand_within_yaml() {
        let slot = Slot::new()
            .yaml_string("a", "s", "k")
            .yaml_items("a", "s", "k", 2);
        let json = serde_json::to_string(&slot).unwrap();
        assert_eq!(
            json,
            r#"{"$parts":[{"secret":{"namespace":"a","name":"s","key":"k","as":"yaml"}},{"secret":{"namespace":"a","name":"s","key":"k","as":"yaml-block","indent":2}}]}"#
        );
    }

    #[test]
    fn text_that_looks_like_a_slot_stays_text() {
        let slot = Slot::new().text(r#"{"secret": {"name": "x", "key": "y"}}"#);
        let json = serde_json::to_value(&slot).unwrap();
        assert!(json["$parts"][0].is_string());
    }
}
