//! A host that installs what the Plugins of a control plane say, and an administrator who writes them.
//!
//! Plugins belong to the whole cluster, so one world is there at a time.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use kube::api::{Api, DynamicObject, Patch, PatchParams};
use kube::{Client, ResourceExt};
use serde_json::{Value, json};
use tokio::sync::{Mutex, MutexGuard, oneshot};
use windlass::clock::SystemClock;
use windlass::cluster::Cluster;
use windlass::entropy::SystemEntropy;
use windlass::install::{Acquirer, Installer, crd, plugins};
use windlass::lease::LeaseGuard;
use windlass::oci::location::Location;
use windlass::oci::repository::{Access, Repository, open};
use windlass::oci::{Digest, artifact, fetch};
use windlass::plugin::Loader;
use windlass::plugin::compile::Compiler;
use windlass::query::Network;
use windlass::start::{Outside, assemble};

use crate::api_server::{api, client, install, make_namespace, parsed};
use crate::guest;

/// How long anything may take to come true: long, since machines are slow and nothing here measures time.
const PATIENCE: Duration = Duration::from_secs(120);

/// What the hostile plugin asks for, all of it.
pub(crate) const GRANTS: [&str; 6] = [
    "own:v1/ConfigMap",
    "own:v1/Secret",
    "read:v1/Pod",
    "query:redis:6379",
    "act:redis:6379",
    "slots-from:elsewhere",
];

/// What is compiled is kept for the next test.
fn compiled() -> &'static tempfile::TempDir {
    static FOLDER: OnceLock<tempfile::TempDir> = OnceLock::new();
    FOLDER.get_or_init(|| tempfile::tempdir().unwrap())
}

pub(crate) struct World {
    client: Client,
    pub(crate) namespace: String,
    folder: tempfile::TempDir,
    _alone: MutexGuard<'static, ()>,
}

/// A host that runs beside the test.
pub(crate) struct RunningHost {
    stop: Option<oneshot::Sender<()>>,
    running: tokio::task::JoinHandle<()>,
}

impl World {
    pub(crate) async fn new() -> Self {
        static ALONE: Mutex<()> = Mutex::const_new(());
        let alone = ALONE.lock().await;
        let (client, _) = client().await;
        let definition = serde_json::to_value(crd::crd().unwrap()).unwrap();
        install(&client, definition).await;
        install(&client, victims("Victim")).await;
        let world = Self {
            namespace: make_namespace(&client, "install").await,
            client,
            folder: tempfile::tempdir().unwrap(),
            _alone: alone,
        };
        world.sweep().await;
        world
    }

    /// A world in which the Plugin `hostile` has the layout's tag `one` as source, and a host that serves it.
    pub(crate) async fn with_plugin() -> (Self, RunningHost) {
        let world = Self::new().await;
        world.push(&component(), "one", "1").await;
        let host = world.host().await;
        world.apply("hostile", world.spec(":one")).await;
        (world, host)
    }

    /// Makes a Victim with a ConfigMap and waits until it has it.
    pub(crate) async fn make_served(&self, name: &str) {
        self.make(name, "oneChild").await;
        self.until_served(name).await;
    }

    /// What an earlier test that failed left.
    async fn sweep(&self) {
        let none = json!({"metadata": {"finalizers": null}});
        let plugins: Api<DynamicObject> = Api::all_with(self.client.clone(), &plugins());
        for plugin in plugins.list(&Default::default()).await.unwrap() {
            let name = plugin.name_any();
            let _ = plugins
                .patch(&name, &PatchParams::default(), &Patch::Merge(&none))
                .await;
            let _ = plugins.delete(&name, &Default::default()).await;
        }
        let everywhere = api(&self.client, None, VICTIM);
        for victim in everywhere.list(&Default::default()).await.unwrap() {
            let namespace = victim.namespace().unwrap();
            let victims = api(&self.client, Some(&namespace), VICTIM);
            let name = victim.name_any();
            let _ = victims
                .patch(&name, &PatchParams::default(), &Patch::Merge(&none))
                .await;
            let _ = victims.delete(&name, &Default::default()).await;
        }
    }

    /// Starts a host; it keeps what it fetched in a folder of this world.
    pub(crate) async fn host(&self) -> RunningHost {
        let outside = Outside {
            cluster: Cluster::new(self.client.clone()),
            databases: Arc::new(Network::default()),
            lease: LeaseGuard::unshared(Arc::new(SystemClock)),
            clock: Arc::new(SystemClock),
            entropy: Arc::new(SystemEntropy),
            namespace: self.namespace.clone(),
        };
        let assembled = assemble(outside, Vec::new()).await.unwrap();
        let acquirer = Acquirer::new(&self.folder.path().join("cache")).unwrap();
        let acquirer =
            acquirer.with_pull_secrets(assembled.rooms.cluster.clone(), self.namespace.clone());
        // Without the limits of a child process: these components are our own.
        let loader = Loader::new(&compiled().path().join("compiled"), Compiler::Here).unwrap();
        let controllers = assembled.host.controllers();
        let installer = Installer::new(assembled.rooms, controllers, acquirer, loader);
        let (stop, stopped) = oneshot::channel::<()>();
        let running = tokio::spawn(async move {
            // A test that is over drops the sender.
            tokio::select! {
                () = installer.run(std::future::pending()) => {}
                () = assembled.host.run(async { drop(stopped.await) }) => {}
            }
        });
        RunningHost {
            stop: Some(stop),
            running,
        }
    }

    /// Where the layout of this world is.
    pub(crate) fn layout(&self) -> PathBuf {
        self.folder.path().join("layout")
    }

    /// The layout, as the host opens it.
    pub(crate) fn repository(&self) -> Box<dyn Repository> {
        let location = Location::in_layout(&self.layout().display().to_string()).unwrap();
        open(&location, &Access::default()).unwrap()
    }

    /// Puts a component into the layout. Another `edition` of the same component is another artifact.
    pub(crate) async fn push(&self, component: &[u8], tag: &str, edition: &str) -> Digest {
        let annotations = BTreeMap::from([("edition".to_owned(), edition.to_owned())]);
        let packed = artifact::pack(component, &annotations).unwrap();
        fetch::push(&*self.repository(), &packed, tag)
            .await
            .unwrap()
    }

    /// A spec with this source in the layout, and all grants.
    pub(crate) fn spec(&self, rest: &str) -> Value {
        let layout = format!("{}{rest}", self.layout().display());
        json!({"source": {"layout": layout}, "grants": GRANTS, "namespaces": [self.namespace]})
    }

    /// Applies a Plugin as an administrator does.
    pub(crate) async fn apply(&self, name: &str, spec: Value) {
        let plugin = json!({"apiVersion": "windlass.dev/v1alpha1", "kind": "Plugin",
            "metadata": {"name": name}, "spec": spec});
        let parameters = PatchParams::apply("administrator").force();
        let patched = self
            .plugins()
            .patch(name, &parameters, &Patch::Apply(plugin))
            .await;
        patched.unwrap();
    }

    pub(crate) fn plugins(&self) -> Api<DynamicObject> {
        Api::all_with(self.client.clone(), &plugins())
    }

    pub(crate) fn victims(&self) -> Api<DynamicObject> {
        api(&self.client, Some(&self.namespace), VICTIM)
    }

    pub(crate) fn config_maps(&self) -> Api<DynamicObject> {
        api(&self.client, Some(&self.namespace), "v1/ConfigMap")
    }

    /// Makes a Victim for which the hostile plugin does what `behaviour` says.
    pub(crate) async fn make(&self, name: &str, behaviour: &str) {
        let victim = json!({"apiVersion": "hostile.windlass.dev/v1", "kind": "Victim",
            "metadata": {"name": name, "annotations": {"hostile.windlass.dev/do": behaviour}}});
        self.victims()
            .create(&Default::default(), &parsed(victim))
            .await
            .unwrap();
    }

    /// Waits until a Plugin is as wanted, and returns it.
    pub(crate) async fn until(&self, name: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        until(&self.plugins(), name, wanted).await
    }

    /// Waits until a condition of a Plugin has this status and reason, and returns its message.
    pub(crate) async fn condition(
        &self,
        name: &str,
        step: &str,
        status: &str,
        reason: &str,
    ) -> String {
        let plugin = self
            .until(name, |plugin| {
                let generation = &plugin["metadata"]["generation"];
                let condition = condition(plugin, step);
                condition["status"] == status
                    && condition["reason"] == reason
                    && condition["observedGeneration"] == *generation
            })
            .await;
        condition(&plugin, step)["message"]
            .as_str()
            .unwrap()
            .to_owned()
    }

    /// Waits until a Victim's ConfigMap is there.
    pub(crate) async fn until_served(&self, victim: &str) {
        let name = format!("{victim}-made");
        until(&self.config_maps(), &name, |map| !map.is_null()).await;
    }

    /// Lets all Plugins and Victims go.
    pub(crate) async fn end(self, host: RunningHost) {
        host.stop().await;
        self.sweep().await;
    }
}

impl RunningHost {
    pub(crate) async fn stop(mut self) {
        let _ = self.stop.take().map(|stop| stop.send(()));
        self.running.await.unwrap();
    }
}

/// The kind of the hostile plugin.
pub(crate) const VICTIM: &str = "hostile.windlass.dev/v1/Victim";

/// The hostile plugin's component.
pub(crate) fn component() -> Vec<u8> {
    std::fs::read(guest::hostile()).unwrap()
}

/// The same with another text of the same length in it: its description stands there as it is.
pub(crate) fn edited(component: &[u8], from: &str, to: &str) -> Vec<u8> {
    assert_eq!(from.len(), to.len());
    let mut component = component.to_vec();
    let places: Vec<_> = (0..component.len() - from.len())
        .filter(|at| component[*at..].starts_with(from.as_bytes()))
        .collect();
    assert!(!places.is_empty(), "{from} is not in the component");
    for at in places {
        component[at..at + to.len()].copy_from_slice(to.as_bytes());
    }
    component
}

pub(crate) fn condition(plugin: &Value, step: &str) -> Value {
    let conditions = plugin["status"]["conditions"].as_array();
    let mut conditions = conditions.into_iter().flatten();
    conditions
        .find(|condition| condition["type"] == step)
        .cloned()
        .unwrap_or_default()
}

pub(crate) async fn until(
    api: &Api<DynamicObject>,
    name: &str,
    wanted: impl Fn(&Value) -> bool,
) -> Value {
    let mut last = Value::Null;
    let deadline = tokio::time::Instant::now() + PATIENCE;
    while tokio::time::Instant::now() < deadline {
        let live = api.get_opt(name).await.unwrap();
        last = serde_json::to_value(live).unwrap();
        if wanted(&last) {
            return last;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("{name} never came to be as wanted; it is {last:#}");
}

fn victims(kind: &str) -> Value {
    let lower = kind.to_lowercase();
    json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{lower}s.hostile.windlass.dev")},
        "spec": {"group": "hostile.windlass.dev", "scope": "Namespaced",
            "names": {"kind": kind, "plural": format!("{lower}s"), "singular": lower},
            "versions": [{"name": "v1", "served": true, "storage": true,
                "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": {"type": "object",
                    "x-kubernetes-preserve-unknown-fields": true}}}]}})
}
