//! The namespace label that a user cannot escape.

use super::Setting;
use crate::api::Relabeling;

impl Setting<'_> {
    /// Whether an object of a kind, as in URLs, need not carry the label.
    pub(crate) fn excluded(&self, resource: &str, namespace: &str, name: &str) -> bool {
        let spec = self.spec;
        let by_kind = spec.excluded_from_enforcement.iter().any(|excluded| {
            !excluded.namespace.is_empty()
                && excluded.resource == resource
                && excluded.namespace == namespace
                && (excluded.name.is_empty() || excluded.name == name)
        });
        let rules = &spec.prometheus_rules_excluded_from_enforce;
        let by_name = || {
            rules.iter().any(|rule| {
                !rule.rule_namespace.is_empty()
                    && rule.rule_namespace == namespace
                    && (rule.rule_name.is_empty() || rule.rule_name == name)
            })
        };
        spec.enforced_namespace_label.is_empty()
            || by_kind
            || (resource == "prometheusrules" && by_name())
    }

    /// A monitor's rules, followed by the one that sets the label, so that nothing overrides it.
    pub(super) fn enforced(
        &self,
        resource: &str,
        (namespace, name): (&str, &str),
        own: &[Relabeling],
    ) -> Vec<Relabeling> {
        let mut rules = own.to_vec();
        if !self.excluded(resource, namespace, name) {
            rules.push(Relabeling {
                target_label: self.spec.enforced_namespace_label.clone(),
                replacement: Some(namespace.to_owned()),
                ..Relabeling::default()
            });
        }
        rules
    }
}
