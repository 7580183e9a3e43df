//! Which objects are followed, and why the others are not. Pure.

use crate::api::status::Candidate;
use crate::api::{Found, PrometheusRule, RuleSpec};
use crate::check::{Checked, Checker};
use crate::config::{Picked, Setting};
use crate::facts::Reach;
use crate::rules::{self, Dialect, File};

/// What came of looking at the objects in reach.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Verdicts {
    /// One for each object in reach.
    pub candidates: Vec<Candidate>,
    /// Fields of objects that are not understood, as KIND NAMESPACE/NAME: PATH.
    pub ignored: Vec<String>,
}

impl Verdicts {
    /// The monitors of a kind that can be followed, sorted as prometheus-operator sorts them.
    pub fn pick<'a, S: Checked>(
        &mut self,
        kind: &str,
        reach: &'a Reach<Found<S>>,
        checker: &Checker<'_>,
    ) -> Vec<Picked<'a, S>> {
        let mut picked = Vec::new();
        for object in &reach.chosen {
            let (namespace, name) = (object.namespace(), object.name());
            let read = object.spec.as_ref().map_err(Clone::clone);
            let checked = read.and_then(|read| read.spec.check(checker, namespace).map(|()| read));
            match checked {
                Ok(read) => {
                    self.note_ignored(kind, object, &read.ignored);
                    self.picked(kind, object);
                    picked.push(Picked {
                        namespace,
                        name,
                        spec: &read.spec,
                    });
                }
                Err(why) => self.left_out(kind, (namespace, name), why),
            }
        }
        self.others(kind, reach);
        picked.sort_by_cached_key(|monitor| format!("{}/{}", monitor.namespace, monitor.name));
        picked
    }

    /// The rule files, by name.
    pub fn pick_rules(
        &mut self,
        reach: &Reach<PrometheusRule>,
        of: &Setting<'_>,
    ) -> Vec<(String, File)> {
        const KIND: &str = "PrometheusRule";
        let mut files = Vec::new();
        for object in &reach.chosen {
            let (namespace, name) = (object.namespace(), object.name());
            let read = match &object.spec {
                Ok(read) => read,
                Err(why) => {
                    self.left_out(KIND, (namespace, name), why.clone());
                    continue;
                }
            };
            if !of.excluded("prometheusrules", namespace, name) {
                let why = "the Prometheus sets enforcedNamespaceLabel, which this operator does not write into expressions \
                           yet: list the rule under excludedFromEnforcement to have it evaluated as it stands";
                self.left_out(KIND, (namespace, name), why.to_owned());
                continue;
            }
            self.note_ignored(KIND, object, &read.ignored);
            self.rule_file(object, &read.spec, of, &mut files);
        }
        self.others(KIND, reach);
        files
    }

    fn rule_file(
        &mut self,
        object: &PrometheusRule,
        spec: &RuleSpec,
        of: &Setting<'_>,
        files: &mut Vec<(String, File)>,
    ) {
        const KIND: &str = "PrometheusRule";
        let (namespace, name) = (object.namespace(), object.name());
        let dialect = Dialect::of(&of.version, &of.spec.enable_features);
        let file = rules::file(&of.version, dialect, spec);
        let uid = object.metadata.uid.as_deref().unwrap_or_default();
        if file.left_out.is_empty() {
            self.picked(KIND, object);
        } else {
            let groups = file
                .left_out
                .iter()
                .map(|(group, why)| format!("group \"{group}\" is left out: {why}"));
            self.left_out(
                KIND,
                (namespace, name),
                groups.collect::<Vec<_>>().join("; "),
            );
        }
        if file.groups > 0 || file.left_out.is_empty() {
            files.push((format!("{namespace}-{name}-{uid}.yaml"), file));
        }
    }

    fn note_ignored<S>(&mut self, kind: &str, object: &Found<S>, ignored: &[String]) {
        let (namespace, name) = (object.namespace(), object.name());
        let paths = ignored
            .iter()
            .map(|path| format!("{kind} {namespace}/{name}: spec.{path}"));
        self.ignored.extend(paths);
    }

    fn picked<S>(&mut self, kind: &str, object: &Found<S>) {
        self.candidates.push(Candidate {
            kind: kind.to_owned(),
            namespace: object.namespace().to_owned(),
            name: object.name().to_owned(),
            picked: true,
            reason: String::new(),
        });
    }

    fn left_out(&mut self, kind: &str, (namespace, name): (&str, &str), reason: String) {
        self.candidates.push(Candidate {
            kind: kind.to_owned(),
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            picked: false,
            reason,
        });
    }

    fn others<K>(&mut self, kind: &str, reach: &Reach<K>) {
        for (namespace, name) in &reach.others {
            self.left_out(kind, (namespace, name), NOT_CHOSEN.to_owned());
        }
    }
}

/// Why an object is not followed that the label selector does not choose.
pub const NOT_CHOSEN: &str = "the label selector of the Prometheus does not choose it";
