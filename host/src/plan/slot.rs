//! Slots: strings of a Secret child that the host fills in.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::plugin::bindings::SecretKey;

/// The one key of a slot.
const PARTS: &str = "$parts";

/// How many parts one slot may have.
const MOST_PARTS: usize = 65_536;

/// How far a list may be set in.
const DEEPEST: usize = 64;

/// A string made of parts, in this order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slot(Vec<Part>);

/// One part of a slot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// As it stands.
    Text(String),
    /// The value of a key of a Secret.
    Secret(SecretKey),
    /// The value of a key of a Secret, as it stands within a YAML document.
    Yaml(SecretKey, YamlForm),
    /// A value that the host makes once.
    Random(Random),
}

/// As what a value stands within a YAML document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum YamlForm {
    /// One quoted string.
    Scalar,
    /// The items of a list, which the value is, each line set in by so many spaces.
    Items(usize),
}

/// A value that the host makes once and keeps.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Random {
    /// Names it within its Secret.
    pub id: String,
    /// How many characters, 16 to 128.
    pub length: u32,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Written {
    Text(String),
    Secret { secret: WrittenSecret },
    Random { random: Random },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenSecret {
    namespace: Option<String>,
    name: String,
    key: String,
    #[serde(rename = "as")]
    form: Option<WrittenForm>,
    indent: Option<usize>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum WrittenForm {
    Yaml,
    YamlBlock,
}

impl Slot {
    /// Whether `value` is meant as a slot: an object with `$parts` as its only key.
    pub fn is_slot(value: &Value) -> bool {
        value
            .as_object()
            .is_some_and(|map| map.len() == 1 && map.contains_key(PARTS))
    }

    /// Reads a slot; secrets without a namespace are those of `namespace`.
    ///
    /// # Errors
    /// In words, when it is not of the form that the contract describes.
    pub fn parse(value: &Value, namespace: &str) -> Result<Self, String> {
        let parts = value
            .get(PARTS)
            .and_then(Value::as_array)
            .ok_or("$parts is not a list")?;
        if parts.len() > MOST_PARTS {
            return Err(format!(
                "a slot has at most {MOST_PARTS} parts, this one {}",
                parts.len()
            ));
        }
        parts
            .iter()
            .map(|part| parse_part(part, namespace))
            .collect::<Result<_, _>>()
            .map(Self)
    }

    /// A slot that is the value of one Secret key.
    pub fn of(secret: SecretKey) -> Self {
        Self(vec![Part::Secret(secret)])
    }

    /// The parts in their order.
    pub fn parts(&self) -> &[Part] {
        &self.0
    }

    /// The Secret keys whose values it takes.
    pub fn secrets(&self) -> impl Iterator<Item = &SecretKey> {
        self.0.iter().filter_map(|part| match part {
            Part::Secret(key) | Part::Yaml(key, _) => Some(key),
            Part::Text(_) | Part::Random(_) => None,
        })
    }

    /// The values that it wants made.
    pub fn randoms(&self) -> impl Iterator<Item = &Random> {
        self.0.iter().filter_map(|part| match part {
            Part::Random(random) => Some(random),
            Part::Text(_) | Part::Secret(_) | Part::Yaml(..) => None,
        })
    }

    /// The one random value that is all of this slot, if so.
    pub fn alone(&self) -> Option<&Random> {
        match self.0.as_slice() {
            [Part::Random(random)] => Some(random),
            _ => None,
        }
    }
}

fn parse_part(part: &Value, namespace: &str) -> Result<Part, String> {
    let form =
        "a part is a text, {\"secret\": {\"name\", \"key\"}} or {\"random\": {\"id\", \"length\"}}";
    match Written::deserialize(part).map_err(|_| form.to_owned())? {
        Written::Text(text) => Ok(Part::Text(text)),
        Written::Secret { secret } => secret_part(secret, namespace),
        Written::Random { random } => check_random(random).map(Part::Random),
    }
}

fn secret_part(written: WrittenSecret, namespace: &str) -> Result<Part, String> {
    let WrittenSecret {
        namespace: other,
        name,
        key,
        form,
        indent,
    } = written;
    let key = SecretKey {
        namespace: other.unwrap_or_else(|| namespace.to_owned()),
        name,
        key,
    };
    match (form, indent) {
        (None, None) => Ok(Part::Secret(key)),
        (Some(WrittenForm::Yaml), None) => Ok(Part::Yaml(key, YamlForm::Scalar)),
        (Some(WrittenForm::YamlBlock), indent) if indent.unwrap_or(0) <= DEEPEST => {
            Ok(Part::Yaml(key, YamlForm::Items(indent.unwrap_or(0))))
        }
        (Some(WrittenForm::YamlBlock), _) => Err(format!("indent is at most {DEEPEST}")),
        (_, Some(_)) => Err("indent goes with \"as\": \"yaml-block\" only".to_owned()),
    }
}

fn check_random(random: Random) -> Result<Random, String> {
    let Random { id, length } = &random;
    if id.is_empty() || id.len() > 63 || id.contains('/') {
        return Err(format!(
            "the random id \"{id}\" is not 1 to 63 bytes without /"
        ));
    }
    if !(16..=128).contains(length) {
        return Err(format!(
            "the random \"{id}\" has length {length}: write 16 to 128"
        ));
    }
    Ok(random)
}

/// Checks that each random id of a Secret is one thing, and that it can be found again: it must stand alone under
/// some key, for inside other text its place would move with the text.
pub(super) fn check_randoms<'a>(
    slots: impl Iterator<Item = &'a Slot> + Clone,
) -> Result<(), String> {
    let wanted: BTreeSet<_> = slots.clone().flat_map(Slot::randoms).collect();
    let alone: BTreeSet<_> = slots.filter_map(Slot::alone).collect();
    let ids: BTreeSet<_> = wanted.iter().map(|random| &random.id).collect();
    if ids.len() < wanted.len() {
        return Err("one random id has two lengths".into());
    }
    match wanted.difference(&alone).next() {
        Some(random) => Err(format!(
            "the random \"{}\" must also stand alone under a key of this Secret, so that its value is found again",
            random.id
        )),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_slot_is_read_part_by_part() {
        let written = json!({"$parts": ["a ", {"secret": {"name": "s", "key": "k"}},
            {"secret": {"namespace": "other", "name": "s", "key": "k"}}, {"random": {"id": "p", "length": 32}}]});
        assert!(Slot::is_slot(&written));
        let slot = Slot::parse(&written, "own").unwrap();
        let secrets: Vec<_> = slot.secrets().map(|key| key.namespace.as_str()).collect();
        assert_eq!(secrets, ["own", "other"]);
        assert_eq!(slot.randoms().count(), 1);
        assert!(slot.alone().is_none());
    }

    #[test]
    fn a_value_may_stand_within_yaml() {
        let written = json!({"$parts": [{"secret": {"name": "s", "key": "k", "as": "yaml"}},
            {"secret": {"name": "s", "key": "k", "as": "yaml-block", "indent": 2}}]});
        let slot = Slot::parse(&written, "own").unwrap();
        let form = |part: &Part| match part {
            Part::Yaml(_, form) => Some(*form),
            _ => None,
        };
        let forms: Vec<_> = slot.parts().iter().map(form).collect();
        assert_eq!(forms, [Some(YamlForm::Scalar), Some(YamlForm::Items(2))]);
        assert_eq!(slot.secrets().count(), 2);
    }

    #[test]
    fn what_is_not_a_slot_is_not_taken_for_one() {
        for value in [
            json!("text"),
            json!({"$parts": [], "more": 1}),
            json!({"parts": []}),
            json!([]),
        ] {
            assert!(!Slot::is_slot(&value), "{value}");
        }
    }

    #[test]
    fn a_malformed_slot_is_refused_with_what_to_write() {
        for (parts, hint) in [
            (json!("x"), "not a list"),
            (json!([1]), "a part is"),
            (json!([{"secret": {"name": "s"}}]), "a part is"),
            (
                json!([{"secret": {"name": "s", "key": "k", "x": 1}}]),
                "a part is",
            ),
            (
                json!([{"secret": {"name": "s", "key": "k", "as": "yaml", "indent": 2}}]),
                "yaml-block",
            ),
            (
                json!([{"secret": {"name": "s", "key": "k", "as": "yaml-block", "indent": 65}}]),
                "at most 64",
            ),
            (json!([{"random": {"id": "p", "length": 15}}]), "16 to 128"),
            (json!([{"random": {"id": "p", "length": 129}}]), "16 to 128"),
            (
                json!([{"random": {"id": "a/b", "length": 16}}]),
                "without /",
            ),
        ] {
            let error = Slot::parse(&json!({ "$parts": parts }), "own").unwrap_err();
            assert!(error.contains(hint), "{parts}: {error}");
        }
    }

    #[test]
    fn a_random_value_must_be_found_again() {
        let slot = |parts: Value| Slot::parse(&json!({ "$parts": parts }), "own").unwrap();
        let random = |length: u32| json!({"random": {"id": "p", "length": length}});
        let mixed = slot(json!(["requirepass ", random(32)]));
        let alone = slot(json!([random(32)]));
        assert!(check_randoms([&mixed, &alone].into_iter()).is_ok());
        assert!(
            check_randoms([&mixed].into_iter())
                .unwrap_err()
                .contains("stand alone")
        );
        let longer = slot(json!([random(64)]));
        assert!(
            check_randoms([&longer, &alone].into_iter())
                .unwrap_err()
                .contains("two lengths")
        );
    }
}
