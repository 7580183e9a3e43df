//! Names and labels of everything that belongs to a Prometheus. They are those of prometheus-operator, so that what
//! it made is taken over as it is.

use serde_json::{Value, json};

/// On Pods and StatefulSets: the Prometheus that they belong to. Bounds what the host watches.
pub const NAME: &str = "operator.prometheus.io/name";
/// On Pods and StatefulSets: the shard.
pub const SHARD: &str = "operator.prometheus.io/shard";
/// On StatefulSets: that they are of a Prometheus server.
pub const MODE: &str = "operator.prometheus.io/mode";
/// On ConfigMaps with rules: the Prometheus that they belong to.
pub const RULES_OF: &str = "prometheus-name";
/// On Pods: the revision that the kubelet was made to look for.
pub const REVISION: &str = "prometheus.windlass.dev/revision";
/// On StatefulSets: what the template was made from, but for the image of the sidecar.
pub const TEMPLATE: &str = "prometheus.windlass.dev/template";
/// The Service that all Prometheus servers of a namespace share.
pub const GOVERNING: &str = "prometheus-operated";

/// The names of what belongs to one Prometheus.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Names {
    instance: String,
}

impl Names {
    /// Those of a Prometheus by its name.
    #[must_use]
    pub fn of(instance: &str) -> Self {
        Self {
            instance: instance.to_owned(),
        }
    }

    /// The StatefulSet, and the Secret with the configuration.
    #[must_use]
    pub fn base(&self) -> String {
        format!("prometheus-{}", self.instance)
    }

    /// The Secret with certificates and keys.
    #[must_use]
    pub fn tls_assets(&self) -> String {
        format!("{}-tls-assets-0", self.base())
    }

    /// The ConfigMap with the rules of this number.
    #[must_use]
    pub fn rules(&self, number: usize) -> String {
        format!("{}-rulefiles-{number}", self.base())
    }

    /// The claim, unless a user names it.
    #[must_use]
    pub fn volume(&self) -> String {
        format!("{}-db", self.base())
    }

    /// The labels that Pods are found by.
    #[must_use]
    pub fn labels(&self) -> Value {
        json!({
            "app.kubernetes.io/managed-by": "prometheus-operator",
            "app.kubernetes.io/name": "prometheus",
            "app.kubernetes.io/instance": self.instance,
            NAME: self.instance,
            SHARD: "0",
            "prometheus": self.instance,
        })
    }

    /// The selector of the Pods, as kubectl takes it.
    #[must_use]
    pub fn selector(&self) -> String {
        format!(
            "app.kubernetes.io/instance={0},app.kubernetes.io/managed-by=prometheus-operator,\
             app.kubernetes.io/name=prometheus,{NAME}={0},prometheus={0}",
            self.instance
        )
    }
}
