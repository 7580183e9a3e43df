//! The round: an object, what its plugin needs to know, what it decides, and carrying that out.
//!
//! [`Reconciler::round`] is the whole story. What may not live here: how a thing is watched, compared, written or
//! asked; each has its room.

mod contents;
mod decide;
mod deletion;
mod effects;
mod facts;
mod failure;
mod gather;
mod memory;
mod next;
mod question;
mod rate;
mod rooms;
mod round;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Semaphore;
use tracing::Instrument;

pub use deletion::{FINALIZER, LET_GO};
pub(crate) use deletion::{is_to_go, way_out};
pub(crate) use facts::Facts;
pub(crate) use question::needed_grants;
pub use rooms::Rooms;

use crate::actions::LongActions;
use crate::explain;
use crate::finalizer;
use crate::metrics::{Ending, OfPlugin};
use crate::object::{Kind, Object, ObjectKey};
use crate::plan::{self, Call, Checked};
use crate::plugin::bindings::Step;
use crate::plugin::configuration::PluginSpec;
use crate::plugin::faults::{Admission, Faults};
use crate::plugin::{CallError, Grant, Operator};
use crate::queue::{Next, Queue, ReconcileRequest};
use crate::status::Unsynced;
use contents::Contents;
use deletion::Stage;
use failure::Failed;
use gather::Gatherer;
use memory::Memories;
use rate::Spent;
use round::{Done, Round};

/// Runs the rounds of one plugin's objects.
pub struct Reconciler {
    plugin: Arc<dyn Operator>,
    spec: PluginSpec,
    config: String,
    owned: Vec<Kind>,
    rooms: Rooms,
    gatherer: Gatherer,
    faults: Mutex<Faults>,
    carried: Carried,
}

/// What outlives the plugin's version: it belongs to the objects.
#[derive(Clone)]
struct Carried {
    memories: Arc<Memories>,
    long: LongActions,
    spent: Arc<Mutex<Spent>>,
    /// Begins the names of this host's rounds.
    prefix: String,
    rounds: Arc<AtomicU64>,
}

impl Reconciler {
    /// For `plugin` under `spec`; what ends between rounds asks `queue` for another.
    pub fn new(plugin: Arc<dyn Operator>, spec: PluginSpec, rooms: Rooms, queue: Queue) -> Self {
        let mut prefix = [0; 3];
        rooms.entropy.fill(&mut prefix);
        let carried = Carried {
            memories: Arc::default(),
            long: LongActions::new(queue),
            spent: Arc::default(),
            prefix: hex::encode(prefix),
            rounds: Arc::default(),
        };
        Self::with(plugin, spec, rooms, carried)
    }

    /// One that goes on where this one stands, with another version of the plugin or another spec. Rounds of this one
    /// that are in flight end as they began; of one object, only one is in flight.
    pub fn succeeded_by(&self, plugin: Arc<dyn Operator>, spec: PluginSpec) -> Self {
        Self::with(plugin, spec, self.rooms.clone(), self.carried.clone())
    }

    fn with(plugin: Arc<dyn Operator>, spec: PluginSpec, rooms: Rooms, carried: Carried) -> Self {
        let own = |grant: &Grant| match grant {
            Grant::Own(kind) => Some(kind.clone()),
            _ => None,
        };
        let gatherer = Gatherer {
            cluster: rooms.cluster.clone(),
            cache: rooms.cache.clone(),
            index: rooms.index.clone(),
            states: rooms.states.clone(),
            grants: spec.grants.clone(),
            namespaces: spec.namespaces.clone(),
            queries: rooms.queries.clone(),
            secrets: rooms.secrets.clone(),
            contents: Contents::default(),
            patience: spec.limits.query,
            turns: Semaphore::new(
                usize::try_from(spec.limits.queries_at_once.get()).unwrap_or(usize::MAX),
            ),
        };
        Self {
            config: serde_json::Value::Object(spec.config.clone()).to_string(),
            owned: spec.grants.iter().filter_map(own).collect(),
            faults: Mutex::default(),
            carried,
            plugin,
            spec,
            rooms,
            gatherer,
        }
    }

    /// One round of one object; says when the next one is due.
    pub async fn round(&self, request: &ReconcileRequest) -> Next {
        let Some(object) = self.rooms.cache.get(&request.object) else {
            return self.forget(request);
        };
        let mut round = self.begin(request, object);
        let span = tracing::info_span!(
            "round",
            plugin = self.plugin.name(),
            object = %request.object,
            reason = %request.reason,
            round = round.record.id,
        );
        let begun = tokio::time::Instant::now();
        let next = async {
            let ended = self.stages(&mut round).await;
            self.follow_up(&mut round, ended).await
        };
        let next = next.instrument(span).await;
        self.finish(round, begun.elapsed());
        next
    }

    /// The stages of a round, in order. An error ends it: nothing after the stage that failed is done.
    async fn stages(&self, round: &mut Round<'_>) -> Result<Done, Failed> {
        let call = match deletion::stage(&round.object, self.finalizes(&round.object.key.kind)) {
            Stage::Leaving => return Ok(Done::default()),
            Stage::LetGo => return self.let_go(round).await,
            _ if self.spec.suspended => {
                let why = self.suspended(round);
                return self.leave_alone(round, why).await;
            }
            _ if round::is_paused(&round.object) => {
                return self.leave_alone(round, Unsynced::Paused).await;
            }
            Stage::Alive => Call::Reconcile,
            Stage::Finalizing => Call::Finalize,
        };
        self.admit(&round.object)?;
        let decided = self.decide(round, call).await?;
        let plan = self.check(round, decided.plan, call)?;
        self.spend(&plan)?;
        self.hold(round, call).await?;
        let mut done = self.carry_out(round, &plan, decided.gathered).await?;
        if plan.finalized() {
            done = self.let_go(round).await?;
        }
        Ok(done)
    }

    /// Ends the round where the plugin was at fault several times and is not to be asked again yet.
    fn admit(&self, object: &Object) -> Result<(), Failed> {
        let since_boot = self.rooms.clock.since_boot();
        match self
            .faults()
            .admit(&object.key, object.generation, since_boot)
        {
            Admission::Go => Ok(()),
            Admission::Wait(wait) => Err(Failed::HeldBack(wait)),
        }
    }

    fn begin<'a>(&'a self, request: &'a ReconcileRequest, object: Arc<Object>) -> Round<'a> {
        let number = self.carried.rounds.fetch_add(1, Ordering::Relaxed);
        let now = self.rooms.clock.now();
        let record = explain::Round {
            id: format!("{}-{number}", self.carried.prefix),
            at: now,
            reason: request.reason.to_string(),
            resource_version: object.resource_version.clone(),
            generation: object.generation,
            ..explain::Round::default()
        };
        let memory = self.carried.memories.borrow(&request.object, &object.uid);
        let mut round = Round {
            request,
            object,
            memory,
            interests: Vec::new(),
            now,
            record,
        };
        let ended = self.carried.long.ended(&round.object.uid);
        self.note_outcomes(&mut round, ended);
        round
    }

    fn check(
        &self,
        round: &mut Round<'_>,
        plan: crate::plugin::bindings::Plan,
        call: Call,
    ) -> Result<Checked, Failed> {
        let plan = plan::check(plan, call, &round.object, &self.spec.grants)?;
        round.record.plan = Some(effects::planned(&plan));
        let slots = plan
            .slot_sources()
            .into_iter()
            .map(crate::watch::Interest::Object)
            .collect();
        let asker = &round.request.object;
        let mut whom = gather::For {
            owner: &round.object,
            asker,
            interests: &mut round.interests,
        };
        self.gatherer.note(&mut whom, slots);
        self.rooms.index.keep_only(asker, &round.interests);
        Ok(plan)
    }

    /// Ends the round where its plan would delete or evict more in a minute than the Plugin allows.
    fn spend(&self, plan: &Checked) -> Result<(), Failed> {
        let now = self.rooms.clock.since_boot();
        let mut spent = self
            .carried
            .spent
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        spent
            .take(plan.actions(), &self.spec.limits, now)
            .map_err(Failed::OverRate)
    }

    /// Makes sure that an object whose plugin wants to be asked on deletion does not go without.
    async fn hold(&self, round: &mut Round<'_>, call: Call) -> Result<(), Failed> {
        if call == Call::Finalize || !self.finalizes(&round.object.key.kind) {
            return Ok(());
        }
        let Rooms { cluster, cache, .. } = &self.rooms;
        let held = finalizer::hold(&round.object, FINALIZER, cluster, cache)
            .await
            .map_err(conflict)?;
        if let Some(held) = held {
            round.record.changed.push("finalizer added".into());
            round.object = Arc::new(held);
        }
        Ok(())
    }

    async fn let_go(&self, round: &mut Round<'_>) -> Result<Done, Failed> {
        let Rooms { cluster, cache, .. } = &self.rooms;
        finalizer::release(&round.object, FINALIZER, cluster, cache)
            .await
            .map_err(conflict)?;
        round.record.changed.push("finalizer removed".into());
        Ok(Done {
            changed: true,
            ..Done::default()
        })
    }

    fn forget(&self, request: &ReconcileRequest) -> Next {
        self.forget_object(&request.object);
        Next::Never
    }

    /// Forgets an object that is gone or is served no longer.
    pub fn forget_object(&self, object: &Arc<ObjectKey>) {
        self.rooms.index.forget(object);
        self.rooms.history.forget(object);
        self.rooms.metrics.figures.forget(object);
        if let Some(uid) = self.carried.memories.forget(object) {
            self.rooms.recorder.forget(&uid);
            self.carried.long.forget(&uid);
        }
        self.faults().cleared(object);
    }

    /// Forgets what was remembered of all objects, and stops what runs for them: another host may act from now on.
    pub fn forget_all(&self) {
        self.carried.long.forget_all();
        self.carried.memories.clear();
    }

    fn finalizes(&self, kind: &Kind) -> bool {
        let serves = &self.plugin.description().serves;
        serves
            .iter()
            .any(|served| served.kind == *kind && served.finalizes)
    }

    fn finish(&self, mut round: Round<'_>, took: Duration) {
        round.record.took = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        let of = OfPlugin {
            plugin: self.plugin.name().to_owned(),
        };
        self.rooms
            .metrics
            .round_seconds
            .get_or_create(&of)
            .observe(took.as_secs_f64());
        self.rooms.history.push(&round.request.object, round.record);
    }

    fn measure_call(&self, took: Duration, step: &Result<Step, CallError>) {
        let plugin = self.plugin.name().to_owned();
        let result = match step {
            Ok(Step::Plan(_)) => "plan",
            Ok(Step::Need(_)) => "need",
            Err(CallError::Invalid(_)) => "invalid",
            Err(CallError::Transient(_)) => "transient",
            Err(CallError::Fault(fault)) => fault.reason(),
        };
        let metrics = &self.rooms.metrics;
        metrics
            .calls
            .get_or_create(&Ending {
                plugin: plugin.clone(),
                result,
            })
            .inc();
        metrics
            .call_seconds
            .get_or_create(&OfPlugin { plugin })
            .observe(took.as_secs_f64());
    }

    /// The plugin's faults, for the Plugin.
    pub fn faults(&self) -> MutexGuard<'_, Faults> {
        self.faults.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The plugin.
    pub fn plugin(&self) -> &dyn Operator {
        &*self.plugin
    }

    /// What the administrator said about it.
    pub fn spec(&self) -> &PluginSpec {
        &self.spec
    }

    /// All objects that it serves, as far as they are known.
    pub fn objects(&self) -> Vec<Arc<ObjectKey>> {
        let everything = kube::core::Selector::default();
        let serves = self.plugin.description().serves.iter();
        let listed =
            serves.flat_map(|served| self.rooms.cache.list(&served.kind, None, &everything));
        listed
            .filter(|object| self.is_inside(&object.key))
            .map(|object| Arc::new(object.key.clone()))
            .collect()
    }

    fn is_inside(&self, object: &ObjectKey) -> bool {
        let namespaces = &self.spec.namespaces;
        let inside = |namespace: &String| namespaces.contains(namespace);
        namespaces.is_empty() || object.namespace.as_ref().is_some_and(inside)
    }
}

/// A write under a version that is no longer current is a conflict like that of the status.
fn conflict(error: crate::cluster::ClusterError) -> Failed {
    match error.is_conflict() {
        true => Failed::Conflict,
        false => Failed::Cluster(error),
    }
}
