//! What in a description would fail once a host acts on it.

use serde_json::Value;

use super::finding::Finding;
use crate::cache::selector;
use crate::plugin::Description;

/// Everything that is wrong with what a plugin asks for.
pub(super) fn findings(description: &Description) -> Vec<Finding> {
    let mut findings = selectors(description);
    findings.extend(config_schema(&description.config_schema));
    findings.extend(purpose(description));
    findings.extend(own_kinds(description));
    findings
}

fn selectors(description: &Description) -> Vec<Finding> {
    let wrong = |read: &crate::plugin::description::Read| {
        let error = selector::parse(&read.selector).err()?;
        Some(Finding::error(
            format!(
                "describe reads {} by a selector that is none: {error}",
                read.kind
            ),
            "write it as kubectl takes it, or leave it out to watch every object of the kind",
        ))
    };
    description.reads.iter().filter_map(wrong).collect()
}

fn config_schema(schema: &Value) -> Option<Finding> {
    if schema.is_null() {
        return None;
    }
    let error = jsonschema::validator_for(schema).err()?;
    Some(Finding::error(
        format!("describe's configSchema is no JSON schema: {error}"),
        "mend it, or leave it out if the plugin has no configuration",
    ))
}

fn purpose(description: &Description) -> Option<Finding> {
    description.purpose.trim().is_empty().then(|| {
        Finding::warning(
            "describe says no purpose",
            "write one line about what it operates: administrators read it before they grant anything",
        )
    })
}

/// A plugin that owns the kind that it serves would make its objects out of its objects.
fn own_kinds(description: &Description) -> Option<Finding> {
    let owned = description
        .owns
        .iter()
        .find(|kind| description.serving(kind).is_some())?;
    Some(Finding::warning(
        format!("the plugin serves {owned} and owns objects of it"),
        "that is rarely meant: an object of that kind may then be made by another",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn describing(change: impl Fn(&mut Value)) -> Vec<String> {
        let crd = "
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: sites.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Site, plural: sites}
  versions: [{name: v1, served: true, storage: true}]";
        let mut json = json!({
            "name": "site", "version": "0.1.0", "purpose": "Sites",
            "serves": [{"group": "example.com", "version": "v1", "kind": "Site"}],
            "crds": [crd],
            "reads": [{"kind": "v1/Pod", "selector": "app=site"}],
            "configSchema": {"type": "object"},
        });
        change(&mut json);
        let description = Description::parse(&json.to_string()).unwrap();
        findings(&description)
            .iter()
            .map(|finding| finding.what.clone())
            .collect()
    }

    #[test]
    fn a_good_description_has_no_findings() {
        assert_eq!(describing(|_| ()), Vec::<String>::new());
    }

    #[test]
    fn each_mistake_is_found_and_named() {
        for (change, hint) in [
            (("/reads/0/selector", json!("app in web")), "v1/Pod"),
            (("/configSchema/type", json!("obj")), "configSchema"),
            (("/purpose", json!(" ")), "purpose"),
        ] {
            let (pointer, value) = change;
            let found = describing(|json| *json.pointer_mut(pointer).unwrap() = value.clone());
            assert!(
                found.iter().any(|what| what.contains(hint)),
                "{pointer}: {found:?}"
            );
        }
    }
}
