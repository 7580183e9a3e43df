//! Which watchers the plugins need: one for each kind, scope and bound, shared by all.

use std::collections::{BTreeMap, BTreeSet};

use crate::cache::Watched;
use crate::object::{Kind, OWNER_LABEL};
use crate::plugin::{Description, Grant, Grants};

/// What one plugin may look at.
#[derive(Clone, Copy, Debug)]
pub struct Allowed<'a> {
    /// What it is and asks for.
    pub description: &'a Description,
    /// What it is granted.
    pub grants: &'a Grants,
    /// The namespaces whose objects it serves; empty for every namespace.
    pub namespaces: &'a BTreeSet<String>,
}

/// The watchers that these plugins need together.
///
/// Of a kind that a plugin only owns, the objects that carry an owner's label are watched. Of one that it asks about,
/// those that its description bounds; and of ReplicaSets and Jobs that stand between an owned kind and its Pods, all.
/// A watcher that another one covers is left out.
pub fn wanted<'a>(plugins: impl IntoIterator<Item = Allowed<'a>>) -> BTreeSet<Watched> {
    let all: BTreeSet<_> = plugins.into_iter().flat_map(of_plugin).collect();
    all.iter()
        .filter(|one| !all.iter().any(|other| covers(other, one)))
        .cloned()
        .collect()
}

fn covers(wide: &Watched, narrow: &Watched) -> bool {
    wide != narrow
        && wide.kind == narrow.kind
        && (wide.namespace.is_none() || wide.namespace == narrow.namespace)
        && (wide.selector.is_empty() || wide.selector == narrow.selector)
}

fn of_plugin(allowed: Allowed<'_>) -> BTreeSet<Watched> {
    let scopes: Vec<_> = match allowed.namespaces.is_empty() {
        true => vec![None],
        false => allowed.namespaces.iter().cloned().map(Some).collect(),
    };
    let bounds = bounds(allowed);
    let scoped = |(kind, selector): &(Kind, String)| {
        let watched = |namespace: &Option<String>| Watched {
            kind: kind.clone(),
            namespace: namespace.clone(),
            selector: selector.clone(),
        };
        scopes.iter().map(watched).collect::<Vec<_>>()
    };
    bounds.iter().flat_map(scoped).collect()
}

fn bounds(
    Allowed {
        description,
        grants,
        ..
    }: Allowed<'_>,
) -> BTreeSet<(Kind, String)> {
    let serves = description
        .serves
        .iter()
        .map(|served| (served.kind.clone(), String::new()));
    let asked: BTreeMap<_, _> = description
        .reads
        .iter()
        .map(|read| (&read.kind, &read.selector))
        .collect();
    let granted = grants.iter().filter_map(|grant| match grant {
        Grant::Own(kind) => Some((kind.clone(), OWNER_LABEL.to_owned())),
        Grant::Read(kind) => Some((kind.clone(), (*asked.get(kind)?).clone())),
        _ => None,
    });
    let between = grants.iter().filter_map(|grant| match grant {
        Grant::Own(kind) => Some((between_owner_and_pods(kind)?, String::new())),
        _ => None,
    });
    serves.chain(granted).chain(between).collect()
}

/// The kind that stands between an owned kind and its Pods in the chain of owner references; without it a Pod's
/// owner is not found.
pub fn between_owner_and_pods(kind: &Kind) -> Option<Kind> {
    match (kind.group.as_str(), kind.kind.as_str()) {
        ("apps", "Deployment") => Some(Kind::new("apps/v1", "ReplicaSet")),
        ("batch", "CronJob") => Some(Kind::new("batch/v1", "Job")),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn description(name: &str, reads: &str) -> Description {
        let crd = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: things.example.com}\nspec:\n  group: example.com\n  names: {kind: Thing, plural: things}\n  scope: Namespaced\n  versions: [{name: v1, served: true, storage: true}]\n";
        let text = serde_json::json!({
            "name": name, "version": "0.1.0", "purpose": "tests",
            "serves": [{"group": "example.com", "version": "v1", "kind": "Thing", "finalizes": false}],
            "crds": [crd],
            "owns": ["v1/Service"],
            "reads": serde_json::from_str::<serde_json::Value>(reads).unwrap(),
        });
        Description::parse(&text.to_string()).unwrap()
    }

    fn grants(names: &[&str]) -> Grants {
        names
            .iter()
            .map(|name| name.parse::<Grant>().unwrap())
            .collect()
    }

    fn told(plugins: &[(&Description, &Grants, &BTreeSet<String>)]) -> Vec<String> {
        let allowed = plugins
            .iter()
            .map(|(description, grants, namespaces)| Allowed {
                description,
                grants,
                namespaces,
            });
        wanted(allowed).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn owned_kinds_are_bound_by_label_and_asked_ones_by_the_description() {
        let description = description(
            "a",
            r#"[{"kind": "v1/Pod", "selector": "app"}, {"kind": "v1/Node"}]"#,
        );
        let grants = grants(&["own:v1/Service", "read:v1/Pod"]);
        assert_eq!(
            told(&[(&description, &grants, &BTreeSet::new())]),
            [
                "v1/Pod with app",
                "v1/Service with windlass.dev/owner",
                "example.com/v1/Thing"
            ]
        );
    }

    #[test]
    fn what_stands_between_an_owned_kind_and_its_pods_is_watched() {
        let description = description("a", "[]");
        let grants = grants(&["own:apps/v1/Deployment"]);
        let told = told(&[(&description, &grants, &BTreeSet::new())]);
        assert!(told.contains(&"apps/v1/ReplicaSet".to_owned()), "{told:?}");
    }

    #[test]
    fn plugins_share_watchers_and_a_wider_one_serves_the_narrower() {
        let wide = description("a", r#"[{"kind": "v1/Service"}]"#);
        let narrow = description("b", r#"[{"kind": "v1/Pod"}]"#);
        let (own, read) = (grants(&["own:v1/Service"]), grants(&["read:v1/Service"]));
        let team = BTreeSet::from(["team-a".to_owned()]);
        assert_eq!(
            told(&[(&wide, &read, &BTreeSet::new()), (&narrow, &own, &team)]),
            ["v1/Service", "example.com/v1/Thing"]
        );
    }

    #[test]
    fn a_plugin_of_some_namespaces_is_watched_for_in_each() {
        let description = description("a", "[]");
        let teams = BTreeSet::from(["team-a".to_owned(), "team-b".to_owned()]);
        assert_eq!(
            told(&[(&description, &Grants::default(), &teams)]),
            [
                "example.com/v1/Thing in team-a",
                "example.com/v1/Thing in team-b"
            ]
        );
    }
}
