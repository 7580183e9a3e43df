//! Children: every object that a Redis consists of.
//!
//! They follow from the spec and the record as it was received, never from what the same round decides.

pub mod config_map;
pub mod pod_disruption_budget;
pub mod secret;
pub mod service;
pub mod stateful_set;

use k8s_openapi::api::apps::v1::StatefulSet;
use k8s_openapi::api::core::v1::{ConfigMap, Secret, Service};
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use kube::Resource;
use windlass_sdk::{Child, Context, Error, Plan};

use crate::names::Names;
use crate::settings::Settings;
use crate::spec::{DeletionPolicy, RedisSpec};
use crate::status::Record;

pub use stateful_set::replica_count;

/// What children are built from.
pub struct Blueprint<'a> {
    /// Names and labels.
    pub names: &'a Names,
    /// What the user asks for.
    pub spec: &'a RedisSpec,
    /// The same, sorted.
    pub settings: &'a Settings,
    /// The record as it was received.
    pub record: &'a Record,
    /// Whether Pods boot with the append-only file.
    pub boots_with_aof: bool,
    /// The digest of the password that the user named, if there is one.
    pub password_digest: Option<&'a str>,
}

/// Adds every child whose kind is granted, in the order in which they need each other.
///
/// # Errors
/// [`Error::Transient`] when a child does not serialise.
pub fn add_children(plan: &mut Plan, cx: &Context<'_>, of: &Blueprint<'_>) -> Result<(), Error> {
    let kept = |child: Child| match of.spec.deletion_policy {
        DeletionPolicy::Retain => child.kept(),
        DeletionPolicy::Delete => child,
    };
    let mut add = |granted: bool, child: Child| {
        if granted {
            plan.child(child);
        }
    };
    let secrets = owned::<Secret>(cx);
    add(secrets, kept(Child::of(&secret::passwords(of))?));
    add(secrets, Child::of(&secret::access(of))?);
    add(owned::<ConfigMap>(cx), Child::of(&config_map::config(of))?);
    let services = owned::<Service>(cx);
    for service in service::all(of) {
        add(services, Child::of(&service)?);
    }
    let sets = owned::<StatefulSet>(cx);
    for set in stateful_set::all(of) {
        add(sets, Child::of(&set)?.recreated_around_dependents());
    }
    add(
        owned::<PodDisruptionBudget>(cx),
        Child::of(&pod_disruption_budget::budget(of))?,
    );
    Ok(())
}

fn owned<K: Resource<DynamicType = ()>>(cx: &Context<'_>) -> bool {
    cx.available(&format!("own:{}/{}", K::api_version(&()), K::kind(&())))
}
