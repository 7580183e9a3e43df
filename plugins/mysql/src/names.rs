//! Names and labels of everything that belongs to a MySQL cluster.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta};
use windlass_sdk::name::{self, LABEL_LIMIT, NAME_LIMIT, STATEFUL_SET_LIMIT};

/// On Pods: `primary` or `replica`. Patched by the operator, selected by the Services.
pub const ROLE: &str = "role";
/// On everything: which of the two groups the owner is served under.
pub const GROUP: &str = "mysql.example.com/group";
/// On the primary's volume: the epoch in which it became the primary.
pub const EPOCH: &str = "mysql.example.com/epoch";
/// On the object: a person's choice of primary where the operator must not choose.
pub const FORCE_PRIMARY: &str = "mysql.example.com/force-primary";
/// On the object: the Pod that is to become the primary; empty leaves the choice to the operator.
pub const SWITCHOVER: &str = "mysql.example.com/switchover";
/// On the object: a backup is made at once whenever this value changes.
pub const BACKUP_NOW: &str = "mysql.example.com/backup";
/// What every object of this plugin carries; bounds what the host watches.
pub const MANAGED: &str = "app.kubernetes.io/managed-by=windlass";
/// The volume's name in the Pod template.
pub const DATA: &str = "data";

/// Administers every instance; only actions log in as this account.
pub const OPERATOR: &str = "operator";
/// Sees status and nothing else; only queries log in as this account.
pub const OBSERVER: &str = "observer";
/// Replicas log in at the primary as this account.
pub const REPLICATION: &str = "replication";
/// A new replica copies a donor as this account.
pub const CLONE: &str = "clone";
/// Dumps are made as this account.
pub const BACKUP: &str = "backup";
/// A metrics exporter logs in as this account.
pub const EXPORTER: &str = "exporter";
/// The local account of a person in the container, and of the boot script.
pub const ROOT: &str = "root";
/// Applications log in as this account; it owns the database of the same name.
pub const APP: &str = "app";

/// The names of what belongs to one MySQL cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Names {
    instance: String,
    group: String,
}

impl Names {
    /// The names of the cluster called `instance`, served under `group`.
    #[must_use]
    pub fn of(instance: &str, group: &str) -> Self {
        Self {
            instance: instance.to_owned(),
            group: group.to_owned(),
        }
    }

    /// The StatefulSet.
    #[must_use]
    pub fn set(&self) -> String {
        let limit = STATEFUL_SET_LIMIT;
        match self.instance.len() <= limit {
            true => self.instance.clone(),
            false => name::suffixed(&self.instance, "mysql", limit),
        }
    }

    /// The Pod of this number.
    #[must_use]
    pub fn pod(&self, ordinal: i32) -> String {
        format!("{}-{ordinal}", self.set())
    }

    /// The number of a Pod of the set; `None` for any other Pod.
    #[must_use]
    pub fn ordinal(&self, pod: &str) -> Option<i32> {
        let number = pod.strip_prefix(&self.set())?.strip_prefix('-')?;
        number.parse().ok().filter(|number| *number >= 0)
    }

    /// The name under which replicas reach a Pod: it stays the same when the Pod is made anew.
    #[must_use]
    pub fn host(&self, pod: &str) -> String {
        format!("{pod}.{}", self.headless_service())
    }

    /// The Service of the primary.
    #[must_use]
    pub fn primary_service(&self) -> String {
        name::suffixed(&self.instance, "primary", LABEL_LIMIT)
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

    /// The ConfigMap with my.cnf and the scripts.
    #[must_use]
    pub fn config(&self) -> String {
        name::suffixed(&self.instance, "config", NAME_LIMIT)
    }

    /// The Secret with the operator's passwords, one key an account.
    #[must_use]
    pub fn auth(&self) -> String {
        name::suffixed(&self.instance, "auth", NAME_LIMIT)
    }

    /// The Secret that applications use.
    #[must_use]
    pub fn app(&self) -> String {
        name::suffixed(&self.instance, "app", NAME_LIMIT)
    }

    /// The Secret that is mounted into Pods: the statements that make the accounts.
    #[must_use]
    pub fn access(&self) -> String {
        name::suffixed(&self.instance, "access", NAME_LIMIT)
    }

    /// The PodDisruptionBudget.
    #[must_use]
    pub fn budget(&self) -> String {
        name::suffixed(&self.instance, "mysql", NAME_LIMIT)
    }

    /// The volume claim of backups.
    #[must_use]
    pub fn backup_claim(&self) -> String {
        name::suffixed(&self.instance, "backup", NAME_LIMIT)
    }

    /// The Job of the backup with this id.
    #[must_use]
    pub fn backup_job(&self, id: &str) -> String {
        name::suffixed(&self.instance, &format!("backup-{id}"), LABEL_LIMIT)
    }

    /// The volume claim of a Pod.
    #[must_use]
    pub fn claim(pod: &str) -> String {
        format!("{DATA}-{pod}")
    }

    /// Labels that select everything of this cluster.
    #[must_use]
    pub fn labels(&self) -> BTreeMap<String, String> {
        let labels = [
            ("app.kubernetes.io/name", "mysql"),
            ("app.kubernetes.io/instance", &self.instance),
            ("app.kubernetes.io/managed-by", "windlass"),
            (GROUP, &self.group),
        ];
        let labels = labels.map(|(key, value)| (key.to_owned(), value.to_owned()));
        labels.into()
    }

    /// The labels of its Pods with MySQL: those of backups have others.
    #[must_use]
    pub fn pod_labels(&self) -> BTreeMap<String, String> {
        self.component_labels("database")
    }

    /// The labels of its objects of one sort.
    #[must_use]
    pub fn component_labels(&self, component: &str) -> BTreeMap<String, String> {
        let mut labels = self.labels();
        let key = "app.kubernetes.io/component".to_owned();
        labels.insert(key, component.to_owned());
        labels
    }

    /// The labels of the Pods with a role.
    #[must_use]
    pub fn role_labels(&self, role: Role) -> BTreeMap<String, String> {
        let mut labels = self.pod_labels();
        labels.insert(ROLE.to_owned(), role.label().to_owned());
        labels
    }

    /// The label selector of its Pods and their volumes, as kubectl takes it.
    #[must_use]
    pub fn selector(&self) -> String {
        let labels = self.pod_labels();
        let terms: Vec<String> = labels
            .iter()
            .map(|(key, value)| format!("{key}={value}"))
            .collect();
        terms.join(",")
    }

    /// The same as an object.
    #[must_use]
    pub fn label_selector(&self) -> LabelSelector {
        LabelSelector {
            match_labels: Some(self.pod_labels()),
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
    /// The value of the label [`ROLE`].
    #[must_use]
    pub fn label(self) -> &'static str {
        match self {
            Self::Primary => "primary",
            Self::Replica => "replica",
        }
    }

    /// The role that a Pod's label says.
    #[must_use]
    pub fn of(pod: &ObjectMeta) -> Option<Self> {
        match pod.labels.as_ref()?.get(ROLE)?.as_str() {
            "primary" => Some(Self::Primary),
            "replica" => Some(Self::Replica),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Names;

    #[test]
    fn names_are_those_that_the_documentation_shows() {
        let names = Names::of("my-database", "mysql.example.com");
        assert_eq!(names.pod(0), "my-database-0");
        assert_eq!(names.ordinal("my-database-12"), Some(12));
        assert_eq!(names.ordinal("my-database-backup-x"), None);
        assert_eq!(names.primary_service(), "my-database-primary");
        assert_eq!(
            names.host("my-database-1"),
            "my-database-1.my-database-headless"
        );
        assert_eq!(Names::claim("my-database-0"), "data-my-database-0");
    }
}
