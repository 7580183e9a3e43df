//! A namespace that belongs to one scenario.

use std::fmt::Debug;

use anyhow::{Context, Result};
use k8s_openapi::api::core::v1::{Namespace as NamespaceObject, Service};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::api::{
    ApiResource, DeleteParams, DynamicObject, ObjectMeta, Patch, PatchParams, PostParams,
};
use kube::core::NamespaceResourceScope;
use kube::{Api, Client, Resource, ResourceExt};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::cluster::Cluster;
use crate::manifest;
use crate::pod::Pod;
use crate::wait::Expectation;

/// The field manager of everything that a scenario writes: how the audit log tells it apart.
pub const FIELD_MANAGER: &str = "windlass-e2e";

/// Kubernetes' limit is 63; the API server adds five characters to a generated name.
const LONGEST_PREFIX: usize = 56;

/// A namespace of its own for one scenario, and the way to everything in it.
#[derive(Clone)]
pub struct Namespace {
    cluster: Cluster,
    name: String,
    uid: String,
}

impl Namespace {
    /// Makes a namespace whose name begins with the test's.
    ///
    /// # Errors
    /// When the API server refuses or does not answer.
    pub async fn create(cluster: &Cluster, test: &str) -> Result<Self> {
        let object = NamespaceObject {
            metadata: ObjectMeta {
                generate_name: Some(prefix(test)),
                ..ObjectMeta::default()
            },
            ..NamespaceObject::default()
        };
        let created = Api::all(cluster.client())
            .create(&PostParams::default(), &object)
            .await
            .with_context(|| format!("failed to make a namespace for {test}"))?;
        let uid = created
            .uid()
            .context("the API server gave the namespace no uid")?;
        Ok(Self {
            cluster: cluster.clone(),
            name: created.name_any(),
            uid,
        })
    }

    /// A namespace that was there before the scenario and stays after it.
    ///
    /// # Errors
    /// When it does not exist or the API server does not answer.
    pub async fn existing(cluster: &Cluster, name: &str) -> Result<Self> {
        let api: Api<NamespaceObject> = Api::all(cluster.client());
        let object = api
            .get(name)
            .await
            .with_context(|| format!("failed to get namespace {name}"))?;
        Ok(Self {
            cluster: cluster.clone(),
            name: name.to_owned(),
            uid: object.uid().unwrap_or_default(),
        })
    }

    /// The name that the API server gave it.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The cluster it is on.
    #[must_use]
    pub fn cluster(&self) -> &Cluster {
        &self.cluster
    }

    /// A client of the cluster's API server, as administrator.
    #[must_use]
    pub fn client(&self) -> Client {
        self.cluster.client()
    }

    /// The objects of one kind in this namespace.
    #[must_use]
    pub fn api<K>(&self) -> Api<K>
    where
        K: Resource<Scope = NamespaceResourceScope>,
        K::DynamicType: Default,
    {
        Api::namespaced(self.client(), &self.name)
    }

    /// The objects of a kind that has no Rust type here.
    #[must_use]
    pub fn dynamic(&self, kind: &ApiResource) -> Api<DynamicObject> {
        Api::namespaced_with(self.client(), &self.name, kind)
    }

    /// What makes an object outside of the namespace go with it.
    pub(crate) fn owner_reference(&self) -> OwnerReference {
        OwnerReference {
            api_version: "v1".to_owned(),
            kind: "Namespace".to_owned(),
            name: self.name.clone(),
            uid: self.uid.clone(),
            ..OwnerReference::default()
        }
    }

    /// Applies every object of a YAML text (documents divided by `---`) into this namespace, by
    /// server-side apply. `${NAMESPACE}` stands for its name. Objects of a kind without namespaces
    /// are owned by it and go with it.
    ///
    /// # Errors
    /// When the text is no Kubernetes YAML, a kind is unknown or the API server refuses an object.
    pub async fn apply(&self, yaml: &str) -> Result<()> {
        manifest::apply(self, yaml).await
    }

    /// Changes one object by a JSON merge patch.
    ///
    /// # Errors
    /// When the object is missing or the API server refuses the patch.
    pub async fn patch<K>(&self, name: &str, change: impl Serialize + Debug) -> Result<K>
    where
        K: Resource<Scope = NamespaceResourceScope> + Clone + Debug + DeserializeOwned,
        K::DynamicType: Default,
    {
        let parameters = PatchParams::apply(FIELD_MANAGER);
        self.api::<K>()
            .patch(name, &parameters, &Patch::Merge(&change))
            .await
            .with_context(|| format!("failed to patch {}/{name} with {change:?}", self.name))
    }

    /// What a scenario expects of one object: `ns.expect::<Service>("redis").to("…", |s| …)`.
    pub fn expect<K>(&self, name: &str) -> Expectation<K>
    where
        K: Resource<Scope = NamespaceResourceScope>,
        K::DynamicType: Default,
    {
        let kind = K::kind(&K::DynamicType::default()).into_owned();
        Expectation::new(self.api(), &kind, &format!("{}/{name}", self.name), name)
    }

    /// The same for a kind that has no Rust type here.
    pub fn expect_dynamic(&self, kind: &ApiResource, name: &str) -> Expectation<DynamicObject> {
        let full = format!("{}/{name}", self.name);
        Expectation::new(self.dynamic(kind), &kind.kind, &full, name)
    }

    /// A handle on a Pod, which need not exist yet.
    #[must_use]
    pub fn pod(&self, name: &str) -> Pod {
        Pod::new(self.clone(), name)
    }

    /// The name under which other Pods find a Service of this namespace.
    #[must_use]
    pub fn service_host(&self, service: &str) -> String {
        format!("{service}.{}.svc.cluster.local", self.name)
    }

    /// The address that the cluster gave a Service.
    ///
    /// # Errors
    /// When the Service is missing or headless.
    pub async fn service_address(&self, service: &str) -> Result<String> {
        let object = self.api::<Service>().get(service).await?;
        let address = object
            .spec
            .and_then(|spec| spec.cluster_ip)
            .filter(|ip| ip != "None");
        address.with_context(|| format!("service {}/{service} has no cluster IP", self.name))
    }

    /// Deletes the namespace and waits until nothing of it is left.
    ///
    /// # Errors
    /// When something in it cannot be removed: that is a fault of the cluster or of an operator.
    pub async fn remove(&self) -> Result<()> {
        self.start_removal().await?;
        let api: Api<NamespaceObject> = Api::all(self.client());
        Expectation::new(api, "Namespace", &self.name, &self.name)
            .to_be_gone()
            .await
    }

    /// Deletes the namespace without waiting for its end.
    ///
    /// # Errors
    /// When the API server refuses or does not answer.
    pub async fn start_removal(&self) -> Result<()> {
        let api: Api<NamespaceObject> = Api::all(self.client());
        api.delete(&self.name, &DeleteParams::default())
            .await
            .with_context(|| format!("failed to delete namespace {}", self.name))?;
        Ok(())
    }
}

/// A name prefix out of a Rust function's name.
fn prefix(test: &str) -> String {
    let mut name: String = test.replace('_', "-").to_lowercase();
    name.truncate(LONGEST_PREFIX);
    format!("{}-", name.trim_matches('-'))
}

#[cfg(test)]
mod tests {
    use super::{LONGEST_PREFIX, prefix};

    #[test]
    fn a_long_test_name_is_cut_to_what_kubernetes_takes() {
        let name = prefix(&"a_very_long_story_".repeat(9));
        assert!(name.len() <= LONGEST_PREFIX + 1, "{name}");
        assert!(name.ends_with('-') && !name.ends_with("--"), "{name}");
    }
}
