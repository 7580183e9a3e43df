//! Names and labels of everything that belongs to a Redis.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta};
use windlass_sdk::name::{self, LABEL_LIMIT, NAME_LIMIT, STATEFUL_SET_LIMIT};

/// The field of the spec that names the size of volumes.
pub const SIZE: &str = "spec.persistence.size";

/// On Pods: `master` or `replica`. Patched by the operator, selected by the Services.
pub const ROLE: &str = "role";
/// On Pods and volumes: which of the two StatefulSets they belong to.
pub const SET: &str = "redis.example.com/set";
/// On the primary's volume: the epoch in which it became the primary.
pub const EPOCH: &str = "redis.example.com/epoch";
/// On the primary's volume: whether its data is in the append-only file.
pub const AOF: &str = "redis.example.com/boots-with-aof";
/// On the object: a person's choice of primary where the operator must not choose.
pub const FORCE_PRIMARY: &str = "redis.example.com/force-primary";
/// What every object of this plugin carries; bounds what the host watches.
pub const MANAGED: &str = "app.kubernetes.io/managed-by=windlass";
/// The volume's name in the Pod template.
pub const DATA: &str = "data";

/// The users of Redis; their passwords stand in the Secret [`Names::auth`] under the same names.
pub const OPERATOR: &str = "operator";
/// Readiness probes log in as this user.
pub const PROBE: &str = "probe";
/// A metrics exporter logs in as this user.
pub const EXPORTER: &str = "exporter";
/// Replicas log in at the primary as this user.
pub const REPLICATION: &str = "replication";
/// The key of the password of the user `default`.
pub const PASSWORD: &str = "password";

/// The names of what belongs to one Redis.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Names {
    instance: String,
}

impl Names {
    /// The names of the Redis called `instance`.
    #[must_use]
    pub fn of(instance: &str) -> Self {
        Self {
            instance: instance.to_owned(),
        }
    }

    /// The StatefulSet with the first primary.
    #[must_use]
    pub fn master_set(&self) -> String {
        name::suffixed(&self.instance, "master", STATEFUL_SET_LIMIT)
    }

    /// The StatefulSet with the other Pods.
    #[must_use]
    pub fn replica_set(&self) -> String {
        name::suffixed(&self.instance, "replica", STATEFUL_SET_LIMIT)
    }

    /// The Pod that becomes the first primary.
    #[must_use]
    pub fn first_primary(&self) -> String {
        format!("{}-0", self.master_set())
    }

    /// The Pod of this number among the others.
    #[must_use]
    pub fn replica(&self, ordinal: i32) -> String {
        format!("{}-{ordinal}", self.replica_set())
    }

    /// The number of a Pod of the replica set; `None` for any other Pod.
    #[must_use]
    pub fn ordinal(&self, pod: &str) -> Option<i32> {
        pod.strip_prefix(&self.replica_set())?
            .strip_prefix('-')?
            .parse()
            .ok()
    }

    /// The Service of the primary.
    #[must_use]
    pub fn master_service(&self) -> String {
        name::suffixed(&self.instance, "master", LABEL_LIMIT)
    }

    /// The Service of the replicas.
    #[must_use]
    pub fn replicas_service(&self) -> String {
        name::suffixed(&self.instance, "replicas", LABEL_LIMIT)
    }

    /// The headless Service that gives each Pod its DNS name.
    #[must_use]
    pub fn headless_service(&self) -> String {
        name::suffixed(&self.instance, "headless", LABEL_LIMIT)
    }

    /// The ConfigMap with redis.conf and the boot script.
    #[must_use]
    pub fn config(&self) -> String {
        name::suffixed(&self.instance, "config", NAME_LIMIT)
    }

    /// The Secret with the passwords, one key a user.
    #[must_use]
    pub fn auth(&self) -> String {
        name::suffixed(&self.instance, "auth", NAME_LIMIT)
    }

    /// The Secret that is mounted into Pods: the ACL file and the replication login.
    #[must_use]
    pub fn access(&self) -> String {
        name::suffixed(&self.instance, "access", NAME_LIMIT)
    }

    /// The PodDisruptionBudget.
    #[must_use]
    pub fn budget(&self) -> String {
        name::suffixed(&self.instance, "redis", NAME_LIMIT)
    }

    /// The volume claim of a Pod.
    #[must_use]
    pub fn claim(pod: &str) -> String {
        format!("{DATA}-{pod}")
    }

    /// Labels that select everything of this Redis.
    #[must_use]
    pub fn labels(&self) -> BTreeMap<String, String> {
        BTreeMap::from([
            ("app.kubernetes.io/name".to_owned(), "redis".to_owned()),
            (
                "app.kubernetes.io/instance".to_owned(),
                self.instance.clone(),
            ),
            (
                "app.kubernetes.io/managed-by".to_owned(),
                "windlass".to_owned(),
            ),
        ])
    }

    /// The labels of the Pods of one of the two sets.
    #[must_use]
    pub fn set_labels(&self, set: &str) -> BTreeMap<String, String> {
        let mut labels = self.labels();
        labels.insert(SET.to_owned(), set.to_owned());
        labels
    }

    /// The labels of the Pods with a role.
    #[must_use]
    pub fn role_labels(&self, role: Role) -> BTreeMap<String, String> {
        let mut labels = self.labels();
        labels.insert(ROLE.to_owned(), role.label().to_owned());
        labels
    }

    /// The label selector of everything of this Redis, as kubectl takes it.
    #[must_use]
    pub fn selector(&self) -> String {
        let terms: Vec<String> = self
            .labels()
            .iter()
            .map(|(key, value)| format!("{key}={value}"))
            .collect();
        terms.join(",")
    }

    /// The same as an object.
    #[must_use]
    pub fn label_selector(&self) -> LabelSelector {
        LabelSelector {
            match_labels: Some(self.labels()),
            match_expressions: None,
        }
    }

    /// Metadata of a child of this name.
    #[must_use]
    pub fn metadata(&self, name: String) -> ObjectMeta {
        ObjectMeta {
            name: Some(name),
            labels: Some(self.labels()),
            ..ObjectMeta::default()
        }
    }
}

/// What a Pod is for clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// Takes writes.
    Primary,
    /// Follows the primary.
    Replica,
}

impl Role {
    /// The value of the label [`ROLE`]: the words that the users' file and Services use.
    #[must_use]
    pub fn label(self) -> &'static str {
        match self {
            Self::Primary => "master",
            Self::Replica => "replica",
        }
    }

    /// The role that a Pod's label says.
    #[must_use]
    pub fn of(pod: &ObjectMeta) -> Option<Self> {
        match pod.labels.as_ref()?.get(ROLE)?.as_str() {
            "master" => Some(Self::Primary),
            "replica" => Some(Self::Replica),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Names;

    #[test]
    fn names_are_those_of_the_walk_through() {
        let names = Names::of("my-redis");
        assert_eq!(names.first_primary(), "my-redis-master-0");
        assert_eq!(names.replica(1), "my-redis-replica-1");
        assert_eq!(names.ordinal("my-redis-replica-12"), Some(12));
        assert_eq!(names.ordinal("my-redis-master-0"), None);
        assert_eq!(Names::claim("my-redis-master-0"), "data-my-redis-master-0");
    }
}
