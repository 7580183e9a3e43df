//! The API server that `cargo xtask bench` starts, and what is put into it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::{Context, Result};
use futures::stream::{self, StreamExt, TryStreamExt};
use k8s_openapi::api::core::v1::{Namespace, ServiceAccount};
use kube::api::{Api, ApiResource, DynamicObject, ObjectMeta, Patch, PatchParams, PostParams};
use kube::client::ClientBuilder;
use kube::config::{Config, KubeConfigOptions, Kubeconfig};
use kube::{Client, ResourceExt};
use serde_json::{Value, json};
use tower::util::MapRequestLayer;
use windlass::object::Kind;

/// Names the kubeconfig.
pub const KUBECONFIG: &str = "WINDLASS_BENCH_KUBECONFIG";
/// Who makes what benchmarks need.
const MANAGER: &str = "bench";
/// Requests under way at once: as many as keep the API server busy.
pub const AT_ONCE: usize = 16;

const REDIS: &str = include_str!("../../../crds/redis.example.com_redis.yaml");
const REDIS_CLUSTERS: &str = include_str!("../../../crds/redis.example.com_redisclusters.yaml");
const SAMPLE: &str = include_str!("../../../deploy/samples/redis.yaml");

/// The kind that is measured with.
pub const KIND: &str = "redis.example.com/v1/Redis";
/// How many objects share a namespace.
pub const IN_A_NAMESPACE: usize = 100;

/// Counts requests that are not reads.
pub type Writes = Arc<AtomicU64>;

/// A client, and the count of its writes.
///
/// # Errors
/// When no API server is named.
pub async fn client() -> Result<(Client, Writes)> {
    windlass::tls::choose_cryptography();
    let path = std::env::var(KUBECONFIG)
        .with_context(|| format!("{KUBECONFIG} is not set: run this by `cargo xtask bench`"))?;
    let kubeconfig = Kubeconfig::read_from(path)?;
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?;
    let writes = Writes::default();
    let counted = writes.clone();
    let count = move |request: http::Request<kube::client::Body>| {
        if request.method() != http::Method::GET {
            counted.fetch_add(1, Ordering::Relaxed);
        }
        request
    };
    let builder = ClientBuilder::try_from(config)?;
    Ok((
        builder.with_layer(&MapRequestLayer::new(count)).build(),
        writes,
    ))
}

/// Installs the CRDs of Redis.
///
/// # Errors
/// When the API server refuses one.
pub async fn install_redis(client: &Client) -> Result<()> {
    install(client, [REDIS, REDIS_CLUSTERS]).await
}

/// Installs CRDs and waits until they are served.
///
/// # Errors
/// When the API server refuses one.
pub async fn install<'a>(client: &Client, texts: impl IntoIterator<Item = &'a str>) -> Result<()> {
    let definitions = api(
        client,
        None,
        "apiextensions.k8s.io/v1/CustomResourceDefinition",
    )?;
    for text in texts {
        let crd: DynamicObject = serde_saphyr::from_str(text)?;
        let parameters = PatchParams::apply(MANAGER).force();
        let name = crd.name_any();
        definitions
            .patch(&name, &parameters, &Patch::Apply(&crd))
            .await?;
        let served = |crd: Option<&DynamicObject>| {
            let conditions = crd.and_then(|crd| crd.data["status"]["conditions"].as_array());
            conditions.is_some_and(|all| {
                all.iter()
                    .any(|one| one["type"] == "Established" && one["status"] == "True")
            })
        };
        kube::runtime::wait::await_condition(definitions.clone(), &name, served).await?;
    }
    Ok(())
}

/// The namespace of the object of this number.
pub fn namespace(number: usize) -> String {
    format!("bench-{}", number / IN_A_NAMESPACE)
}

/// The name of the object of this number.
pub fn name(number: usize) -> String {
    format!("r-{number}")
}

/// Makes the sample Redis so many times, in namespaces of a hundred.
///
/// # Errors
/// When the API server refuses one.
pub async fn populate(client: &Client, objects: usize) -> Result<()> {
    for number in (0..objects).step_by(IN_A_NAMESPACE) {
        make_namespace(client, &namespace(number)).await?;
    }
    let sample: Value = serde_saphyr::from_str(SAMPLE)?;
    let spec = &sample["spec"];
    stream::iter((0..objects).map(Ok))
        .try_for_each_concurrent(AT_ONCE, |number| async move {
            make(client, &namespace(number), KIND, &name(number), spec).await
        })
        .await
}

/// Makes a namespace in which Pods are admitted.
///
/// # Errors
/// When the API server refuses it.
pub async fn make_namespace(client: &Client, name: &str) -> Result<()> {
    let named = |name: &str| ObjectMeta {
        name: Some(name.to_owned()),
        ..ObjectMeta::default()
    };
    let namespace = Namespace {
        metadata: named(name),
        ..Namespace::default()
    };
    let parameters = PostParams::default();
    Api::all(client.clone())
        .create(&parameters, &namespace)
        .await?;
    // Nobody else makes it, and no Pod is admitted without.
    let account = ServiceAccount {
        metadata: named("default"),
        ..ServiceAccount::default()
    };
    Api::namespaced(client.clone(), name)
        .create(&parameters, &account)
        .await?;
    Ok(())
}

/// Makes an object of this kind, such as `redis.example.com/v1/Redis`.
///
/// # Errors
/// When the API server refuses it.
pub async fn make(
    client: &Client,
    namespace: &str,
    kind: &str,
    name: &str,
    spec: &Value,
) -> Result<()> {
    let parsed: Kind = kind.parse()?;
    let object = json!({"apiVersion": parsed.api_version(), "kind": parsed.kind,
        "metadata": {"name": name}, "spec": spec});
    let object: DynamicObject = serde_json::from_value(object)?;
    api(client, Some(namespace), kind)?
        .create(&PostParams::default(), &object)
        .await?;
    Ok(())
}

/// How many objects are as the sample says.
///
/// # Errors
/// When the API server does not answer.
pub async fn running(client: &Client, objects: usize) -> Result<usize> {
    let namespaces = (0..objects).step_by(IN_A_NAMESPACE).map(namespace);
    let counts: Vec<usize> = stream::iter(namespaces)
        .map(|namespace| async move {
            let all = api(client, Some(&namespace), KIND)?
                .list(&kube::api::ListParams::default())
                .await?;
            let runs = |redis: &&DynamicObject| redis.data["status"]["phase"] == "Running";
            Ok::<usize, anyhow::Error>(all.iter().filter(runs).count())
        })
        .buffer_unordered(2)
        .try_collect()
        .await?;
    Ok(counts.into_iter().sum())
}

/// Access to objects of a kind, in one namespace or, with None, in all.
///
/// # Errors
/// When `kind` names none.
pub fn api(client: &Client, namespace: Option<&str>, kind: &str) -> Result<Api<DynamicObject>> {
    let parsed: Kind = kind.parse()?;
    let resource = match kind {
        // Nobody guesses its plural.
        KIND => ApiResource::from_gvk_with_plural(&parsed.gvk(), "redis"),
        _ => ApiResource::from_gvk(&parsed.gvk()),
    };
    Ok(match namespace {
        Some(namespace) => Api::namespaced_with(client.clone(), namespace, &resource),
        None => Api::all_with(client.clone(), &resource),
    })
}
