//! A small world for whole rounds: Pods, volumes and Redis servers that do what plans say.
//!
//! It knows only what the plugin relies on: StatefulSets make Pods, a Redis boots as a replica of nobody and follows,
//! leads and hands over when told. Nothing here judges a decision.

// Each test binary uses a part of it.
#![allow(dead_code)]

mod kubernetes;
mod server;

use std::collections::BTreeMap;

use serde_json::{Value, json};
use windlass_redis::component::describe;
use windlass_redis::reconcile::RedisController;
use windlass_redis::spec::Redis;
use windlass_sdk::harness::{Harness, Round};
use windlass_sdk::wire::{Action, Effect, Ended, Plan, Unreachable};

pub(crate) use server::Server;

/// Pods, volumes and servers around one Redis object.
pub(crate) struct World {
    pub(crate) now: u64,
    pub(crate) object: Redis,
    pub(crate) children: BTreeMap<(String, String), Value>,
    pub(crate) pods: BTreeMap<String, Value>,
    pub(crate) claims: BTreeMap<String, Value>,
    pub(crate) servers: BTreeMap<String, Server>,
    pub(crate) events: Vec<String>,
    outcomes: Vec<(String, Ended)>,
    silent_since: BTreeMap<String, u64>,
    made: u32,
}

impl World {
    /// The first file that users are shown, just applied.
    pub(crate) fn new() -> Self {
        let text = include_str!("../../../../deploy/samples/redis.yaml");
        let mut object: Redis = serde_saphyr::from_str(text).unwrap();
        object.metadata.uid = Some("redis-uid".into());
        object.metadata.generation = Some(1);
        object.metadata.creation_timestamp = Some(kubernetes::time(1_000_000));
        Self {
            now: 1_000_000,
            object,
            children: BTreeMap::new(),
            pods: BTreeMap::new(),
            claims: BTreeMap::new(),
            servers: BTreeMap::new(),
            events: Vec::new(),
            outcomes: Vec::new(),
            silent_since: BTreeMap::new(),
            made: 0,
        }
    }

    /// The same, run until it is as the file says.
    pub(crate) fn running() -> Self {
        let mut world = Self::new();
        world.settle();
        assert_eq!(
            world.columns(),
            "Ready 2 Running",
            "{:#?}",
            world.object.status
        );
        world
    }

    /// Rounds until one changes nothing, at most 40.
    pub(crate) fn settle(&mut self) {
        for _ in 0..40 {
            if !self.round() {
                return;
            }
        }
        panic!("not settled after 40 rounds: {:#?}", self.object.status);
    }

    /// Rounds for so many seconds.
    pub(crate) fn run(&mut self, seconds: u64) {
        let end = self.now + seconds * 1000;
        while self.now < end {
            self.round();
        }
    }

    /// One round, two seconds after the last. True when it wrote or did anything.
    pub(crate) fn round(&mut self) -> bool {
        self.now += 2_000;
        self.tick();
        let round = self.ask();
        let plan = round.plan().clone();
        self.effect(&plan)
    }

    /// What `kubectl get redis` prints after NAME and VERSION.
    pub(crate) fn columns(&self) -> String {
        let status = serde_json::to_value(&self.object.status).unwrap();
        let word = |key: &str| status[key].to_string().trim_matches('"').to_owned();
        format!(
            "{} {} {}",
            word("masterStatus"),
            word("readyReplicas"),
            word("phase")
        )
    }

    /// The recorded primary's Pod.
    pub(crate) fn primary(&self) -> String {
        let status = self.object.status.as_ref().unwrap();
        status.record.primary.as_ref().unwrap().pod.clone()
    }

    /// Names of Pods with this role label.
    pub(crate) fn labelled(&self, role: &str) -> Vec<&str> {
        let with = self
            .pods
            .iter()
            .filter(|(_, pod)| pod["metadata"]["labels"]["role"] == role);
        with.map(|(name, _)| name.as_str()).collect()
    }

    /// Kills the Redis in a Pod; the container starts it again.
    pub(crate) fn kill(&mut self, pod: &str) {
        let old = self.servers.remove(pod).unwrap();
        self.made += 1;
        self.servers
            .insert(pod.to_owned(), old.restarted(self.made));
    }

    /// Deletes a Pod; its set makes another with the same volume.
    pub(crate) fn delete(&mut self, pod: &str) {
        self.pods.remove(pod);
        let old = self.servers.remove(pod);
        self.make_pod(pod, old);
    }

    fn ask(&mut self) -> Round {
        let mut harness = Harness::new(&self.object)
            .now(self.now)
            .available(describe().grants())
            .typeless(self.pods.values().cloned())
            .typeless(self.claims.values().cloned());
        for child in self.children.values() {
            harness = harness.child(child);
        }
        for (id, ended) in std::mem::take(&mut self.outcomes) {
            harness = harness.outcome(&id, ended);
        }
        for (name, server) in self.servers.clone() {
            if server.frozen {
                let since = *self.silent_since.entry(name.clone()).or_insert(self.now);
                let silence = Unreachable {
                    why: "timed out".into(),
                    answered: false,
                    since,
                };
                harness = harness.redis(&name, move |_| Err(silence.clone()));
            } else {
                self.silent_since.remove(&name);
                harness = harness.redis(&name, move |query| Ok(server.answer(&query.commands)));
            }
        }
        harness.reconcile(&RedisController)
    }

    /// In the host's order: children, status, actions.
    fn effect(&mut self, plan: &Plan) -> bool {
        let mut changed = false;
        for child in &plan.children {
            changed |= self.apply(serde_json::from_str(&child.manifest).unwrap());
        }
        let status: Value = serde_json::from_str(plan.status.as_ref().unwrap()).unwrap();
        if serde_json::to_value(&self.object.status).unwrap() != status {
            self.object.status = serde_json::from_value(status).unwrap();
            changed = true;
        }
        let steps = plan.actions.iter();
        for action in steps.flat_map(|step| &step.actions) {
            let ended = self.act(action);
            self.outcomes.push((action.id.clone(), ended));
            changed = true;
        }
        if changed {
            self.events
                .extend(plan.events.iter().map(|event| event.reason.clone()));
        }
        changed
    }

    fn act(&mut self, action: &Action) -> Ended {
        match &action.effect {
            Effect::Redis(redis) => server::act(&mut self.servers, redis),
            Effect::Patch(patch) => {
                let objects = match patch.object.kind.as_str() {
                    "Pod" => &mut self.pods,
                    _ => &mut self.claims,
                };
                let Some(object) = objects.get_mut(&patch.object.name) else {
                    return Ended::Failed("not found".into());
                };
                kubernetes::merge(object, &serde_json::from_str(&patch.patch).unwrap());
                Ended::Done("null".into())
            }
            Effect::Delete(delete) => {
                self.delete(&delete.object.name);
                Ended::Done("null".into())
            }
            other => panic!("the world does not know {other:?}"),
        }
    }

    /// Replication: whoever follows a running primary links up and has its data a round later.
    fn tick(&mut self) {
        server::replicate(&mut self.servers);
    }

    /// Applies a child; a StatefulSet makes and removes Pods. True when it differed.
    fn apply(&mut self, mut manifest: Value) -> bool {
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let key = (text(&manifest["kind"]), text(&manifest["metadata"]["name"]));
        let known = self.children.get(&key);
        let differs = known.is_none_or(|known| {
            known["spec"] != manifest["spec"] || known["data"] != manifest["data"]
        });
        if manifest["kind"] == "StatefulSet" {
            kubernetes::set_status(&mut manifest);
            self.make_pods(&manifest);
        }
        self.children.insert(key, manifest);
        differs
    }

    fn make_pods(&mut self, set: &Value) {
        let name = set["metadata"]["name"].as_str().unwrap();
        let replicas = set["spec"]["replicas"].as_u64().unwrap();
        let wanted: Vec<String> = (0..replicas)
            .map(|ordinal| format!("{name}-{ordinal}"))
            .collect();
        self.children
            .insert(("StatefulSet".into(), name.to_owned()), set.clone());
        let is_ours = |pod: &str| pod.rsplit_once('-').is_some_and(|(set, _)| set == name);
        self.pods
            .retain(|pod, _| !is_ours(pod) || wanted.contains(pod));
        self.servers
            .retain(|pod, _| !is_ours(pod) || wanted.contains(pod));
        for pod in wanted {
            if !self.pods.contains_key(&pod) {
                self.make_pod(&pod, None);
            }
        }
    }

    fn make_pod(&mut self, name: &str, old: Option<Server>) {
        self.made += 1;
        let set_name = name.rsplit_once('-').unwrap().0;
        let set = &self.children[&("StatefulSet".to_owned(), set_name.to_owned())];
        self.pods
            .insert(name.to_owned(), kubernetes::pod(name, set, self.made));
        let claim = format!("data-{name}");
        self.claims
            .entry(claim.clone())
            .or_insert_with(|| kubernetes::claim(&claim, self.now));
        let server = old.map_or_else(|| Server::boot(self.made), |old| old.restarted(self.made));
        self.servers
            .insert(name.to_owned(), server.at(kubernetes::ip(self.made)));
    }
}

/// `{"ok": …}` as the host answers.
pub(crate) fn ok(value: impl Into<Value>) -> Value {
    json!({"ok": value.into()})
}
