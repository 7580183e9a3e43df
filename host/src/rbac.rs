//! What the host must be allowed by the API server so that its plugins can do what they are granted, and no
//! more: `windlass rbac`.
//!
//! Each plugin gets a ClusterRole of its own, bound in the namespaces that it serves or in the whole cluster. What
//! is granted without being asked for gives no right, nor does what is asked for without being granted.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::rbac::v1::{
    ClusterRole, ClusterRoleBinding, PolicyRule, Role, RoleBinding, RoleRef, Subject,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::ApiResource;
use serde::Serialize;

use crate::object::Kind;
use crate::plugin::grants::EVERY;
use crate::plugin::{Description, Grant, Grants};
use crate::watch::between_owner_and_pods;

/// The API group of all that is made here.
const RBAC: &str = "rbac.authorization.k8s.io";

/// A plugin as far as rights go.
#[derive(Clone, Copy, Debug)]
pub struct Granted<'a> {
    /// What the administrator calls it.
    pub name: &'a str,
    /// What it asks for.
    pub description: &'a Description,
    /// What it is granted.
    pub grants: &'a Grants,
    /// The namespaces that it serves; empty for all.
    pub namespaces: &'a BTreeSet<String>,
}

/// The account that the host runs under.
#[derive(Clone, Copy, Debug)]
pub struct Account<'a> {
    /// Its namespace, where the host's lease lies.
    pub namespace: &'a str,
    /// Its name.
    pub name: &'a str,
}

/// A role that cannot be written as YAML.
#[derive(Debug, thiserror::Error)]
#[error("failed to write the roles: {0}")]
pub struct RbacError(String);

/// Roles and bindings for these plugins, as YAML documents for `kubectl apply`.
///
/// # Errors
/// When an object cannot be written as YAML.
pub fn yaml(plugins: &[Granted<'_>], account: Account<'_>) -> Result<String, RbacError> {
    let mut documents = Documents::default();
    documents.push(&host_role(account))?;
    documents.push(&bind_in(account.namespace, "Role", "windlass", account))?;
    documents.push(&cluster_role("windlass", host_rules()))?;
    documents.push(&bind_everywhere("windlass", account))?;
    for plugin in plugins {
        let name = format!("windlass-{}", plugin.name);
        documents.push(&cluster_role(&name, plugin_rules(plugin)))?;
        for binding in plugin.namespaces {
            documents.push(&bind_in(binding, "ClusterRole", &name, account))?;
        }
        if plugin.namespaces.is_empty() {
            documents.push(&bind_everywhere(&name, account))?;
        }
        for namespace in slot_namespaces(plugin.grants) {
            documents.push(&slots_role(&name, namespace))?;
            documents.push(&bind_in(namespace, "Role", &slots_name(&name), account))?;
        }
    }
    Ok(documents.0.join("---\n"))
}

#[derive(Default)]
struct Documents(Vec<String>);

impl Documents {
    fn push(&mut self, object: &impl Serialize) -> Result<(), RbacError> {
        let text = serde_saphyr::to_string(object).map_err(|error| RbacError(error.to_string()))?;
        self.0.push(text);
        Ok(())
    }
}

/// Verbs by API group and resource.
#[derive(Debug, Default, PartialEq, Eq)]
struct Rules(BTreeMap<(String, String), BTreeSet<&'static str>>);

const WATCH: &[&str] = &["get", "list", "watch"];

impl Rules {
    fn allow(&mut self, group: &str, resource: &str, verbs: &[&'static str]) {
        self.0
            .entry((group.to_owned(), resource.to_owned()))
            .or_default()
            .extend(verbs);
    }

    fn allow_kind(&mut self, kind: &Kind, verbs: &[&'static str]) {
        self.allow(&kind.group, &plural(kind), verbs);
    }

    fn into_policy(self) -> Vec<PolicyRule> {
        let rule = |((group, resource), verbs): (_, BTreeSet<&str>)| PolicyRule {
            api_groups: Some(vec![group]),
            resources: Some(vec![resource]),
            verbs: verbs.into_iter().map(str::to_owned).collect(),
            ..PolicyRule::default()
        };
        self.0.into_iter().map(rule).collect()
    }
}

/// kube's rule for the plurals of kinds, which holds for all of Kubernetes' own.
fn plural(kind: &Kind) -> String {
    ApiResource::from_gvk(&kind.gvk()).plural
}

fn plugin_rules(plugin: &Granted<'_>) -> Rules {
    let Granted {
        description,
        grants,
        ..
    } = plugin;
    let mut rules = Rules::default();
    for served in &description.serves {
        let (group, resource) = (&served.kind.group, &served.crd.spec.names.plural);
        rules.allow(group, resource, WATCH);
        rules.allow(group, &format!("{resource}/status"), &["patch", "update"]);
        if served.finalizes {
            rules.allow(group, resource, &["patch"]);
        }
        // A controller that sets blockOwnerDeletion needs this where the API server checks it.
        rules.allow(group, &format!("{resource}/finalizers"), &["update"]);
    }
    for grant in description
        .asks()
        .iter()
        .filter(|grant| grants.allows(grant))
    {
        allow_grant(&mut rules, grant);
    }
    rules
}

fn allow_grant(rules: &mut Rules, grant: &Grant) {
    match grant {
        Grant::Own(kind) => {
            rules.allow_kind(kind, WATCH);
            rules.allow_kind(kind, &["create", "patch", "delete"]);
            if let Some(between) = between_owner_and_pods(kind) {
                rules.allow_kind(&between, WATCH);
            }
        }
        Grant::Read(kind) => rules.allow_kind(kind, WATCH),
        // Whether a Pod belongs to the object is read from the Pod.
        Grant::Query(..) | Grant::Act(..) => rules.allow("", "pods", WATCH),
        Grant::Patch(kind) => rules.allow_kind(kind, &["get", "patch"]),
        Grant::Delete(kind) => rules.allow_kind(kind, &["get", "delete"]),
        Grant::Evict => rules.allow("", "pods/eviction", &["create"]),
        Grant::SlotsFrom(namespace) if namespace == EVERY => rules.allow("", "secrets", WATCH),
        // A Role in that namespace; nothing in the API server.
        Grant::SlotsFrom(_) | Grant::Host(_) => {}
    }
}

/// What the host needs everywhere for itself: to tell people, to see that a namespace is terminating, and to read by
/// which schema status is stored.
fn host_rules() -> Rules {
    let mut rules = Rules::default();
    rules.allow(
        "apiextensions.k8s.io",
        "customresourcedefinitions",
        &["get"],
    );
    rules.allow("", "events", &["create", "patch"]);
    rules.allow("", "namespaces", WATCH);
    rules.allow(
        "windlass.dev",
        "plugins",
        &["get", "list", "watch", "patch"],
    );
    rules.allow("windlass.dev", "plugins/status", &["patch"]);
    rules
}

/// What the host needs in its own namespace: its lease, and the key of digests.
fn host_role(account: Account<'_>) -> Role {
    let mut rules = Rules::default();
    rules.allow(
        "coordination.k8s.io",
        "leases",
        &["create", "get", "update"],
    );
    rules.allow("", "secrets", &["create", "get"]);
    role("windlass", account.namespace, rules)
}

fn slot_namespaces(grants: &Grants) -> impl Iterator<Item = &str> {
    grants.iter().filter_map(|grant| match grant {
        Grant::SlotsFrom(namespace) if namespace != EVERY => Some(namespace.as_str()),
        _ => None,
    })
}

fn slots_name(plugin: &str) -> String {
    format!("{plugin}-slots")
}

fn slots_role(plugin: &str, namespace: &str) -> Role {
    let mut rules = Rules::default();
    rules.allow("", "secrets", WATCH);
    role(&slots_name(plugin), namespace, rules)
}

fn role(name: &str, namespace: &str, rules: Rules) -> Role {
    Role {
        metadata: named(name, Some(namespace)),
        rules: Some(rules.into_policy()),
    }
}

fn cluster_role(name: &str, rules: Rules) -> ClusterRole {
    ClusterRole {
        metadata: named(name, None),
        rules: Some(rules.into_policy()),
        ..ClusterRole::default()
    }
}

fn bind_everywhere(role: &str, account: Account<'_>) -> ClusterRoleBinding {
    ClusterRoleBinding {
        metadata: named(role, None),
        role_ref: reference("ClusterRole", role),
        subjects: Some(vec![subject(account)]),
    }
}

fn bind_in(namespace: &str, kind: &str, role: &str, account: Account<'_>) -> RoleBinding {
    RoleBinding {
        metadata: named(role, Some(namespace)),
        role_ref: reference(kind, role),
        subjects: Some(vec![subject(account)]),
    }
}

fn reference(kind: &str, name: &str) -> RoleRef {
    RoleRef {
        api_group: RBAC.into(),
        kind: kind.into(),
        name: name.into(),
    }
}

fn subject(account: Account<'_>) -> Subject {
    Subject {
        kind: "ServiceAccount".into(),
        name: account.name.into(),
        namespace: Some(account.namespace.into()),
        ..Subject::default()
    }
}

fn named(name: &str, namespace: Option<&str>) -> ObjectMeta {
    ObjectMeta {
        name: Some(name.into()),
        namespace: namespace.map(str::to_owned),
        ..ObjectMeta::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const CRD: &str = "
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: redis.redis.example.com}
spec:
  group: redis.example.com
  scope: Namespaced
  names: {kind: Redis, plural: redis}
  versions: [{name: v1, served: true, storage: true}]
";

    fn description() -> Description {
        let json = json!({
            "name": "redis", "version": "0.1.0",
            "serves": [{"group": "redis.example.com", "version": "v1", "kind": "Redis", "finalizes": true}],
            "crds": [CRD],
            "owns": ["apps/v1/StatefulSet", "apps/v1/Deployment"],
            "reads": [{"kind": "v1/Secret"}],
            "queries": {"redis": [6379]},
            "actions": {"patch": ["v1/Pod"], "delete": ["v1/Pod"], "evict": true},
        });
        Description::parse(&json.to_string()).unwrap()
    }

    fn rules(grants: &[&str]) -> Vec<String> {
        let (description, grants) = (
            description(),
            grants.iter().map(|g| g.parse().unwrap()).collect(),
        );
        let namespaces = BTreeSet::new();
        let plugin = Granted {
            name: "redis",
            description: &description,
            grants: &grants,
            namespaces: &namespaces,
        };
        let line = |((group, resource), verbs): ((String, String), BTreeSet<&str>)| {
            format!(
                "{group}/{resource}: {}",
                verbs.into_iter().collect::<Vec<_>>().join(" ")
            )
        };
        plugin_rules(&plugin).0.into_iter().map(line).collect()
    }

    const SERVED: [&str; 3] = [
        "redis.example.com/redis: get list patch watch",
        "redis.example.com/redis/finalizers: update",
        "redis.example.com/redis/status: patch update",
    ];

    #[test]
    fn without_a_grant_there_is_a_right_to_the_served_kind_only() {
        assert_eq!(rules(&[]), SERVED);
    }

    #[test]
    fn what_was_not_asked_for_gives_no_right() {
        assert_eq!(
            rules(&["own:v1/Service", "read:v1/Node", "act:patch:v1/Node"]),
            SERVED
        );
    }

    #[test]
    fn each_grant_gives_the_verbs_it_needs() {
        for (grant, expected) in [
            (
                "own:apps/v1/StatefulSet",
                "apps/statefulsets: create delete get list patch watch",
            ),
            ("own:apps/v1/Deployment", "apps/replicasets: get list watch"),
            ("read:v1/Secret", "/secrets: get list watch"),
            ("query:redis:6379", "/pods: get list watch"),
            ("act:patch:v1/Pod", "/pods: get patch"),
            ("act:delete:v1/Pod", "/pods: delete get"),
            ("act:evict", "/pods/eviction: create"),
        ] {
            let rules = rules(&[grant]);
            assert!(
                rules.iter().any(|rule| rule == expected),
                "{grant}: {rules:?}"
            );
        }
    }

    #[test]
    fn nothing_is_a_wildcard_and_secrets_are_not_written_unless_owned() {
        let all: Vec<_> = description()
            .asks()
            .iter()
            .map(ToString::to_string)
            .collect();
        let rules = rules(&all.iter().map(String::as_str).collect::<Vec<_>>());
        assert!(rules.iter().all(|rule| !rule.contains('*')), "{rules:?}");
        assert!(
            rules.contains(&"/secrets: get list watch".to_owned()),
            "{rules:?}"
        );
    }

    #[test]
    fn a_plugin_for_some_namespaces_is_bound_there_only() {
        let (description, grants) = (
            description(),
            ["slots-from:shared".parse().unwrap()].into_iter().collect(),
        );
        let namespaces = ["team-a".to_owned()].into();
        let plugin = Granted {
            name: "redis",
            description: &description,
            grants: &grants,
            namespaces: &namespaces,
        };
        let text = yaml(
            &[plugin],
            Account {
                namespace: "windlass",
                name: "windlass",
            },
        )
        .unwrap();
        let bound: Vec<serde_json::Value> = serde_saphyr::from_multiple(&text).unwrap();
        let of = |kind: &str| {
            let named = |object: &&serde_json::Value| object["kind"] == kind;
            let place = |object: &serde_json::Value| {
                let metadata = &object["metadata"];
                format!(
                    "{}/{}",
                    metadata["namespace"].as_str().unwrap_or(""),
                    metadata["name"].as_str().unwrap()
                )
            };
            bound.iter().filter(named).map(place).collect::<Vec<_>>()
        };
        assert_eq!(of("ClusterRoleBinding"), ["/windlass"]);
        assert_eq!(
            of("RoleBinding"),
            [
                "windlass/windlass",
                "team-a/windlass-redis",
                "shared/windlass-redis-slots"
            ]
        );
        assert_eq!(
            of("Role"),
            ["windlass/windlass", "shared/windlass-redis-slots"]
        );
    }
}
