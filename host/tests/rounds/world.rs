//! A namespace, a host that serves it, and what a test does and sees in it.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use kube::Client;
use kube::api::{Api, DynamicObject, Patch, PatchParams, PostParams};
use serde_json::{Value, json};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use windlass::clock::SystemClock;
use windlass::cluster::Cluster;
use windlass::controllers::Plugged;
use windlass::entropy::SystemEntropy;
use windlass::explain::{History, Round};
use windlass::lease::{LeaseGuard, LeaseKeeper, LeaseSettings};
use windlass::plugin::configuration::PluginSpec;
use windlass::query::{Databases, Network};
use windlass::start::{Outside, assemble};

use crate::api_server::{CRD, PATIENCE, api, client, install, make_namespace, parsed};
use crate::operator::{GRANTS, Scripted, crds};
use crate::servers::{Served, Server};
use crate::wire::Wire;

/// How long nothing may happen for silence to be believed.
const SILENCE: Duration = Duration::from_secs(3);

/// A namespace of its own, and people who act in it.
pub(crate) struct World {
    client: Client,
    pub(crate) namespace: String,
    /// What its hosts ask and drive.
    databases: Arc<dyn Databases>,
    /// How they reach the API server.
    wire: Wire,
    /// What their operator may use at most, as a Plugin says it.
    limits: Value,
}

/// A host that runs beside the test.
pub(crate) struct RunningHost {
    writes: Arc<Mutex<Vec<String>>>,
    history: History,
    stop: Option<oneshot::Sender<()>>,
    running: JoinHandle<()>,
}

impl World {
    pub(crate) async fn new(test: &str) -> Self {
        let (client, _) = client().await;
        for crd in crds() {
            install(&client, crd).await;
        }
        Self {
            namespace: make_namespace(&client, test).await,
            client,
            databases: Arc::new(Network::default()),
            wire: Wire::whole(),
            limits: json!({}),
        }
    }

    /// Hosts started from now on reach the API server over this wire.
    pub(crate) fn reach_over(&mut self, wire: &Wire) {
        self.wire = wire.clone();
    }

    /// The same with these limits for the operator.
    pub(crate) fn with_limits(self, limits: Value) -> Self {
        Self { limits, ..self }
    }

    /// The same with this server in the place of databases.
    pub(crate) fn with_server(self, server: &Arc<impl Server>) -> Self {
        let databases = Arc::new(Served(server.clone()));
        Self { databases, ..self }
    }

    /// Starts a host for this namespace only, with all grants of the operator.
    pub(crate) async fn host(&self, operator: &Arc<Scripted>) -> RunningHost {
        self.host_with(operator, &GRANTS).await
    }

    /// Starts a host with these grants, alone.
    pub(crate) async fn host_with(&self, operator: &Arc<Scripted>, grants: &[&str]) -> RunningHost {
        let lease = LeaseGuard::unshared(Arc::new(SystemClock));
        self.start(operator, grants, lease, None).await
    }

    /// Starts a host that shares the namespace with others and acts only while it holds their Lease, which it
    /// renews over this wire.
    pub(crate) async fn led_host(
        &self,
        operator: &Arc<Scripted>,
        identity: &str,
        wire: &Wire,
    ) -> RunningHost {
        let settings = LeaseSettings {
            namespace: self.namespace.clone(),
            name: "windlass".into(),
            identity: identity.into(),
            duration: Duration::from_secs(6),
        };
        let cluster = Cluster::new(wire.client(self.client.clone()));
        let (keeper, lease) = LeaseKeeper::new(cluster, Arc::new(SystemClock), settings);
        self.start(operator, &GRANTS, lease, Some(keeper)).await
    }

    async fn start(
        &self,
        operator: &Arc<Scripted>,
        grants: &[&str],
        lease: LeaseGuard,
        keeper: Option<LeaseKeeper>,
    ) -> RunningHost {
        let (client, writes) = client().await;
        let spec = json!({"source": {"file": "none"}, "grants": grants, "namespaces": [self.namespace],
                "limits": self.limits});
        let spec: PluginSpec = serde_json::from_value(spec).unwrap();
        let outside = Outside {
            cluster: Cluster::new(self.wire.client(client)),
            databases: self.databases.clone(),
            lease,
            clock: Arc::new(SystemClock),
            entropy: Arc::new(SystemEntropy),
            namespace: self.namespace.clone(),
        };
        let assembled = assemble(
            outside,
            vec![Plugged {
                plugin: operator.clone(),
                spec,
            }],
        )
        .await
        .unwrap();
        let history = assembled.told.history.clone();
        let (stop, stopped) = oneshot::channel::<()>();
        let running = tokio::spawn(async move {
            let (rounds_over, over) = oneshot::channel::<()>();
            let kept = async {
                if let Some(keeper) = keeper {
                    keeper.run(async { drop(over.await) }).await;
                }
            };
            let rounds = async {
                // A test that is over drops the sender.
                assembled.host.run(async { drop(stopped.await) }).await;
                drop(rounds_over);
            };
            tokio::join!(kept, rounds);
        });
        RunningHost {
            writes,
            history,
            stop: Some(stop),
            running,
        }
    }

    pub(crate) fn api(&self, kind: &str) -> Api<DynamicObject> {
        api(&self.client, Some(&self.namespace), kind)
    }

    /// Makes a Gadget or Keeper with this spec.
    pub(crate) async fn make(&self, kind: &str, name: &str, spec: Value) {
        let object = json!({"apiVersion": "rounds.example.com/v1", "kind": kind,
            "metadata": {"name": name}, "spec": spec});
        let kind = format!("rounds.example.com/v1/{kind}");
        self.api(&kind)
            .create(&PostParams::default(), &parsed(object))
            .await
            .unwrap();
    }

    /// Makes any object.
    pub(crate) async fn create(&self, kind: &str, object: Value) {
        self.api(kind)
            .create(&PostParams::default(), &parsed(object))
            .await
            .unwrap();
    }

    /// Makes a Pod that belongs to an object, with an address.
    pub(crate) async fn make_pod(&self, name: &str, kind: &str, owner: &str) {
        let owner = self.json(kind, owner).await;
        let (api_version, kind) = kind.rsplit_once('/').unwrap();
        let controller = json!({"apiVersion": api_version, "kind": kind, "controller": true,
            "name": owner["metadata"]["name"], "uid": owner["metadata"]["uid"]});
        let pod = json!({"apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": name, "ownerReferences": [controller]},
            "spec": {"containers": [{"name": "c", "image": "none"}]}});
        self.create("v1/Pod", pod).await;
        let placed =
            json!({"status": {"podIP": "10.255.255.1", "podIPs": [{"ip": "10.255.255.1"}]}});
        let pods = self.api("v1/Pod");
        pods.patch_status(name, &PatchParams::default(), &Patch::Merge(placed))
            .await
            .unwrap();
    }

    /// Changes an object as a person would with `kubectl edit`.
    pub(crate) async fn edit(&self, kind: &str, name: &str, patch: Value) {
        let params = PatchParams {
            field_manager: Some("kubectl-edit".into()),
            ..PatchParams::default()
        };
        self.api(kind)
            .patch(name, &params, &Patch::Merge(patch))
            .await
            .unwrap();
    }

    /// Installs a CRD and waits until it is served.
    pub(crate) async fn install(&self, crd: Value) {
        install(&self.client, crd).await;
    }

    /// Removes a CRD, if it is there, and waits until it is gone.
    pub(crate) async fn uninstall(&self, name: &str) {
        let definitions = api(&self.client, None, CRD);
        let _ = definitions.delete(name, &Default::default()).await;
        let gone = kube::runtime::wait::await_condition(
            definitions,
            name,
            |crd: Option<&DynamicObject>| crd.is_none(),
        );
        tokio::time::timeout(PATIENCE, gone)
            .await
            .expect("the CRD stays")
            .unwrap();
    }

    pub(crate) async fn delete(&self, kind: &str, name: &str) {
        self.api(kind)
            .delete(name, &Default::default())
            .await
            .unwrap();
    }

    /// An object as it stands, as JSON; null where there is none.
    pub(crate) async fn json(&self, kind: &str, name: &str) -> Value {
        let live = self.api(kind).get_opt(name).await.unwrap();
        serde_json::to_value(live).unwrap()
    }

    /// Waits until an object is as wanted, and returns it.
    pub(crate) async fn until(
        &self,
        kind: &str,
        name: &str,
        wanted: impl Fn(&Value) -> bool,
    ) -> Value {
        let mut last = Value::Null;
        let deadline = tokio::time::Instant::now() + PATIENCE;
        while tokio::time::Instant::now() < deadline {
            last = self.json(kind, name).await;
            if wanted(&last) {
                return last;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        panic!("{kind} {name} never came to be as wanted; it is {last:#}");
    }
}

impl RunningHost {
    /// What it wrote since the last call: method and last words of the path. Events are left out.
    pub(crate) fn writes(&self) -> Vec<String> {
        let writes = std::mem::take(&mut *self.writes.lock().unwrap());
        writes
            .into_iter()
            .filter(|write| !write.contains(" events/"))
            .collect()
    }

    /// Waits until it writes nothing any more, Events included, and forgets what it wrote.
    pub(crate) async fn settles(&self) {
        let deadline = tokio::time::Instant::now() + PATIENCE;
        loop {
            self.writes.lock().unwrap().clear();
            tokio::time::sleep(SILENCE).await;
            let writes = self.writes.lock().unwrap().clone();
            if writes.is_empty() {
                return;
            }
            assert!(
                tokio::time::Instant::now() < deadline,
                "it does not settle: {writes:?}"
            );
        }
    }

    /// The last rounds of an object.
    pub(crate) fn rounds(&self, kind: &str, name: &str) -> Vec<Round> {
        self.history
            .find(kind, None, name)
            .into_iter()
            .flat_map(|explained| explained.rounds)
            .collect()
    }

    /// Waits until a round of an object was as wanted.
    pub(crate) async fn until_round(
        &self,
        kind: &str,
        name: &str,
        wanted: impl Fn(&Round) -> bool,
    ) -> Round {
        let deadline = tokio::time::Instant::now() + PATIENCE;
        while tokio::time::Instant::now() < deadline {
            if let Some(round) = self
                .rounds(kind, name)
                .into_iter()
                .find(|round| wanted(round))
            {
                return round;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        panic!(
            "no round of {kind} {name} was as wanted: {:#?}",
            self.rounds(kind, name)
        );
    }

    /// Ends it where it stands.
    pub(crate) async fn crash(self) {
        self.running.abort();
        let _ = self.running.await;
    }

    pub(crate) async fn stop(mut self) {
        let _ = self.stop.take().map(|stop| stop.send(()));
        self.running.await.unwrap();
    }
}

/// Whether the condition `kind` of an object has this status and reason.
pub(crate) fn has_condition(object: &Value, kind: &str, status: &str, reason: &str) -> bool {
    let conditions = object["status"]["conditions"].as_array();
    conditions.is_some_and(|conditions| {
        conditions.iter().any(|condition| {
            condition["type"] == kind
                && condition["status"] == status
                && condition["reason"] == reason
        })
    })
}

/// The names in a list of objects as a request has them.
pub(crate) fn names(objects: &[String]) -> BTreeSet<String> {
    let name = |object: &String| {
        let object: Value = serde_json::from_str(object).unwrap();
        object["metadata"]["name"].as_str().unwrap().to_owned()
    };
    objects.iter().map(name).collect()
}
