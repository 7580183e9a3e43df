//! What a grant lets a plugin do, in words for the person who gives it.

use crate::plugin::Grant;
use crate::plugin::grants::{EVERY, Protocol};

/// One line: what follows from giving this grant.
pub(super) fn meaning(grant: &Grant) -> String {
    match grant {
        Grant::Own(kind) => match kind.kind.as_str() {
            "Secret" if kind.group.is_empty() => {
                "makes, changes and deletes its own Secrets; sees key names and digests, never values".into()
            }
            name => format!("makes, changes and deletes its own {}, and reads them", plural(name)),
        },
        Grant::Read(kind) => match kind.kind.as_str() {
            "Secret" if kind.group.is_empty() => {
                "sees of Secrets key names and digests, never values; may put values of its object's own namespace into its children".into()
            }
            name => format!("reads {}", plural(name)),
        },
        Grant::Query(protocol, port) => {
            format!("asks {} in its own Pods, on port {port}, what cannot change anything", server(*protocol))
        }
        Grant::Act(Protocol::Sql, port) => {
            format!("runs SQL statements, also ones that delete data, in its own Pods on port {port}")
        }
        Grant::Act(protocol, port) => {
            format!("tells {} in its own Pods, on port {port}, what to do, also what deletes data", server(*protocol))
        }
        Grant::Patch(kind) => format!(
            "changes labels, annotations and some fields of {} that it did not make",
            plural(&kind.kind)
        ),
        Grant::Delete(kind) => format!("deletes {}, so many in a minute", plural(&kind.kind)),
        Grant::Evict => "asks for its own Pods to be evicted, which respects PodDisruptionBudgets".into(),
        Grant::SlotsFrom(namespace) if namespace == EVERY => {
            "puts values of Secrets of every namespace into its children and logs in with them, without seeing them".into()
        }
        Grant::SlotsFrom(namespace) => {
            format!("puts values of Secrets of namespace {namespace} into its children and logs in with them, without seeing them")
        }
        Grant::Host(host) => format!("sends HTTP GET requests to {host}, outside the cluster"),
    }
}

fn server(protocol: Protocol) -> &'static str {
    match protocol {
        Protocol::Redis => "Redis servers",
        Protocol::Sql => "MySQL servers",
        Protocol::Http => "HTTP servers",
    }
}

/// The plural as people write it: `Policies`, `Ingresses`, `Pods`.
pub(super) fn plural(kind: &str) -> String {
    let consonant_y = |stem: &str| !stem.ends_with(['a', 'e', 'i', 'o', 'u']);
    match kind.strip_suffix('y') {
        Some(stem) if consonant_y(stem) => format!("{stem}ies"),
        _ if kind.ends_with(['s', 'x']) || kind.ends_with("ch") => format!("{kind}es"),
        _ => format!("{kind}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_grant_is_told_in_words() {
        for (grant, hint) in [
            ("own:apps/v1/Deployment", "its own Deployments"),
            ("own:v1/Secret", "never values"),
            ("read:v1/Secret", "never values"),
            (
                "read:networking.k8s.io/v1/NetworkPolicy",
                "reads NetworkPolicies",
            ),
            ("query:redis:6379", "cannot change anything"),
            ("act:sql:3306", "delete data"),
            ("act:http:8080", "HTTP servers"),
            ("act:patch:v1/Pod", "did not make"),
            (
                "act:delete:v1/PersistentVolumeClaim",
                "deletes PersistentVolumeClaims",
            ),
            ("act:evict", "PodDisruptionBudgets"),
            ("slots-from:*", "every namespace"),
            ("slots-from:shared", "namespace shared"),
            ("host:s3.example.com:443", "s3.example.com:443"),
        ] {
            let told = meaning(&grant.parse().unwrap());
            assert!(told.contains(hint), "{grant}: {told}");
        }
    }
}
