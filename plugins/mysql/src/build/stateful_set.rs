//! The instances. Which one is the primary is a label, not a number.

use std::collections::BTreeMap;

use k8s_openapi::api::apps::v1::{StatefulSet, StatefulSetSpec, StatefulSetUpdateStrategy};
use k8s_openapi::api::core::v1::{
    PersistentVolumeClaim, PersistentVolumeClaimSpec, PodTemplateSpec, VolumeResourceRequirements,
};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta};

use super::{Blueprint, config_map, pod};
use crate::names::DATA;

/// How many Pods the set has: as asked, but never without the primary, which moves first, nor without a voter,
/// which is struck off first.
#[must_use]
pub fn size(of: &Blueprint<'_>) -> i32 {
    let record = of.record;
    let voters = record.voters.iter().map(|voter| &voter.pod);
    let primary = record.primary.as_ref().map(|primary| &primary.pod);
    let needed = voters
        .chain(primary)
        .filter_map(|pod| of.names.ordinal(pod));
    needed.fold(of.spec.replicas, |size, ordinal| size.max(ordinal + 1))
}

/// Pods come up in any order and are replaced by the operator alone: it knows which one is the primary.
pub fn set(of: &Blueprint<'_>) -> StatefulSet {
    StatefulSet {
        metadata: of.names.metadata(of.names.set()),
        spec: Some(StatefulSetSpec {
            replicas: Some(size(of)),
            service_name: Some(of.names.headless_service()),
            pod_management_policy: Some("Parallel".to_owned()),
            update_strategy: Some(StatefulSetUpdateStrategy {
                type_: Some("OnDelete".to_owned()),
                rolling_update: None,
            }),
            revision_history_limit: Some(3),
            selector: LabelSelector {
                match_labels: Some(of.names.pod_labels()),
                match_expressions: None,
            },
            template: PodTemplateSpec {
                metadata: Some(ObjectMeta {
                    labels: Some(of.names.pod_labels()),
                    annotations: annotations(of),
                    ..ObjectMeta::default()
                }),
                spec: Some(pod::pod(of)),
            },
            volume_claim_templates: Some(vec![claim(of)]),
            ..StatefulSetSpec::default()
        }),
        ..StatefulSet::default()
    }
}

/// What must replace Pods when it changes, though it does not stand in the template.
fn annotations(of: &Blueprint<'_>) -> Option<BTreeMap<String, String>> {
    let bytes = config_map::buffer_pool(of)?;
    let annotation = (
        "mysql.example.com/buffer-pool".to_owned(),
        bytes.to_string(),
    );
    Some(BTreeMap::from([annotation]))
}

fn claim(of: &Blueprint<'_>) -> PersistentVolumeClaim {
    PersistentVolumeClaim {
        metadata: ObjectMeta {
            name: Some(DATA.to_owned()),
            labels: Some(of.names.pod_labels()),
            ..ObjectMeta::default()
        },
        spec: Some(PersistentVolumeClaimSpec {
            access_modes: Some(vec!["ReadWriteOnce".to_owned()]),
            storage_class_name: of.spec.storage_class_name.clone(),
            resources: Some(VolumeResourceRequirements {
                requests: Some(storage(&of.spec.storage_size)),
                limits: None,
            }),
            ..PersistentVolumeClaimSpec::default()
        }),
        status: None,
    }
}

/// A size as a claim asks for it.
pub fn storage(size: &str) -> BTreeMap<String, Quantity> {
    BTreeMap::from([("storage".to_owned(), Quantity(size.to_owned()))])
}
