//! The API server that tests run against, as `cargo xtask test` names it, and what each of them does to it first.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use kube::Client;
use kube::api::{Api, ApiResource, DynamicObject, Patch, PatchParams, PostParams};
use kube::client::{Body, ClientBuilder};
use kube::config::{Config, KubeConfigOptions, Kubeconfig};
use serde_json::{Value, json};
use tower::util::MapRequestLayer;
use windlass::object::Kind;

/// How long a CRD may take to be served or to go: long, since machines are slow and nothing here measures time.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// The kind of CRDs.
pub(crate) const CRD: &str = "apiextensions.k8s.io/v1/CustomResourceDefinition";

/// A client that notes every request that is not a read: method and last words of the path.
pub(crate) async fn client() -> (Client, Arc<Mutex<Vec<String>>>) {
    let path = std::env::var("WINDLASS_TEST_KUBECONFIG").expect(
        "WINDLASS_TEST_KUBECONFIG names no control plane: run these tests by cargo xtask test",
    );
    // Two TLS providers may be compiled in; the first to come is as good as any.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let kubeconfig = Kubeconfig::read_from(path).unwrap();
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default())
        .await
        .unwrap();
    let writes: Arc<Mutex<Vec<String>>> = Arc::default();
    let noted = writes.clone();
    let note = move |request: http::Request<Body>| {
        if request.method() != http::Method::GET {
            let path = request.uri().path();
            let last: Vec<_> = path
                .split('/')
                .skip_while(|step| *step != "namespaces")
                .skip(2)
                .collect();
            noted
                .lock()
                .unwrap()
                .push(format!("{} {}", request.method(), last.join("/")));
        }
        request
    };
    let builder = ClientBuilder::try_from(config).unwrap();
    (
        builder.with_layer(&MapRequestLayer::new(note)).build(),
        writes,
    )
}

/// A namespace that begins with the test's name.
pub(crate) async fn make_namespace(client: &Client, test: &str) -> String {
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"generateName": format!("{test}-")}});
    let made = api(client, None, "v1/Namespace")
        .create(&PostParams::default(), &parsed(namespace))
        .await
        .unwrap();
    made.metadata.name.unwrap()
}

/// Installs a CRD and waits until it is served.
pub(crate) async fn install(client: &Client, crd: Value) {
    let definitions = api(client, None, CRD);
    let name = crd["metadata"]["name"].as_str().unwrap().to_owned();
    let params = PatchParams::apply("tests").force();
    definitions
        .patch(&name, &params, &Patch::Apply(crd))
        .await
        .unwrap();
    let served = |crd: Option<&DynamicObject>| {
        let conditions = crd.and_then(|crd| crd.data["status"]["conditions"].as_array());
        conditions.is_some_and(|list| {
            list.iter()
                .any(|c| c["type"] == "Established" && c["status"] == "True")
        })
    };
    let wait = kube::runtime::wait::await_condition(definitions, &name, served);
    tokio::time::timeout(PATIENCE, wait)
        .await
        .expect("the CRD is not served")
        .unwrap();
}

/// Access to objects of a kind, in one namespace or, with None, in all.
pub(crate) fn api(client: &Client, namespace: Option<&str>, kind: &str) -> Api<DynamicObject> {
    let kind: Kind = kind.parse().unwrap();
    let resource = ApiResource::from_gvk(&kind.gvk());
    match namespace {
        Some(namespace) => Api::namespaced_with(client.clone(), namespace, &resource),
        None => Api::all_with(client.clone(), &resource),
    }
}

/// An object as it is written.
pub(crate) fn parsed(object: Value) -> DynamicObject {
    serde_json::from_value(object).unwrap()
}
