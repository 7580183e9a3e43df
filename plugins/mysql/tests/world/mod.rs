//! A small world for whole rounds: Pods, volumes and MySQL servers that do what plans say.
//!
//! It knows only what the plugin relies on: a StatefulSet makes Pods, a MySQL boots read-only and follows nobody, and
//! does what statements say. Nothing here judges a decision.

// Each test binary uses a part of it.
#![allow(dead_code)]

mod kubernetes;
mod server;

use std::collections::BTreeMap;

use serde_json::Value;
use windlass_mysql::component::describe;
use windlass_mysql::reconcile::MySqlController;
use windlass_mysql::spec::MySQLCluster;
use windlass_mysql::status::Record;
use windlass_sdk::harness::{Harness, Round};
use windlass_sdk::wire::{Action, Effect, Ended, Plan, Unreachable};

pub(crate) use server::Server;

/// Pods, volumes and servers around one MySQL object.
pub(crate) struct World {
    pub(crate) now: u64,
    pub(crate) object: MySQLCluster,
    pub(crate) children: BTreeMap<(String, String), Value>,
    pub(crate) pods: BTreeMap<String, Value>,
    pub(crate) claims: BTreeMap<String, Value>,
    pub(crate) servers: BTreeMap<String, Server>,
    pub(crate) events: Vec<String>,
    /// Numbers of the commits that a client was told are done.
    pub(crate) acknowledged: Vec<u32>,
    written: u32,
    outcomes: Vec<(String, Ended)>,
    silent_since: BTreeMap<String, u64>,
    made: u32,
}

impl World {
    /// The second file that users are shown, just applied.
    pub(crate) fn new() -> Self {
        let text = include_str!("../../../../deploy/samples/mysql/clusters.yaml");
        let text = text.split("---").nth(1).unwrap();
        let mut object: MySQLCluster = serde_saphyr::from_str(text).unwrap();
        object.metadata.uid = Some("mysql-uid".into());
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
            acknowledged: Vec::new(),
            written: 0,
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
            "Running 3 my-database-0",
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

    /// What `kubectl get mc` prints after NAME.
    pub(crate) fn columns(&self) -> String {
        let status = serde_json::to_value(&self.object.status).unwrap();
        let word = |key: &str| status[key].to_string().trim_matches('"').to_owned();
        format!(
            "{} {} {}",
            word("phase"),
            word("readyReplicas"),
            word("masterNode")
        )
    }

    /// What was recorded.
    pub(crate) fn record(&self) -> &Record {
        &self.object.status.as_ref().unwrap().record
    }

    /// The recorded primary's Pod.
    pub(crate) fn primary(&self) -> String {
        self.record().primary.as_ref().unwrap().pod.clone()
    }

    /// The reason of a condition, where it is there.
    pub(crate) fn reason(&self, condition: &str) -> Option<&str> {
        let mut conditions = self.object.status.as_ref()?.conditions.iter();
        let found = conditions.find(|known| known.type_ == condition)?;
        Some(&found.reason)
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
        self.servers.insert(pod.to_owned(), old.restarted(self.now));
    }

    /// A client writes so often, and remembers what it was told is done.
    pub(crate) fn write(&mut self, times: u32) {
        for _ in 0..times {
            let Some(primary) = self
                .labelled("primary")
                .first()
                .map(|pod| (*pod).to_owned())
            else {
                return;
            };
            self.written += 1;
            if Server::commit(&mut self.servers, &primary, self.written) {
                self.acknowledged.push(self.written);
            }
        }
    }

    /// Commits that were acknowledged and that the primary lacks.
    pub(crate) fn lost(&self) -> Vec<u32> {
        let server = &self.servers[&self.primary()];
        let held: Vec<u32> = server.executed.iter().map(|(_, number)| *number).collect();
        let lost = self
            .acknowledged
            .iter()
            .filter(|number| !held.contains(number));
        lost.copied().collect()
    }

    /// The volume of a Pod is lost, and its Pod with it.
    pub(crate) fn lose_volume(&mut self, pod: &str) {
        self.pods.remove(pod);
        self.servers.remove(pod);
        self.make_pod(pod, None);
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
                harness = harness.sql(&name, move |_| Err(silence.clone()));
            } else {
                self.silent_since.remove(&name);
                let answer = server.answer(server::acknowledging(&self.servers, &name), self.now);
                harness = harness.sql(&name, move |_| Ok(answer.clone()));
            }
        }
        harness.reconcile(&MySqlController)
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
            Effect::Sql(sql) => server::act(&mut self.servers, sql, self.now),
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

    /// Applies a child; the StatefulSet makes and removes Pods. True when it differed.
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
        self.claims.entry(claim.clone()).or_insert_with(|| {
            kubernetes::claim(
                &claim,
                &set["spec"]["template"]["metadata"]["labels"],
                self.now,
            )
        });
        let server = old.map_or_else(
            || Server::boot(name, self.made, self.now),
            |old| old.restarted(self.now),
        );
        self.servers.insert(name.to_owned(), server);
    }
}
