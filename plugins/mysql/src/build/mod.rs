//! Children: every object that a MySQL cluster consists of.
//!
//! They follow from the spec and the record as it was received, never from what the same round decides.

pub mod backup_job;
pub mod config_map;
pub mod pod;
pub mod pod_disruption_budget;
pub mod secret;
pub mod service;
pub mod stateful_set;

use k8s_openapi::api::apps::v1::StatefulSet;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{ConfigMap, PersistentVolumeClaim, Secret, Service};
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use kube::Resource;
use windlass_sdk::{Child, Context, Error, Plan};

use crate::names::Names;
use crate::spec::{DeletionPolicy, MySQLClusterSpec};
use crate::status::Record;

pub use stateful_set::size;

/// What children are built from.
pub struct Blueprint<'a> {
    /// Names and labels.
    pub names: &'a Names,
    /// What the user asks for.
    pub spec: &'a MySQLClusterSpec,
    /// The record as it was received.
    pub record: &'a Record,
    /// The object's namespace.
    pub namespace: &'a str,
    /// The image that has the host's own program.
    pub host_image: &'a str,
}

/// Adds every child whose kind is granted, in the order in which they need each other.
///
/// # Errors
/// [`Error::Transient`] when a child does not serialise.
pub fn add_children(plan: &mut Plan, cx: &Context<'_>, of: &Blueprint<'_>) -> Result<(), Error> {
    let mut add = |granted: bool, child: Child| {
        if granted {
            plan.child(child);
        }
    };
    let secrets = owned::<Secret>(cx);
    add(secrets, kept(of, Child::of(&secret::passwords(of))?));
    add(secrets, kept(of, Child::of(&secret::app(of))?));
    add(secrets, Child::of(&secret::access(of))?);
    add(owned::<ConfigMap>(cx), Child::of(&config_map::config(of))?);
    let services = owned::<Service>(cx);
    for service in service::all(of) {
        add(services, Child::of(&service)?);
    }
    let set = Child::of(&stateful_set::set(of))?.recreated_around_dependents();
    add(owned::<StatefulSet>(cx), set);
    let budget = Child::of(&pod_disruption_budget::budget(of))?;
    add(owned::<PodDisruptionBudget>(cx), budget);
    if let Some(claim) = backup_job::claim(of) {
        add(
            owned::<PersistentVolumeClaim>(cx),
            kept(of, Child::of(&claim)?),
        );
    }
    if let Some(job) = backup_job::job(of) {
        add(owned::<Job>(cx), Child::of(&job)?);
    }
    Ok(())
}

/// Passwords live as long as the data that they open.
pub(crate) fn kept(of: &Blueprint<'_>, child: Child) -> Child {
    match of.spec.deletion_policy {
        DeletionPolicy::Retain => child.kept(),
        DeletionPolicy::Delete => child,
    }
}

pub(crate) fn owned<K: Resource<DynamicType = ()>>(cx: &Context<'_>) -> bool {
    cx.available(&format!("own:{}/{}", K::api_version(&()), K::kind(&())))
}
