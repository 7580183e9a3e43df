//! The same kind under its second group.

use std::borrow::Cow;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Resource;
use serde::{Deserialize, Serialize};

use crate::spec::MySQLCluster;

/// The second group that users' files name.
pub const ALIAS_GROUP: &str = "mysql.example.com";

/// A `MySQLCluster` of the group `mysql.example.com`: the same in all but its group and short name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Alias(pub MySQLCluster);

impl Resource for Alias {
    type DynamicType = ();
    type Scope = <MySQLCluster as Resource>::Scope;

    fn kind((): &()) -> Cow<'_, str> {
        MySQLCluster::kind(&())
    }

    fn group((): &()) -> Cow<'_, str> {
        ALIAS_GROUP.into()
    }

    fn version((): &()) -> Cow<'_, str> {
        MySQLCluster::version(&())
    }

    fn plural((): &()) -> Cow<'_, str> {
        MySQLCluster::plural(&())
    }

    fn meta(&self) -> &ObjectMeta {
        self.0.meta()
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        self.0.meta_mut()
    }
}

/// The CRD of the second group, from that of the first. The short name stays with the first: kubectl resolves a
/// name to one group.
#[must_use]
pub fn crd(first: &CustomResourceDefinition) -> CustomResourceDefinition {
    let mut crd = first.clone();
    crd.metadata.name = Some(format!("{}.{ALIAS_GROUP}", crd.spec.names.plural));
    crd.spec.group = ALIAS_GROUP.to_owned();
    crd.spec.names.short_names = None;
    crd
}
