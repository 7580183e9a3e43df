//! The StatefulSet.

use serde_json::{Value, json};

use super::containers::{self, INIT_RELOADER, RELOADER, filled};
use super::{Blueprint, claim, custom, volumes};
use crate::digest::digest;
use crate::names::{GOVERNING, MODE, TEMPLATE};

/// How long Prometheus gets to write its log before it is ended, in seconds.
const GRACE: i64 = 600;

/// What of the live StatefulSet matters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Live {
    /// What its template was made from.
    pub template: Option<String>,
    /// The image of its sidecar.
    pub reloader: Option<String>,
}

/// The StatefulSet. While nothing else of the template changes, the sidecar keeps its image: a newer host restarts
/// no Prometheus.
#[must_use]
pub fn stateful_set(of: &Blueprint<'_>, live: &Live) -> Value {
    let mut template = template(of);
    let digest = digest(&without_reloader(&template).to_string());
    if let (Some(image), true) = (&live.reloader, live.template.as_ref() == Some(&digest)) {
        set_reloader(&mut template, image);
    }
    let spec = of.spec;
    let mut labels = of.labels.clone();
    labels.insert(MODE.to_owned(), "server".to_owned());
    let mut labels = json!(labels);
    super::merge::patch(&mut labels, &of.names.labels());
    json!({
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {
            "name": of.names.base(),
            "labels": labels,
            "annotations": {TEMPLATE: digest},
        },
        "spec": {
            "serviceName": custom(of).unwrap_or_else(|| GOVERNING.to_owned()),
            "replicas": of.replicas(),
            // One Pod that does not start must not hold up the others.
            "podManagementPolicy": "Parallel",
            "updateStrategy": {"type": "RollingUpdate"},
            "minReadySeconds": spec.min_ready_seconds,
            "selector": {"matchLabels": of.names.labels()},
            "template": template,
            "volumeClaimTemplates": claim::template(of).map(|claim| vec![claim]),
            "persistentVolumeClaimRetentionPolicy": spec.persistent_volume_claim_retention_policy,
        },
    })
}

fn template(of: &Blueprint<'_>) -> Value {
    let spec = of.spec;
    let dns_policy = spec
        .dns_policy
        .as_deref()
        .or(spec.host_network.then_some("ClusterFirstWithHostNet"));
    json!({
        "metadata": metadata(of),
        "spec": {
            "containers": containers::containers(of),
            "initContainers": containers::init_containers(of),
            "volumes": volumes::volumes(of),
            "serviceAccountName": filled(&spec.service_account_name),
            "automountServiceAccountToken": spec.automount_service_account_token.unwrap_or(true),
            "securityContext": spec.security_context,
            "imagePullSecrets": (!spec.image_pull_secrets.is_empty()).then_some(&spec.image_pull_secrets),
            "nodeSelector": spec.node_selector,
            "priorityClassName": filled(&spec.priority_class_name),
            "affinity": spec.affinity,
            "tolerations": spec.tolerations,
            "topologySpreadConstraints": spread(of),
            "terminationGracePeriodSeconds": spec.termination_grace_period_seconds.unwrap_or(GRACE),
            "hostAliases": spec.host_aliases,
            "hostNetwork": spec.host_network.then_some(true),
            "hostUsers": spec.host_users,
            "enableServiceLinks": spec.enable_service_links,
            "dnsPolicy": dns_policy,
            "dnsConfig": spec.dns_config,
        },
    })
}

fn metadata(of: &Blueprint<'_>) -> Value {
    let mut metadata = json!({
        "labels": {"app.kubernetes.io/version": of.version.to_string()},
        "annotations": {"kubectl.kubernetes.io/default-container": "prometheus"},
    });
    if let Some(users) = &of.spec.pod_metadata {
        let users = json!({"labels": users.labels, "annotations": users.annotations});
        super::merge::patch(&mut metadata, &users);
    }
    super::merge::patch(&mut metadata, &json!({"labels": of.names.labels()}));
    metadata
}

/// Users' constraints; where they ask for it, on the Pods of this Prometheus.
fn spread(of: &Blueprint<'_>) -> Option<Vec<Value>> {
    let constraints = of
        .spec
        .topology_spread_constraints
        .iter()
        .map(|constraint| {
            let mut constraint = constraint.0.clone();
            let asked = constraint
                .as_object_mut()
                .and_then(|map| map.remove("additionalLabelSelectors"));
            if let Some(which) = asked {
                let mut labels = of.names.labels();
                if which == "OnResource" {
                    super::merge::patch(&mut labels, &json!({crate::names::SHARD: null}));
                }
                super::merge::patch(
                    &mut constraint,
                    &json!({"labelSelector": {"matchLabels": labels}}),
                );
            }
            constraint
        });
    let constraints: Vec<Value> = constraints.collect();
    (!constraints.is_empty()).then_some(constraints)
}

fn set_reloader(template: &mut Value, image: &str) {
    for list in ["containers", "initContainers"] {
        let containers = template["spec"][list].as_array_mut();
        for container in containers.into_iter().flatten() {
            if [RELOADER, INIT_RELOADER].contains(&container["name"].as_str().unwrap_or_default()) {
                container["image"] = image.into();
            }
        }
    }
}

fn without_reloader(template: &Value) -> Value {
    let mut blank = template.clone();
    set_reloader(&mut blank, "");
    blank
}
