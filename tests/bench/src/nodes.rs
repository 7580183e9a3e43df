//! What the controller manager and kubelets do for a StatefulSet, as far as an operator sees it: Pods and volumes come
//! to be, and all of them are ready at once.

use anyhow::{Context, Result};
use futures::TryStreamExt;
use k8s_openapi::api::apps::v1::StatefulSet;
use k8s_openapi::api::core::v1::{PersistentVolumeClaim, Pod};
use kube::api::{Api, Patch, PatchParams, PostParams};
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Client, ResourceExt};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::servers::address;

/// Sets that are looked after at once.
const AT_ONCE: usize = 16;
/// The one revision that templates have here.
const REVISION: &str = "first";

/// Looks after all StatefulSets, and ends only with an error.
///
/// # Errors
/// When the API server refuses an object.
pub async fn run(client: Client) -> Result<()> {
    let sets: Api<StatefulSet> = Api::all(client.clone());
    let seen = watcher(sets, watcher::Config::default()).default_backoff();
    seen.applied_objects()
        .map_err(anyhow::Error::from)
        .try_for_each_concurrent(AT_ONCE, |set| {
            let client = client.clone();
            async move { bring_up(&client, &set).await }
        })
        .await
}

async fn bring_up(client: &Client, set: &StatefulSet) -> Result<()> {
    let status = set.status.as_ref();
    if status.and_then(|status| status.observed_generation) == set.metadata.generation {
        return Ok(());
    }
    let replicas = set
        .spec
        .as_ref()
        .and_then(|spec| spec.replicas)
        .unwrap_or_default();
    let spec = serde_json::to_value(&set.spec)?;
    for ordinal in 0..u32::try_from(replicas)? {
        bring_up_pod(client, set, &spec, ordinal).await?;
    }
    let status = json!({"status": {
        "observedGeneration": set.metadata.generation,
        "replicas": replicas, "readyReplicas": replicas, "availableReplicas": replicas,
        "currentReplicas": replicas, "updatedReplicas": replicas,
        "currentRevision": REVISION, "updateRevision": REVISION,
    }});
    tell(client, set, &status).await
}

async fn bring_up_pod(
    client: &Client,
    set: &StatefulSet,
    set_spec: &Value,
    ordinal: u32,
) -> Result<()> {
    let namespace = set.namespace().unwrap_or_default();
    let name = format!("{}-{ordinal}", set.name_any());
    let template = &set_spec["template"];
    let mut spec = template["spec"].clone();
    let mut volumes = spec["volumes"].as_array().cloned().unwrap_or_default();
    let claims = set_spec["volumeClaimTemplates"].as_array();
    for claim in claims.into_iter().flatten() {
        let claim_name = format!("{}-{name}", text(&claim["metadata"]["name"]));
        let mut metadata = claim["metadata"].clone();
        metadata["name"] = json!(claim_name);
        let claim_spec = &claim["spec"];
        let made = json!({"metadata": metadata, "spec": claim_spec});
        make::<PersistentVolumeClaim>(client, &namespace, made).await?;
        volumes.push(json!({"name": claim["metadata"]["name"],
            "persistentVolumeClaim": {"claimName": claim_name}}));
    }
    spec["volumes"] = Value::Array(volumes);
    let mut labels = template["metadata"]["labels"].clone();
    labels["controller-revision-hash"] = json!(REVISION);
    let pod = json!({
        "metadata": {
            "name": name, "labels": labels, "annotations": template["metadata"]["annotations"],
            "ownerReferences": [{"apiVersion": "apps/v1", "kind": "StatefulSet", "name": set.name_any(),
                "uid": set.metadata.uid, "controller": true, "blockOwnerDeletion": true}],
        },
        "spec": spec,
    });
    if let Some(pod) = make::<Pod>(client, &namespace, pod).await? {
        let ip = place(&set.name_any(), ordinal)?;
        tell(client, &pod, &ready(&pod, &ip)).await?;
    }
    Ok(())
}

/// The status of a Pod that answers at this address.
fn ready(pod: &Pod, ip: &str) -> Value {
    let since = &pod.metadata.creation_timestamp;
    let containers = pod
        .spec
        .iter()
        .flat_map(|spec| &spec.containers)
        .map(|container| {
            json!({"name": container.name, "image": container.image, "imageID": "made-up",
            "ready": true, "started": true, "restartCount": 0,
            "state": {"running": {"startedAt": since}}})
        });
    let conditions = ["PodScheduled", "Initialized", "ContainersReady", "Ready"]
        .map(|kind| json!({"type": kind, "status": "True", "lastTransitionTime": since}));
    json!({"status": {"phase": "Running", "podIP": ip, "podIPs": [{"ip": ip}], "startTime": since,
        "conditions": conditions, "containerStatuses": containers.collect::<Vec<_>>()}})
}

/// The address of a Pod of a set: `r-7-master` or `r-7-replica`.
fn place(set: &str, ordinal: u32) -> Result<String> {
    let named = || format!("the StatefulSet {set} is none of a benchmark's");
    let (object, role) = set.rsplit_once('-').with_context(named)?;
    let number = object.rsplit_once('-').with_context(named)?.1;
    let place = match role {
        "master" => 0,
        _ => 1 + ordinal,
    };
    Ok(address(number.parse().with_context(named)?, place).to_string())
}

/// Makes an object; None when it is there.
async fn make<K>(client: &Client, namespace: &str, object: Value) -> Result<Option<K>>
where
    K: kube::Resource<Scope = k8s_openapi::NamespaceResourceScope, DynamicType = ()>
        + Clone
        + Serialize
        + DeserializeOwned
        + std::fmt::Debug,
{
    let object: K = serde_json::from_value(object)?;
    let made = Api::<K>::namespaced(client.clone(), namespace)
        .create(&PostParams::default(), &object)
        .await;
    match made {
        Ok(made) => Ok(Some(made)),
        Err(kube::Error::Api(refused)) if refused.code == 409 => Ok(None),
        Err(error) => Err(error.into()),
    }
}

async fn tell<K>(client: &Client, object: &K, status: &Value) -> Result<()>
where
    K: kube::Resource<Scope = k8s_openapi::NamespaceResourceScope, DynamicType = ()>
        + Clone
        + DeserializeOwned
        + std::fmt::Debug,
{
    let namespace = object.namespace().unwrap_or_default();
    Api::<K>::namespaced(client.clone(), &namespace)
        .patch_status(
            &object.name_any(),
            &PatchParams::default(),
            &Patch::Merge(status),
        )
        .await?;
    Ok(())
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::place;

    #[test]
    fn a_pod_has_the_address_of_its_server() {
        assert_eq!(place("r-0-master", 0).unwrap(), "10.0.0.4");
        assert_eq!(place("r-0-replica", 1).unwrap(), "10.0.0.6");
        assert_eq!(place("r-63-master", 0).unwrap(), "10.0.1.0");
        assert!(place("stranger", 0).is_err());
    }
}
