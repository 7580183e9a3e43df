//! One namespace, one owner, and the rooms under test, with a client that counts what is written.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use kube::Client;
use kube::api::{Api, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use serde_json::{Value, json};
use windlass::apply::{Applied, Applier, Gathered, Memory, Pruned, Seen};
use windlass::cache::{Cache, News, Watched};
use windlass::clock::{SharedClock, SystemClock};
use windlass::cluster::Cluster;
use windlass::entropy::SystemEntropy;
use windlass::events::Recorder;
use windlass::object::{Kind, Object, ObjectKey};
use windlass::plan::{Call, Checked, check};
use windlass::plugin::bindings::{Child, Plan, WhenDropped, WhenImmutable, Write};
use windlass::plugin::configuration::Adopted;
use windlass::plugin::grants::Grants;
use windlass::secrets::Secrets;
use windlass::status::{Draft, Need, StatusError, StatusWriter, Stored};

use crate::api_server::{api, client, install, make_namespace};

/// The kinds that the tests' plugin owns.
const OWNED: [&str; 5] = [
    "v1/ConfigMap",
    "v1/Secret",
    "v1/Service",
    "apps/v1/StatefulSet",
    "rbac.authorization.k8s.io/v1/ClusterRole",
];

/// The fixture.
pub(crate) struct World {
    pub(crate) client: Client,
    pub(crate) cache: Cache,
    pub(crate) namespace: String,
    pub(crate) memory: Memory,
    pub(crate) adopt: BTreeSet<Adopted>,
    pub(crate) secrets: Arc<Secrets>,
    pub(crate) recorder: Recorder,
    applier: Applier,
    status: StatusWriter,
    writes: Arc<Mutex<Vec<String>>>,
    owner: ObjectKey,
}

/// The kind of the tests' owner.
pub(crate) fn thing() -> Kind {
    Kind::new("effects.example.com/v1", "Thing")
}

impl World {
    /// A namespace of its own with the Thing `one` in it.
    pub(crate) async fn new(test: &str) -> Self {
        let (client, writes) = client().await;
        install(&client, crd_of_things()).await;
        let namespace = make_namespace(&client, test).await;
        let cluster = Cluster::new(client.clone());
        let (cache, _) = Cache::new();
        for kind in OWNED
            .map(|kind| kind.parse().unwrap())
            .into_iter()
            .chain([thing()])
        {
            cache.open(&watched(&kind)).unwrap();
        }
        let entropy = Arc::new(SystemEntropy);
        let secrets = Arc::new(Secrets::new(
            cluster.clone(),
            cache.clone(),
            entropy.clone(),
            namespace.clone(),
        ));
        let clock: SharedClock = Arc::new(SystemClock);
        let owner = ObjectKey {
            kind: thing(),
            namespace: Some(namespace.clone()),
            name: "one".into(),
        };
        let world = Self {
            applier: Applier::new(cluster.clone(), secrets.clone(), cache.clone(), entropy),
            status: StatusWriter::new(cluster.clone(), cache.clone()),
            recorder: Recorder::new(cluster, cache.clone(), secrets.clone(), clock),
            client,
            cache,
            namespace,
            memory: Memory::default(),
            adopt: BTreeSet::new(),
            secrets,
            writes,
            owner,
        };
        world.make_owner("one").await;
        world.writes();
        world
    }

    /// Makes another owner.
    pub(crate) async fn make_owner(&self, name: &str) {
        let owner = json!({"apiVersion": "effects.example.com/v1", "kind": "Thing", "metadata": {"name": name}});
        self.create(&thing(), owner).await;
    }

    /// From now on rounds are about this owner, and remember nothing.
    pub(crate) fn turn_to(&mut self, owner: &str) {
        self.owner.name = owner.into();
        self.memory = Memory::default();
    }

    /// The owner as the API server has it.
    pub(crate) async fn owner(&self) -> Object {
        let owner = self
            .get(&self.owner.kind, &self.owner.name)
            .await
            .expect("the owner is gone");
        Object::new(&self.owner.kind, owner).unwrap()
    }

    /// One round's children, after the cache saw everything.
    pub(crate) async fn apply(&mut self, plan: &Checked) -> Applied {
        let owner = self.owner().await;
        self.applier
            .apply(&owner, plan, &self.adopt, &mut self.memory)
            .await
    }

    /// One whole round but for actions.
    pub(crate) async fn round(&mut self, plan: &Checked) -> (Applied, Pruned) {
        let applied = self.apply(plan).await;
        let pruned = self.rest(plan, &applied, Gathered::Whole).await;
        (applied, pruned)
    }

    /// What a round does after its children.
    pub(crate) async fn rest(
        &mut self,
        plan: &Checked,
        applied: &Applied,
        facts: Gathered,
    ) -> Pruned {
        let owner = self.owner().await;
        let need = if applied.needs_fence() {
            Need::Fence
        } else {
            Need::Nothing
        };
        let stored = self
            .store(&owner, &Draft::planned(plan, applied), need)
            .await
            .unwrap();
        let kinds = OWNED.map(|kind| kind.parse().unwrap());
        let live = self.cache.children(&owner.key, &kinds);
        let memory = &mut self.memory;
        let seen = Seen {
            applied,
            live: &live,
            facts,
        };
        self.applier
            .prune(&owner, plan, seen, stored.fence(), memory)
            .await
    }

    pub(crate) async fn store(
        &mut self,
        seen: &Object,
        draft: &Draft,
        need: Need,
    ) -> Result<Stored, StatusError> {
        self.store_at(seen, draft, need, 1_700_000_000_000).await
    }

    pub(crate) async fn store_at(
        &mut self,
        seen: &Object,
        draft: &Draft,
        need: Need,
        now: u64,
    ) -> Result<Stored, StatusError> {
        self.status
            .store(seen, draft, need, now, &mut self.memory)
            .await
    }

    /// What was written since the last call: method and last words of the path.
    pub(crate) fn writes(&self) -> Vec<String> {
        std::mem::take(&mut *self.writes.lock().unwrap())
    }

    /// Checks a plan of these children.
    pub(crate) async fn plan(&self, children: Vec<Child>) -> Checked {
        self.planned(Plan {
            children,
            ..empty()
        })
        .await
    }

    pub(crate) async fn planned(&self, plan: Plan) -> Checked {
        let grants: Grants = OWNED
            .iter()
            .map(|kind| format!("own:{kind}").parse().unwrap())
            .collect();
        check(plan, Call::Reconcile, &self.owner().await, &grants).unwrap()
    }

    pub(crate) async fn create(&self, kind: &Kind, object: Value) -> DynamicObject {
        let object = serde_json::from_value(object).unwrap();
        self.api(kind)
            .create(&PostParams::default(), &object)
            .await
            .unwrap()
    }

    pub(crate) async fn get(&self, kind: &Kind, name: &str) -> Option<DynamicObject> {
        self.api(kind).get_opt(name).await.unwrap()
    }

    /// A child as it stands, as JSON.
    pub(crate) async fn json(&self, kind: &str, name: &str) -> Value {
        let live = self.get(&kind.parse().unwrap(), name).await;
        serde_json::to_value(live.expect("it is not there")).unwrap()
    }

    /// Changes an object as a person would with `kubectl edit`, and lets the cache see it.
    pub(crate) async fn edit(&self, kind: &str, name: &str, patch: Value) {
        let kind = kind.parse().unwrap();
        let params = PatchParams {
            field_manager: Some("kubectl-edit".into()),
            ..PatchParams::default()
        };
        self.api(&kind)
            .patch(name, &params, &Patch::Merge(patch))
            .await
            .unwrap();
        self.see(&kind).await;
        self.writes();
    }

    /// Deletes an object as a person would, and lets the cache see it.
    pub(crate) async fn delete(&self, kind: &str, name: &str) {
        let kind: Kind = kind.parse().unwrap();
        self.api(&kind)
            .delete(name, &Default::default())
            .await
            .unwrap();
        self.see(&kind).await;
        self.writes();
    }

    /// Lets go what waits for a garbage collector, which a control plane alone does not run.
    pub(crate) async fn edit_finalizers_away(&self, kind: &str, name: &str) {
        self.edit(kind, name, json!({"metadata": {"finalizers": null}}))
            .await;
    }

    /// Tells the cache what a watcher of this kind would.
    pub(crate) async fn see(&self, kind: &Kind) {
        let watched = watched(kind);
        let live = self.api(kind).list(&ListParams::default()).await.unwrap();
        self.cache.learn(&watched, News::ListBegan);
        for object in live {
            let object = Object::new(kind, object).unwrap();
            self.cache.learn(&watched, News::Listed(object));
        }
        self.cache.learn(&watched, News::ListEnded);
    }

    pub(crate) fn api(&self, kind: &Kind) -> Api<DynamicObject> {
        api(&self.client, Some(&self.namespace), &kind.to_string())
    }
}

fn watched(kind: &Kind) -> Watched {
    Watched {
        kind: kind.clone(),
        namespace: None,
        selector: String::new(),
    }
}

pub(crate) fn empty() -> Plan {
    Plan {
        children: Vec::new(),
        status: None,
        measurements: Vec::new(),
        refusals: Vec::new(),
        events: Vec::new(),
        actions: Vec::new(),
        requeue_after: None,
        finalized: false,
    }
}

pub(crate) fn child(manifest: Value) -> Child {
    Child {
        manifest: manifest.to_string(),
        when_dropped: WhenDropped::Delete,
        write: Write::Apply,
        when_immutable: WhenImmutable::Report,
        shared: false,
        gzip: Vec::new(),
    }
}

pub(crate) fn config_map(name: &str, data: Value) -> Child {
    child(
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}),
    )
}

fn crd_of_things() -> Value {
    let condition = json!({"type": "object", "required": ["type", "status"], "properties": {
        "type": {"type": "string"}, "status": {"type": "string"}, "reason": {"type": "string"},
        "message": {"type": "string"}, "lastTransitionTime": {"type": "string", "format": "date-time"},
        "observedGeneration": {"type": "integer", "format": "int64"}}});
    let status = json!({"type": "object", "properties": {
        "phase": {"type": "string"},
        "mode": {"type": "string", "default": "auto"},
        "lag": {"type": "integer"},
        "observedGeneration": {"type": "integer", "format": "int64"},
        "conditions": {"type": "array", "items": condition, "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["type"]},
        "windlass": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}});
    let schema = json!({"type": "object", "properties": {
        "spec": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}, "status": status}});
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "things.effects.example.com"},
        "spec": {
            "group": "effects.example.com", "scope": "Namespaced",
            "names": {"kind": "Thing", "plural": "things", "singular": "thing"},
            "versions": [{"name": "v1", "served": true, "storage": true, "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": schema}}],
        },
    })
}
