//! Objects by label, for the label keys that questions ask for.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use kube::core::{Expression, Selector};

/// Where an object is: its namespace, then its name. This is also the order of every list.
pub(super) type Place = (Option<String>, String);

/// Places by the values of one label key.
type Values = HashMap<String, BTreeSet<Arc<Place>>>;

/// Which objects carry which label, for the keys indexed so far. A key is indexed when a question first asks for
/// it: what nobody asks for costs nothing.
#[derive(Debug, Default)]
pub(super) struct LabelIndex {
    keys: HashMap<String, Values>,
}

impl LabelIndex {
    /// Whether objects can be found by this key.
    pub(super) fn has(&self, key: &str) -> bool {
        self.keys.contains_key(key)
    }

    /// Begins to index `key`; `objects` are all that there are.
    pub(super) fn begin<'a>(
        &mut self,
        key: &str,
        objects: impl Iterator<Item = (&'a Arc<Place>, &'a BTreeMap<String, String>)>,
    ) {
        let values = self.keys.entry(key.to_owned()).or_default();
        for (place, labels) in objects {
            if let Some(value) = labels.get(key) {
                values
                    .entry(value.clone())
                    .or_default()
                    .insert(place.clone());
            }
        }
    }

    /// Notes an object that came.
    pub(super) fn insert(&mut self, place: &Arc<Place>, labels: &BTreeMap<String, String>) {
        for (key, values) in &mut self.keys {
            if let Some(value) = labels.get(key) {
                values
                    .entry(value.clone())
                    .or_default()
                    .insert(place.clone());
            }
        }
    }

    /// Forgets an object that went or is about to change.
    pub(super) fn remove(&mut self, place: &Arc<Place>, labels: &BTreeMap<String, String>) {
        for (key, values) in &mut self.keys {
            let Some(value) = labels.get(key) else {
                continue;
            };
            let Some(places) = values.get_mut(value) else {
                continue;
            };
            places.remove(place);
            if places.is_empty() {
                values.remove(value);
            }
        }
    }

    /// The fewest places in which everything that `selector` selects stands; None when no key of it is indexed.
    pub(super) fn fewest(&self, selector: &Selector) -> Option<&BTreeSet<Arc<Place>>> {
        static NONE: BTreeSet<Arc<Place>> = BTreeSet::new();
        equalities(selector)
            .filter_map(|(key, value)| Some(self.keys.get(&key)?.get(&value).unwrap_or(&NONE)))
            .min_by_key(|places| places.len())
    }
}

/// The `KEY=VALUE` terms of a selector.
pub(crate) fn equalities(selector: &Selector) -> impl Iterator<Item = (String, String)> {
    selector.clone().into_iter().filter_map(|term| match term {
        Expression::Equal(key, value) => Some((key, value)),
        Expression::In(key, values) if values.len() == 1 => Some((key, values.into_iter().next()?)),
        _ => None,
    })
}
