//! Who asked about what: finds, for a change, the objects that it wakes.
//!
//! Ten thousand objects that each ask for their own Pods are ten thousand selectors; a change of one Pod may not
//! look at all of them. So each interest stands in one drawer: an object by its name, a selector under the one of
//! its `KEY=VALUE` terms that the fewest others stand under, and the few selectors without such a term by kind.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::interest::Interest;
use crate::cache::equalities;
use crate::object::{Kind, Object, ObjectKey};

/// Interests of all objects of all plugins. Cheap to clone; all clones are the same index.
#[derive(Clone, Debug, Default)]
pub struct Index(Arc<Mutex<Drawers>>);

#[derive(Debug, Default)]
struct Drawers {
    interests: HashMap<Arc<ObjectKey>, Vec<Filed>>,
    drawers: HashMap<Drawer, Vec<Asked>>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Drawer {
    Name(ObjectKey),
    Label(Kind, String, String),
    Kind(Kind),
}

#[derive(Debug)]
struct Filed {
    interest: Arc<Interest>,
    drawer: Drawer,
}

#[derive(Debug)]
struct Asked {
    by: Arc<ObjectKey>,
    interest: Arc<Interest>,
}

impl Index {
    /// Notes that `asker` asks about this. From now on changes wake it: to be called before the answer is read.
    pub fn add(&self, asker: &Arc<ObjectKey>, interest: Interest) {
        self.drawers().add(asker, interest);
    }

    /// Forgets what `asker` asked about but these.
    pub fn keep_only(&self, asker: &Arc<ObjectKey>, interests: &[Interest]) {
        self.drawers()
            .retain(asker, |interest| interests.contains(interest));
    }

    /// Forgets `asker`.
    pub fn forget(&self, asker: &Arc<ObjectKey>) {
        self.drawers().retain(asker, |_| false);
    }

    /// Who asked about an object that was `before` and is `after` a change.
    pub fn woken(
        &self,
        before: Option<&Object>,
        after: Option<&Object>,
    ) -> BTreeSet<Arc<ObjectKey>> {
        let drawers = self.drawers();
        let versions = before.into_iter().chain(after);
        versions
            .flat_map(|version| drawers.askers(version))
            .collect()
    }

    /// No operation panics half-way through a change, so a poisoned lock still guards sound drawers.
    fn drawers(&self) -> MutexGuard<'_, Drawers> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drawers {
    fn add(&mut self, asker: &Arc<ObjectKey>, interest: Interest) {
        let drawer = self.drawer(&interest);
        let filed = self.interests.entry(asker.clone()).or_default();
        if filed.iter().any(|filed| *filed.interest == interest) {
            return;
        }
        let interest = Arc::new(interest);
        filed.push(Filed {
            interest: interest.clone(),
            drawer: drawer.clone(),
        });
        self.drawers.entry(drawer).or_default().push(Asked {
            by: asker.clone(),
            interest,
        });
    }

    /// The drawer for an interest: of several possible ones the emptiest.
    fn drawer(&self, interest: &Interest) -> Drawer {
        match interest {
            Interest::Object(key) => Drawer::Name(key.clone()),
            Interest::Objects { kind, selector, .. } => equalities(selector)
                .map(|(key, value)| Drawer::Label(kind.clone(), key, value))
                .min_by_key(|drawer| self.drawers.get(drawer).map_or(0, Vec::len))
                .unwrap_or_else(|| Drawer::Kind(kind.clone())),
        }
    }

    fn retain(&mut self, asker: &Arc<ObjectKey>, keep: impl Fn(&Interest) -> bool) {
        let Some(filed) = self.interests.remove(asker) else {
            return;
        };
        let (kept, dropped): (Vec<_>, Vec<_>) =
            filed.into_iter().partition(|filed| keep(&filed.interest));
        dropped.iter().for_each(|filed| self.take_out(filed));
        if !kept.is_empty() {
            self.interests.insert(asker.clone(), kept);
        }
    }

    fn take_out(&mut self, filed: &Filed) {
        let Some(drawer) = self.drawers.get_mut(&filed.drawer) else {
            return;
        };
        drawer.retain(|asked| !Arc::ptr_eq(&asked.interest, &filed.interest));
        if drawer.is_empty() {
            self.drawers.remove(&filed.drawer);
        }
    }

    fn askers(&self, object: &Object) -> Vec<Arc<ObjectKey>> {
        let kind = &object.key.kind;
        let by_label = object
            .labels
            .iter()
            .map(|(key, value)| Drawer::Label(kind.clone(), key.clone(), value.clone()));
        [Drawer::Name(object.key.clone()), Drawer::Kind(kind.clone())]
            .into_iter()
            .chain(by_label)
            .filter_map(|drawer| self.drawers.get(&drawer))
            .flatten()
            .filter(|asked| asked.interest.includes(object))
            .map(|asked| asked.by.clone())
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::cache::selector::parse;
    use crate::cache::tests::object;

    fn asker(name: &str) -> Arc<ObjectKey> {
        let kind = Kind::new("redis.example.com/v1", "Redis");
        Arc::new(ObjectKey {
            kind,
            namespace: Some("default".into()),
            name: name.into(),
        })
    }

    fn pod(name: &str, labels: &[(&str, &str)]) -> Object {
        let labels: HashMap<_, _> = labels.iter().copied().collect();
        object(
            "v1",
            "Pod",
            json!({"metadata": {"name": name, "namespace": "default", "labels": labels}}),
        )
    }

    fn pods(namespaces: Option<&[&str]>, selector: &str) -> Interest {
        Interest::Objects {
            kind: Kind::new("v1", "Pod"),
            namespaces: namespaces.map(|names| names.iter().map(|name| (*name).into()).collect()),
            selector: parse(selector).unwrap(),
        }
    }

    fn woken(index: &Index, before: Option<&Object>, after: Option<&Object>) -> Vec<String> {
        index
            .woken(before, after)
            .iter()
            .map(|asker| asker.name.clone())
            .collect()
    }

    #[test]
    fn what_matches_matched_or_would_match_wakes_who_asked() {
        let index = Index::default();
        index.add(&asker("a"), pods(None, "app=x"));
        let (inside, outside) = (pod("p", &[("app", "x")]), pod("p", &[("app", "y")]));
        assert_eq!(woken(&index, None, Some(&inside)), ["a"]);
        assert_eq!(woken(&index, Some(&inside), Some(&inside)), ["a"]);
        assert_eq!(woken(&index, Some(&inside), Some(&outside)), ["a"]);
        assert_eq!(woken(&index, Some(&outside), Some(&inside)), ["a"]);
        assert_eq!(woken(&index, Some(&inside), None), ["a"]);
        assert!(woken(&index, Some(&outside), None).is_empty());
    }

    #[test]
    fn every_form_of_selector_is_found() {
        let index = Index::default();
        for (name, selector) in [
            ("all", ""),
            ("exists", "app"),
            ("in", "app in (x,z)"),
            ("not", "!canary"),
            ("none", "app!=x"),
        ] {
            index.add(&asker(name), pods(None, selector));
        }
        let found = woken(&index, None, Some(&pod("p", &[("app", "x")])));
        assert_eq!(found, ["all", "exists", "in", "not"]);
    }

    #[test]
    fn a_name_is_found_before_there_is_such_an_object() {
        let index = Index::default();
        index.add(&asker("a"), Interest::Object(pod("p", &[]).key));
        assert_eq!(woken(&index, None, Some(&pod("p", &[]))), ["a"]);
        assert!(woken(&index, None, Some(&pod("q", &[]))).is_empty());
    }

    #[test]
    fn another_namespace_wakes_nobody() {
        let index = Index::default();
        index.add(&asker("a"), pods(Some(&["elsewhere"]), "app=x"));
        index.add(&asker("b"), pods(Some(&["default", "elsewhere"]), "app=x"));
        assert_eq!(woken(&index, None, Some(&pod("p", &[("app", "x")]))), ["b"]);
    }

    #[test]
    fn what_is_no_longer_asked_wakes_nobody() {
        let index = Index::default();
        let (kept, dropped) = (pods(None, "app=x"), pods(None, "app=y"));
        index.add(&asker("a"), kept.clone());
        index.add(&asker("a"), dropped);
        index.keep_only(&asker("a"), &[kept]);
        assert!(woken(&index, None, Some(&pod("p", &[("app", "y")]))).is_empty());
        assert_eq!(woken(&index, None, Some(&pod("p", &[("app", "x")]))), ["a"]);
        index.forget(&asker("a"));
        assert!(woken(&index, None, Some(&pod("p", &[("app", "x")]))).is_empty());
        assert!(index.drawers().drawers.is_empty());
    }

    #[test]
    fn objects_that_share_a_label_do_not_share_a_drawer() {
        let index = Index::default();
        for number in 0..100 {
            let selector = format!("managed-by=windlass,instance=redis-{number}");
            index.add(&asker(&number.to_string()), pods(None, &selector));
        }
        let fullest = index.drawers().drawers.values().map(Vec::len).max();
        assert!(fullest <= Some(2), "{fullest:?} interests stand together");
    }
}
