//! What an API server or the host would not take of a CRD.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinition, CustomResourceDefinitionVersion,
};
use serde_json::Value;

use super::finding::Finding;
use crate::plugin::description::Served;
use crate::status::Schema;

/// Groups that an API server guards.
const PROTECTED: [&str; 2] = ["k8s.io", "kubernetes.io"];

/// The annotation that lets a CRD into a protected group.
const APPROVED: &str = "api-approved.kubernetes.io";

/// Keeps whatever it is given.
const PRESERVES: &str = "x-kubernetes-preserve-unknown-fields";

/// Keywords of JSON schema that a structural schema may not hold.
const FORBIDDEN: [&str; 5] = ["$ref", "$defs", "definitions", "deprecated", "readOnly"];

/// Everything that is wrong with the CRD of a kind.
pub(super) fn findings(served: &Served) -> Vec<Finding> {
    let crd = &served.crd;
    let mut findings = names(crd);
    findings.extend(storage(crd));
    for version in &crd.spec.versions {
        findings.extend(schema(crd, version));
    }
    let reconciled = crd.spec.versions.iter();
    if let Some(version) = reconciled
        .into_iter()
        .find(|offered| offered.name == served.kind.version)
    {
        findings.extend(status(crd, version));
    }
    findings
}

fn name(crd: &CustomResourceDefinition) -> String {
    let name = crd.metadata.name.as_deref().unwrap_or("without a name");
    format!("the CRD {name}")
}

fn names(crd: &CustomResourceDefinition) -> Vec<Finding> {
    let mut findings = Vec::new();
    let spec = &crd.spec;
    let expected = format!("{}.{}", spec.names.plural, spec.group);
    if crd.metadata.name.as_ref() != Some(&expected) {
        findings.push(Finding::error(
            format!("{} is not named after its plural and group", name(crd)),
            format!("write metadata.name: {expected}"),
        ));
    }
    if spec.names.plural != spec.names.plural.to_lowercase() {
        findings.push(Finding::error(
            format!("{} has a plural with upper-case letters", name(crd)),
            format!(
                "write spec.names.plural: {}",
                spec.names.plural.to_lowercase()
            ),
        ));
    }
    if !matches!(spec.scope.as_str(), "Namespaced" | "Cluster") {
        findings.push(Finding::error(
            format!("{} has the scope \"{}\"", name(crd), spec.scope),
            "write spec.scope: Namespaced, or Cluster",
        ));
    }
    findings.extend(protected(crd));
    findings
}

fn protected(crd: &CustomResourceDefinition) -> Option<Finding> {
    let group = &crd.spec.group;
    let is_protected = |domain: &&str| group == *domain || group.ends_with(&format!(".{domain}"));
    let domain = PROTECTED.iter().find(|domain| is_protected(domain))?;
    let annotations = crd.metadata.annotations.as_ref();
    let approved = annotations.is_some_and(|annotations| annotations.contains_key(APPROVED));
    (!approved).then(|| {
        Finding::error(
            format!(
                "{} claims a group of {domain}, which API servers refuse",
                name(crd)
            ),
            "take a group of a domain of yours",
        )
    })
}

fn storage(crd: &CustomResourceDefinition) -> Option<Finding> {
    let stored = crd.spec.versions.iter().filter(|version| version.storage);
    match stored.count() {
        1 => None,
        count => Some(Finding::error(
            format!("{} has {count} versions with storage: true", name(crd)),
            "let exactly one version be stored",
        )),
    }
}

fn schema(
    crd: &CustomResourceDefinition,
    version: &CustomResourceDefinitionVersion,
) -> Vec<Finding> {
    let of = format!("{}, version {}", name(crd), version.name);
    let Some(root) = root(version) else {
        return vec![Finding::error(
            format!("{of} has no schema, which API servers refuse"),
            "write schema.openAPIV3Schema; generate it from the types of the spec",
        )];
    };
    let mut mistakes = Vec::new();
    structure(&root, "", &mut mistakes);
    let finding = |mistake: String| {
        Finding::error(
            format!("{of}: {mistake}"),
            "API servers take structural schemas only: every field has a type, and nothing is referred to",
        )
    };
    mistakes.into_iter().map(finding).collect()
}

fn root(version: &CustomResourceDefinitionVersion) -> Option<Value> {
    let schema = version.schema.as_ref()?.open_api_v3_schema.as_ref()?;
    serde_json::to_value(schema).ok()
}

/// Notes where a schema is not structural.
fn structure(schema: &Value, path: &str, mistakes: &mut Vec<String>) {
    let at = if path.is_empty() { "the root" } else { path };
    if !schema["type"].is_string() && !is_typeless(schema) {
        mistakes.push(format!("{at} has no type"));
    }
    for keyword in FORBIDDEN
        .iter()
        .filter(|keyword| schema.get(**keyword).is_some())
    {
        mistakes.push(format!("{at} holds {keyword}"));
    }
    if let Some(Value::Object(properties)) = schema.get("properties") {
        for (field, inner) in properties {
            // What every object has is the API server's to know.
            let is_header =
                path.is_empty() && ["apiVersion", "kind", "metadata"].contains(&field.as_str());
            if !is_header {
                structure(inner, &format!("{path}.{field}"), mistakes);
            }
        }
    }
    for (keyword, mark) in [("items", "[]"), ("additionalProperties", ".*")] {
        if let Some(inner @ Value::Object(_)) = schema.get(keyword) {
            structure(inner, &format!("{path}{mark}"), mistakes);
        }
    }
}

fn is_typeless(schema: &Value) -> bool {
    schema["x-kubernetes-int-or-string"] == true || schema[PRESERVES] == true
}

/// The host keeps its own part of status: what the CRD does not name, the API server drops in silence.
fn status(
    crd: &CustomResourceDefinition,
    version: &CustomResourceDefinitionVersion,
) -> Vec<Finding> {
    let of = format!("{}, version {}", name(crd), version.name);
    let subresources = version.subresources.as_ref();
    if subresources
        .and_then(|subresources| subresources.status.as_ref())
        .is_none()
    {
        return vec![Finding::error(
            format!("{of} has no status subresource, through which the host writes status"),
            "write subresources: {status: {}}",
        )];
    }
    let Some(Value::Object(root)) = root(version) else {
        return Vec::new();
    };
    let whole = serde_json::json!({"spec": {"versions": [
        {"name": version.name, "schema": {"openAPIV3Schema": root}}
    ]}});
    let Some(schema) = Schema::of(&whole, &version.name) else {
        return vec![Finding::error(
            format!("{of} does not name status in its schema: an API server drops all of it"),
            "write a schema of status, or let it keep what it is given (x-kubernetes-preserve-unknown-fields: true)",
        )];
    };
    let lacks = |field: &str, holds: &str, write: &str| {
        (!schema.keeps(field)).then(|| {
            Finding::error(
                format!("{of} does not name status.{field}, {holds}: an API server drops it"),
                format!("add to the schema of status: {write}"),
            )
        })
    };
    [
        lacks(
            "conditions",
            "where the host and the plugin tell how it goes",
            "conditions: {type: array, items: {type: object, x-kubernetes-preserve-unknown-fields: true}}",
        ),
        lacks(
            "observedGeneration",
            "which tells whether status is about the spec as it stands",
            "observedGeneration: {type: integer, format: int64}",
        ),
        lacks(
            "windlass",
            "where the host remembers which random values it made",
            "windlass: {type: object, x-kubernetes-preserve-unknown-fields: true}",
        ),
    ]
    .into_iter()
    .flatten()
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::object::Kind;
    use serde_json::json;

    fn good() -> Value {
        json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": "sites.example.com"},
            "spec": {
                "group": "example.com", "scope": "Namespaced",
                "names": {"kind": "Site", "plural": "sites"},
                "versions": [{
                    "name": "v1", "served": true, "storage": true,
                    "subresources": {"status": {}},
                    "schema": {"openAPIV3Schema": {"type": "object", "properties": {
                        "metadata": {"type": "object"},
                        "spec": {"type": "object", "properties": {
                            "port": {"x-kubernetes-int-or-string": true},
                            "tags": {"type": "array", "items": {"type": "string"}},
                        }},
                        "status": {"type": "object", "properties": {
                            "conditions": {"type": "array", "items": {"type": "object"}},
                            "observedGeneration": {"type": "integer"},
                            "windlass": {"type": "object", PRESERVES: true},
                        }},
                    }}},
                }],
            },
        })
    }

    fn of(crd: Value) -> Vec<String> {
        let served = Served {
            kind: Kind::new("example.com/v1", "Site"),
            finalizes: false,
            crd: serde_json::from_value(crd).unwrap(),
        };
        findings(&served)
            .iter()
            .map(|finding| finding.what.clone())
            .collect()
    }

    #[test]
    fn a_good_crd_has_no_findings() {
        assert_eq!(of(good()), Vec::<String>::new());
    }

    #[test]
    fn each_mistake_is_found_and_named() {
        const VERSION: &str = "/spec/versions/0";
        const ROOT: &str = "/spec/versions/0/schema/openAPIV3Schema/properties";
        for (name, pointer, value, hint) in [
            (
                "another name",
                "/metadata/name".to_owned(),
                json!("site"),
                "plural and group",
            ),
            (
                "a protected group",
                "/spec/group".to_owned(),
                json!("apps.k8s.io"),
                "k8s.io",
            ),
            (
                "an unknown scope",
                "/spec/scope".to_owned(),
                json!("Global"),
                "Global",
            ),
            (
                "nothing stored",
                format!("{VERSION}/storage"),
                json!(false),
                "0 versions",
            ),
            (
                "no schema",
                format!("{VERSION}/schema"),
                json!(null),
                "no schema",
            ),
            (
                "no subresource",
                format!("{VERSION}/subresources"),
                json!({}),
                "status subresource",
            ),
            (
                "a field without type",
                format!("{ROOT}/spec/properties/port"),
                json!({}),
                ".spec.port has no type",
            ),
            (
                "an item without type",
                format!("{ROOT}/spec/properties/tags/items"),
                json!({}),
                ".spec.tags[] has no type",
            ),
            (
                "a status without conditions",
                format!("{ROOT}/status/properties/conditions"),
                json!(null),
                "status.conditions",
            ),
        ] {
            let mut crd = good();
            let place = crd.pointer_mut(&pointer).expect(name);
            match value {
                Value::Null => remove(&mut crd, &pointer),
                value => *place = value,
            }
            let found = of(crd);
            assert!(
                found.iter().any(|what| what.contains(hint)),
                "{name}: {found:?}"
            );
        }
    }

    #[test]
    fn several_mistakes_are_told_at_once() {
        let mut crd = good();
        crd["metadata"]["name"] = json!("site");
        crd["spec"]["versions"][0]["storage"] = json!(false);
        remove(
            &mut crd,
            "/spec/versions/0/schema/openAPIV3Schema/properties/status/properties",
        );
        assert_eq!(of(crd).len(), 5);
    }

    fn remove(value: &mut Value, pointer: &str) {
        let (parent, field) = pointer.rsplit_once('/').unwrap();
        let parent = value.pointer_mut(parent).unwrap();
        parent.as_object_mut().unwrap().remove(field);
    }
}
