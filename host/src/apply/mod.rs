//! Brings children in step with the plan.
//!
//! Flow: for each child in the plan's order, see what stands, work out what should, compare, fill slots, write.
//! Guarantees: nothing is written where nothing differs; one child in trouble never stops the others; an object
//! that is not ours is not touched; a secret value goes to the API server and nowhere else.
//! What is no longer named is pruned later, once the status that says so is stored.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::cache::Cache;
use crate::cluster::Cluster;
use crate::entropy::SharedEntropy;
use crate::object::{Object, ObjectKey};
use crate::plan::{Checked, Slot, WantedChild};
use crate::plugin::bindings::WhenImmutable;
use crate::plugin::configuration::Adopted;
use crate::secrets::Secrets;

mod carry;
mod coverage;
mod desired;
mod digest;
mod fill;
mod memory;
mod outcome;
mod prune;
mod record;
mod step;
mod trouble;
mod write;
mod yaml;

pub use desired::{APPLIED, Desired, OWNER_UID, WHEN_DROPPED};
pub use memory::Memory;
pub use outcome::{Applied, ChildEnded, ChildOutcome};
pub use prune::{Gathered, Pruned, Seen};
pub use record::{FIELD, Record, Recreation};
pub use step::{Step, Why, step};
pub use trouble::ChildTrouble;

use fill::{Filler, source_digests};
use memory::Standing;
use record::generated;
use write::{Conflicts, write};

/// Applies plans.
#[derive(Clone)]
pub struct Applier {
    cluster: Cluster,
    secrets: Arc<Secrets>,
    cache: Cache,
    entropy: SharedEntropy,
}

/// What the children of one round have in common.
struct Round<'a> {
    owner: &'a Object,
    adopt: &'a BTreeSet<Adopted>,
    record: Record,
}

impl Applier {
    /// Writes to `cluster`, compares with what `cache` shows, takes values from `secrets`.
    pub fn new(
        cluster: Cluster,
        secrets: Arc<Secrets>,
        cache: Cache,
        entropy: SharedEntropy,
    ) -> Self {
        Self {
            cluster,
            secrets,
            cache,
            entropy,
        }
    }

    /// Brings the children of `plan` in step, for `owner` as this round saw it.
    pub async fn apply(
        &self,
        owner: &Object,
        plan: &Checked,
        adopt: &BTreeSet<Adopted>,
        memory: &mut Memory,
    ) -> Applied {
        let round = Round {
            owner,
            adopt,
            record: Record::of(owner),
        };
        let mut children = Vec::with_capacity(plan.children().len());
        let mut record = Record::default();
        let mut stood = BTreeMap::new();
        for child in plan.children() {
            let known = self.cache.get(&child.key);
            let standing = Standing::of(child, known.as_deref());
            let ended = match memory.stands(&child.key, standing.as_ref()) {
                true => Ok(ChildEnded::InStep),
                false => self.child(&round, child, known, memory).await,
            };
            let ended = match ended {
                Ok(ended) => ended,
                Err(trouble) => ChildEnded::Failed(trouble),
            };
            if let ChildEnded::InStep = ended {
                stood.insert(child.key.clone(), standing);
            } else if ended.wrote() {
                stood.insert(child.key.clone(), None);
            }
            remember(&mut record, &round.record, child, &ended);
            children.push(ChildOutcome {
                key: child.key.clone(),
                ended,
            });
        }
        memory.stood = stood;
        Applied {
            children,
            record,
            prunes: !memory.unwanted.is_empty(),
        }
    }

    async fn child(
        &self,
        round: &Round<'_>,
        child: &WantedChild,
        known: Option<Arc<Object>>,
        memory: &Memory,
    ) -> Result<ChildEnded, ChildTrouble> {
        let sources = source_digests(child, &self.secrets).await?;
        let desired = Desired::new(round.owner, child, &sources);
        let mut doing = step(known.as_deref(), &desired, round.adopt);
        let mut live = known;
        if doing == Step::Write(Why::Absent) {
            // What carries no label of ours may not be watched: the API server knows.
            live = self.cluster.get(&child.key).await?.map(Arc::new);
            doing = step(live.as_deref(), &desired, round.adopt);
        }
        let why = match doing {
            Step::InStep => return Ok(ChildEnded::InStep),
            Step::Wait => return Ok(ChildEnded::Waits),
            Step::NameTaken => {
                return Err(ChildTrouble::NameTaken {
                    label: desired.label,
                });
            }
            Step::Write(why) => why,
        };
        match self.write(round, &desired, live.as_deref()).await {
            Ok(()) => Ok(ended(why, &child.key, memory)),
            Err(ChildTrouble::Immutable(error)) => {
                immutable(child, live.as_deref(), ChildTrouble::Immutable(error))
            }
            Err(other) => Err(other),
        }
    }

    /// Copies what was generated for a child that is to be made again.
    async fn carry(&self, owner: &Object, child: &WantedChild) -> Result<(), ChildTrouble> {
        let Some(copy) = carry::copy(child) else {
            return Ok(());
        };
        let round = Round {
            owner,
            adopt: &BTreeSet::new(),
            record: Record::of(owner),
        };
        let known = self.cache.get(&copy.key);
        match self.child(&round, &copy, known, &Memory::default()).await? {
            ChildEnded::Waits => Err(ChildTrouble::NotKept(copy.key.to_string())),
            _ => Ok(()),
        }
    }

    async fn write(
        &self,
        round: &Round<'_>,
        desired: &Desired<'_>,
        live: Option<&Object>,
    ) -> Result<(), ChildTrouble> {
        let filler = Filler {
            secrets: &self.secrets,
            entropy: &*self.entropy,
            record: &round.record,
            label: &desired.label,
        };
        let values = filler.fill(desired.child, live).await?;
        let conflicts = match live {
            Some(_) => Conflicts::Force,
            None => Conflicts::Refuse,
        };
        // An admission webhook may quote what it refuses.
        let mask = |text: &str| self.secrets.mask(&desired.child.key, text);
        let written = write(&self.cluster, desired, &values, conflicts, mask).await?;
        let after = step(Some(&written), desired, round.adopt);
        self.cache.wrote(written);
        match after {
            Step::Write(Why::Disturbed(path)) => Err(ChildTrouble::NotKept(path)),
            Step::Write(_) => Err(ChildTrouble::NotKept(format!("the annotation {APPLIED}"))),
            Step::InStep | Step::Wait | Step::NameTaken => Ok(()),
        }
    }
}

fn ended(why: Why, key: &ObjectKey, memory: &Memory) -> ChildEnded {
    match why {
        Why::Absent if memory.stood.contains_key(key) => ChildEnded::MadeAgain,
        Why::Absent => ChildEnded::Made,
        Why::Changed => ChildEnded::Changed,
        Why::Disturbed(path) => ChildEnded::PutRight(path),
    }
}

fn immutable(
    child: &WantedChild,
    live: Option<&Object>,
    trouble: ChildTrouble,
) -> Result<ChildEnded, ChildTrouble> {
    match (child.when_immutable, live) {
        (WhenImmutable::Recreate | WhenImmutable::RecreateOrphaning, Some(live)) => {
            Ok(ChildEnded::ToRecreate(Recreation {
                kind: child.key.kind.clone(),
                name: child.key.name.clone(),
                uid: live.uid.clone(),
            }))
        }
        (WhenImmutable::Report, _) | (_, None) => Err(trouble),
    }
}

/// What of one child has to stay known: values that were made, or that were before and whose Secret is in trouble
/// now; an object that has to go first.
fn remember(record: &mut Record, before: &Record, child: &WantedChild, ended: &ChildEnded) {
    let there = matches!(ended, ChildEnded::InStep) || ended.wrote();
    let randoms = child.slots.values().flat_map(Slot::randoms);
    let names = randoms.map(|random| generated(&child.key.name, &random.id));
    record
        .generated
        .extend(names.filter(|name| there || before.generated.contains(name)));
    match ended {
        ChildEnded::ToRecreate(recreation) => {
            record.recreating.insert(recreation.clone());
        }
        ChildEnded::Waits => {
            let is_it =
                |going: &&Recreation| going.kind == child.key.kind && going.name == child.key.name;
            record
                .recreating
                .extend(before.recreating.iter().find(is_it).cloned());
        }
        _ => {}
    }
}
