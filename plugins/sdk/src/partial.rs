//! Objects of which only metadata and status are read.

use std::borrow::Cow;
use std::marker::PhantomData;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Resource;
use serde::{Deserialize, Serialize};

/// An object of the kind `K` without its spec, with a status of type `S`.
///
/// Ask for it where a plugin decides by what an object is and not by what it should be: a Pod's spec is most of its
/// text, and the code that reads it is half of a guest.
///
/// ```
/// use k8s_openapi::api::core::v1::{Pod, PodStatus};
/// use windlass_sdk::Partial;
/// let json = r#"{"metadata": {"name": "web-0"}, "spec": {"containers": []}, "status": {"podIP": "10.0.0.7"}}"#;
/// let pod: Partial<Pod, PodStatus> = serde_json::from_str(json).unwrap();
/// assert_eq!(pod.status.unwrap().pod_ip.as_deref(), Some("10.0.0.7"));
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(bound(serialize = "S: Serialize", deserialize = "S: Deserialize<'de>"))]
pub struct Partial<K, S> {
    /// As Kubernetes keeps it.
    #[serde(default)]
    pub metadata: ObjectMeta,
    /// What the object's controller says about it.
    #[serde(default = "nothing", skip_serializing_if = "Option::is_none")]
    pub status: Option<S>,
    #[serde(skip)]
    kind: PhantomData<K>,
}

fn nothing<S>() -> Option<S> {
    None
}

impl<K: Resource<DynamicType = ()>, S> Resource for Partial<K, S> {
    type DynamicType = ();
    type Scope = K::Scope;

    fn kind((): &()) -> Cow<'_, str> {
        K::kind(&())
    }

    fn group((): &()) -> Cow<'_, str> {
        K::group(&())
    }

    fn version((): &()) -> Cow<'_, str> {
        K::version(&())
    }

    fn plural((): &()) -> Cow<'_, str> {
        K::plural(&())
    }

    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}
