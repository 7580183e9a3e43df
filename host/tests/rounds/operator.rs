//! An operator whose decisions a test writes.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use serde_json::{Value, json};
use windlass::plugin::bindings::{
    Answer, Child, Plan, Request, Requirement, Step, WhenDropped, WhenImmutable, Write,
};
use windlass::plugin::{CallError, Description, Operator};

/// How it decides; to be changed while the host runs.
type Decide = Arc<dyn Fn(&Request) -> Result<Step, CallError> + Send + Sync>;

/// An operator for `Gadget` (not finalized) and `Keeper` (finalized).
pub(crate) struct Scripted {
    description: Description,
    decide: Mutex<Decide>,
    finalize: Mutex<Decide>,
    requests: Mutex<Vec<Request>>,
}

impl Scripted {
    pub(crate) fn new(
        decide: impl Fn(&Request) -> Result<Step, CallError> + Send + Sync + 'static,
    ) -> Arc<Self> {
        let finalize = |_: &Request| {
            Ok(Step::Plan(Plan {
                finalized: true,
                ..empty()
            }))
        };
        Arc::new(Self {
            description: Description::parse(&description().to_string()).unwrap(),
            decide: Mutex::new(Arc::new(decide)),
            finalize: Mutex::new(Arc::new(finalize)),
            requests: Mutex::default(),
        })
    }

    /// From now on it decides like this.
    pub(crate) fn decides(
        &self,
        decide: impl Fn(&Request) -> Result<Step, CallError> + Send + Sync + 'static,
    ) {
        *self.decide.lock().unwrap() = Arc::new(decide);
    }

    /// From now on it finalizes like this.
    pub(crate) fn finalizes(
        &self,
        decide: impl Fn(&Request) -> Result<Step, CallError> + Send + Sync + 'static,
    ) {
        *self.finalize.lock().unwrap() = Arc::new(decide);
    }

    /// What it was asked since the last call.
    pub(crate) fn requests(&self) -> Vec<Request> {
        std::mem::take(&mut *self.requests.lock().unwrap())
    }

    fn call(&self, decide: &Mutex<Decide>, request: &Request) -> Result<Step, CallError> {
        self.requests.lock().unwrap().push(request.clone());
        let decide = decide.lock().unwrap().clone();
        decide(request)
    }
}

#[async_trait]
impl Operator for Scripted {
    fn name(&self) -> &str {
        "scripted"
    }

    fn description(&self) -> &Description {
        &self.description
    }

    async fn reconcile(&self, request: &Request) -> Result<Step, CallError> {
        self.call(&self.decide, request)
    }

    async fn finalize(&self, request: &Request) -> Result<Step, CallError> {
        self.call(&self.finalize, request)
    }
}

/// The CRDs of the tests' kinds.
pub(crate) fn crds() -> [Value; 2] {
    [crd("Gadget"), crd("Keeper")]
}

/// The CRD of a kind that anything may be said of.
pub(crate) fn crd(kind: &str) -> Value {
    let lower = kind.to_lowercase();
    let free = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let schema = json!({"type": "object", "properties": {"spec": free, "status": free}});
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{lower}s.rounds.example.com")},
        "spec": {
            "group": "rounds.example.com", "scope": "Namespaced",
            "names": {"kind": kind, "plural": format!("{lower}s"), "singular": lower},
            "versions": [{"name": "v1", "served": true, "storage": true, "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": schema}}],
        },
    })
}

fn description() -> Value {
    let serves = |kind: &str, finalizes: bool| json!({"group": "rounds.example.com", "version": "v1", "kind": kind, "finalizes": finalizes});
    json!({
        "name": "scripted", "version": "0.1.0", "purpose": "tests",
        "serves": [serves("Gadget", false), serves("Keeper", true)],
        "crds": crds().map(|crd| crd.to_string()),
        "owns": ["v1/ConfigMap", "v1/Service"],
        "reads": [{"kind": "v1/Pod"}, {"kind": "absent.example.com/v1/Absent"},
            {"kind": "rounds.example.com/v1/Late"}],
    })
}

/// What is granted: the kinds it owns and reads, but for Pods in one test.
pub(crate) const GRANTS: [&str; 4] = [
    "own:v1/ConfigMap",
    "own:v1/Service",
    "read:v1/Pod",
    "read:absent.example.com/v1/Absent",
];

/// A plan for nothing.
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

/// A plan for these children and this status.
pub(crate) fn plan(children: Vec<Child>, status: Value) -> Result<Step, CallError> {
    Ok(Step::Plan(Plan {
        children,
        status: Some(status.to_string()),
        ..empty()
    }))
}

/// A ConfigMap of this name.
pub(crate) fn config_map(name: &str, data: Value) -> Child {
    child(
        &json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}),
    )
}

/// A child of this manifest.
pub(crate) fn child(manifest: &Value) -> Child {
    Child {
        manifest: manifest.to_string(),
        when_dropped: WhenDropped::Delete,
        write: Write::Apply,
        when_immutable: WhenImmutable::Report,
        shared: false,
        gzip: Vec::new(),
    }
}

/// Decides on one ConfigMap with the spec's `say`, and says in status what it saw.
pub(crate) fn echo(request: &Request) -> Result<Step, CallError> {
    let say = object(request)["spec"]["say"].clone();
    let map = config_map(&name(request), json!({"say": say}));
    plan(vec![map], json!({"said": say}))
}

/// The object of a request.
pub(crate) fn object(request: &Request) -> Value {
    serde_json::from_str(&request.object).unwrap()
}

/// The name of a request's object.
pub(crate) fn name(request: &Request) -> String {
    object(request)["metadata"]["name"]
        .as_str()
        .unwrap()
        .to_owned()
}

/// The answer to a requirement, or the call's end by asking for it.
pub(crate) fn fact<'a>(
    request: &'a Request,
    requirement: &Requirement,
) -> Result<&'a Answer, Step> {
    let known = request.facts.iter().find(|fact| fact.id == requirement.id);
    known
        .map(|fact| &fact.answer)
        .ok_or_else(|| Step::Need(vec![requirement.clone()]))
}
