//! Fills a child's slots with values, just before it is written.

use std::collections::BTreeMap;

use zeroize::Zeroizing;

use crate::apply::carry::copy_name;
use crate::apply::desired::{SlotValues, SourceDigests};
use crate::apply::record::{Record, generated};
use crate::apply::trouble::ChildTrouble;
use crate::apply::yaml;
use crate::entropy::Entropy;
use crate::object::Object;
use crate::plan::{Part, Random, Slot, WantedChild};
use crate::plugin::bindings::SecretKey;
use crate::secrets::{SecretError, SecretValue, Secrets};

/// What a random value is made of.
const ALPHABET: &[u8; 62] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

/// Bytes from here on are thrown away, so that each character is as likely as any other.
const FAIR: u8 = 248;

/// What filling needs to know.
pub(super) struct Filler<'a> {
    pub(super) secrets: &'a Secrets,
    pub(super) entropy: &'a dyn Entropy,
    /// What was made before.
    pub(super) record: &'a Record,
    /// The value of the owner label, for the remedy.
    pub(super) label: &'a str,
}

/// Random values by id.
type Randoms = BTreeMap<String, SecretValue>;

impl Filler<'_> {
    /// The values of all slots of `child`, whose live object is `live`.
    pub(super) async fn fill(
        &self,
        child: &WantedChild,
        live: Option<&Object>,
    ) -> Result<SlotValues, ChildTrouble> {
        let mut randoms = Randoms::new();
        let mut lost = Vec::new();
        for (key, slot) in &child.slots {
            if let Some(random) = slot.alone() {
                match self.random(child, live, key, random).await? {
                    Some(value) => {
                        randoms.insert(random.id.clone(), value);
                    }
                    None => lost.push(generated(&child.key.name, &random.id)),
                }
            }
        }
        if !lost.is_empty() {
            return Err(ChildTrouble::SecretLost {
                secret: child.key.name.clone(),
                lost: lost.join(", "),
                label: self.label.to_owned(),
            });
        }
        let mut values = SlotValues::new();
        for (key, slot) in &child.slots {
            values.insert(key.clone(), self.join(child, slot, &randoms).await?);
        }
        Ok(values)
    }

    /// The value that stands, or a new one where none was ever made; None where it is lost.
    async fn random(
        &self,
        child: &WantedChild,
        live: Option<&Object>,
        key: &str,
        random: &Random,
    ) -> Result<Option<SecretValue>, ChildTrouble> {
        let secret = &child.key.name;
        if live.is_some()
            && let Some(value) = self.standing(child, secret, key).await?
        {
            return Ok(Some(value));
        }
        let recorded = generated(secret, &random.id);
        if !self.record.generated.contains(&recorded) {
            let value = make(random.length, self.entropy);
            self.secrets.remember(&child.key, &value);
            return Ok(Some(value));
        }
        self.standing(child, &copy_name(secret), key).await
    }

    /// The value under a key of a Secret beside the child; None where it is not there or empty.
    async fn standing(
        &self,
        child: &WantedChild,
        secret: &str,
        key: &str,
    ) -> Result<Option<SecretValue>, ChildTrouble> {
        let namespace = child.key.namespace.clone().unwrap_or_default();
        let place = SecretKey {
            namespace,
            name: secret.to_owned(),
            key: key.to_owned(),
        };
        match self.secrets.value(&place, &child.key).await {
            Ok(value) => Ok(Some(value).filter(|value| !value.expose().is_empty())),
            Err(SecretError::NoSecret { .. } | SecretError::NoKey { .. }) => Ok(None),
            Err(SecretError::Cluster(error)) => Err(error.into()),
        }
    }

    async fn join(
        &self,
        child: &WantedChild,
        slot: &Slot,
        randoms: &Randoms,
    ) -> Result<SecretValue, ChildTrouble> {
        let mut joined = Zeroizing::new(Vec::new());
        for part in slot.parts() {
            match part {
                Part::Text(text) => joined.extend_from_slice(text.as_bytes()),
                Part::Secret(key) => {
                    let value = self.secrets.value(key, &child.key).await?;
                    joined.extend_from_slice(value.expose());
                }
                Part::Yaml(key, form) => {
                    let value = self.secrets.value(key, &child.key).await?;
                    let written = yaml::write(value.expose(), *form);
                    let written = written.map_err(|why| ChildTrouble::not_yaml(key, why))?;
                    joined.extend_from_slice(&written);
                }
                Part::Random(random) => {
                    joined.extend_from_slice(
                        randoms.get(&random.id).map_or(&[][..], SecretValue::expose),
                    );
                }
            }
        }
        Ok(SecretValue::new(std::mem::take(&mut *joined)))
    }
}

/// Makes a value of so many characters.
fn make(length: u32, entropy: &dyn Entropy) -> SecretValue {
    let length = length as usize;
    let mut value = Vec::with_capacity(length);
    let mut bytes = Zeroizing::new([0; 64]);
    while value.len() < length {
        entropy.fill(&mut *bytes);
        let fair = bytes.iter().filter(|byte| **byte < FAIR);
        let characters = fair.map(|byte| ALPHABET[usize::from(*byte) % ALPHABET.len()]);
        value.extend(characters.take(length - value.len()));
    }
    SecretValue::new(value)
}

/// The digests of everything that a child's slots take.
pub(super) async fn source_digests(
    child: &WantedChild,
    secrets: &Secrets,
) -> Result<SourceDigests, ChildTrouble> {
    let mut digests = SourceDigests::new();
    for key in child.slots.values().flat_map(Slot::secrets) {
        if digests.contains_key(key) {
            continue;
        }
        let value = secrets.value(key, &child.key).await?;
        digests.insert(key.clone(), secrets.digest(key, &value).await?);
    }
    Ok(digests)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counts up, so that bytes past the fair ones come too.
    struct Counting;

    impl Entropy for Counting {
        fn fill(&self, bytes: &mut [u8]) {
            bytes
                .iter_mut()
                .zip(200..=255)
                .for_each(|(byte, value)| *byte = value);
        }
    }

    #[test]
    fn a_random_value_has_its_length_and_alphabet() {
        for length in [16, 32, 128] {
            let value = make(length, &Counting);
            assert_eq!(value.expose().len(), length as usize);
            assert!(value.expose().iter().all(u8::is_ascii_alphanumeric));
        }
    }
}
