//! What to do, from what is: pure, and in the order in which a person who operates Redis would explain it.
//!
//! README.md lists the states in the words of [`State`] and the rules in the order of these functions.

use crate::failover;
use crate::foreign;
use crate::forming;
use crate::frozen;
use crate::health::{self, Health};
use crate::names::{Names, Role};
use crate::observe::{PodView, ServerView, View};
use crate::planned;
use crate::serving;
use crate::settings::Settings;
use crate::spec::RedisSpec;
use crate::status::{Member, Primary, Record};

/// What the user asks for.
#[derive(Clone, Debug)]
pub struct Wish<'a> {
    /// Names and labels.
    pub names: &'a Names,
    /// The spec.
    pub spec: &'a RedisSpec,
    /// Its settings, sorted; those that Redis refused are left out.
    pub settings: &'a Settings,
}

/// Where a Redis stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// No primary was ever chosen.
    Forming(String),
    /// A primary is chosen and told to take writes, but not yet seen doing so.
    Opening,
    /// The primary takes writes.
    Serving,
    /// The primary takes writes and is handing over to another Pod.
    Moving(String),
    /// The primary does not answer, and it is not certain that it is lost.
    Doubtful(String),
    /// The primary is lost and nobody may be promoted yet.
    Waiting(String),
    /// A person must help.
    Stuck(String),
}

/// One thing to be done after the record is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// Deletes the Pod of a lost primary that may still run, and waits for it a moment.
    Fence(String),
    /// Makes a Redis the primary; it takes writes only while so many replicas follow closely.
    Open(Target, u8),
    /// Points a Redis at the primary.
    Follow(Target, String),
    /// Lets the primary take writes only while so many replicas follow closely.
    Guard(Target, u8),
    /// Has the primary hand over to the replica of this address.
    HandOver(Target, String),
    /// Ends a hand-over that takes too long.
    AbandonHandOver(Target),
    /// Says on a Pod what it is for clients.
    Label(String, Role),
    /// Says on the primary's volume in which epoch it became the primary, and how its data is kept.
    Mark {
        /// The Pod whose volume it is.
        pod: String,
        /// The epoch.
        epoch: i64,
        /// Whether the data is in the append-only file.
        aof: bool,
    },
    /// Changes a setting while Redis runs.
    Set(Target, String, String),
    /// Turns the append-only file on or off while Redis runs.
    SwitchAof(Target, bool),
    /// Grows the volume of a Pod to the size in the spec.
    Grow(String),
    /// Deletes a Pod so that its set makes it anew.
    Replace(String),
}

/// A Redis by Pod and run: what is meant for one run never reaches the next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// The Pod's name.
    pub pod: String,
    /// The run_id.
    pub run_id: String,
}

/// What people should read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// Somebody should look into it.
    pub warning: bool,
    /// One word.
    pub reason: &'static str,
    /// A sentence.
    pub text: String,
}

/// What was decided.
#[derive(Clone, Debug, PartialEq)]
pub struct Decision {
    /// The record to be stored before anything is done.
    pub record: Record,
    /// Where the Redis stands.
    pub state: State,
    /// What to do then, in no order: [`crate::plan`] knows the order.
    pub commands: Vec<Command>,
    /// What people should read.
    pub notes: Vec<Note>,
    /// What is still to come before everything is as the spec says.
    pub pending: Option<String>,
}

/// Decides.
#[must_use]
pub fn decide(wish: &Wish<'_>, view: &View) -> Decision {
    let mut decision = Decision::keeping(&view.record);
    match view.record.primary.clone() {
        None => forming::form(wish, view, &mut decision),
        Some(primary) => lead(wish, view, &primary, &mut decision),
    }
    if view.force.is_none() {
        decision.record.forced = None;
    }
    frozen::replace(view, &mut decision);
    relabel(view, &mut decision);
    decision
}

/// With a primary on record: somebody else may have become the primary, or it serves, or it is lost.
fn lead(wish: &Wish<'_>, view: &View, primary: &Primary, decision: &mut Decision) {
    if planned::arrived(view, primary, decision) || foreign::adopt(view, primary, decision) {
        return;
    }
    match health::health(wish, view, primary) {
        Health::Serving(server) => serving::serve(wish, view, primary, server, decision),
        Health::Idle(server) => open_again(view, primary, server, decision),
        Health::Doubtful(why) => {
            decision.record.missed_since = Some(health::missed_since(view, primary));
            decision.state = State::Doubtful(why);
        }
        Health::Lost(loss) => failover::fail_over(wish, view, primary, loss, decision),
    }
}

/// The primary runs but does not take itself for one: it was chosen and not told yet, or somebody demoted it.
fn open_again(view: &View, primary: &Primary, server: &ServerView, decision: &mut Decision) {
    if planned::under_way(view) || server.loading {
        decision.state = State::Opening;
        return;
    }
    decision.record.planned = None;
    let guarded = u8::from(!decision.record.in_sync.is_empty());
    decision
        .commands
        .push(Command::Open(server.target(&primary.pod), guarded));
    decision.state = State::Opening;
}

/// Roles on Pods. `master` goes only on a primary that was seen taking writes; Pods that end are left alone.
fn relabel(view: &View, decision: &mut Decision) {
    let serving = matches!(decision.state, State::Serving | State::Moving(_));
    let primary = view.record.primary.as_ref();
    let address = primary.and_then(|primary| view.pods.get(&primary.pod)?.ip.as_deref());
    for pod in view.pods.values().filter(|pod| !pod.terminating) {
        let is_primary = primary.is_some_and(|primary| primary.pod == pod.name);
        let linked = address.is_some_and(|ip| pod.answering().is_some_and(|it| it.linked_to(ip)));
        let role = match is_primary {
            true if serving => Some(Role::Primary),
            false if linked || pod.role == Some(Role::Primary) => Some(Role::Replica),
            _ => pod.role,
        };
        if let Some(role) = role.filter(|role| pod.role != Some(*role)) {
            decision
                .commands
                .push(Command::Label(pod.name.clone(), role));
        }
    }
}

impl Decision {
    fn keeping(record: &Record) -> Self {
        Self {
            record: record.clone(),
            state: State::Opening,
            commands: Vec::new(),
            notes: Vec::new(),
            pending: None,
        }
    }

    /// Records another primary.
    pub fn crown(&mut self, view: &View, pod: &PodView, run: &ServerView, in_sync: Vec<Member>) {
        self.record.primary = Some(Primary {
            pod: pod.name.clone(),
            uid: pod.uid.clone(),
            run_id: run.run_id.clone(),
            replid: run.replid.clone(),
            since: view.now,
        });
        self.record.epoch += 1;
        self.record.in_sync = in_sync;
        self.record.planned = None;
        self.record.missed_since = None;
        self.record.foreign = None;
    }

    /// Adds what people should read.
    pub fn note(&mut self, reason: &'static str, text: String) {
        self.notes.push(Note {
            warning: false,
            reason,
            text,
        });
    }

    /// Adds what somebody should look into.
    pub fn warn(&mut self, reason: &'static str, text: String) {
        self.notes.push(Note {
            warning: true,
            reason,
            text,
        });
    }

    /// Has a Pod made anew, once whatever the reasons.
    pub fn replace(&mut self, pod: &str, why: &str) {
        let command = Command::Replace(pod.to_owned());
        if self.commands.contains(&command) {
            return;
        }
        self.wait_for(format!("replacing {pod}"));
        self.note("PodReplaced", format!("replacing {pod}: {why}"));
        self.commands.push(command);
    }

    /// Says what is still to come; the first to say so is heard.
    pub fn wait_for(&mut self, what: String) {
        self.pending.get_or_insert(what);
    }
}

impl Wish<'_> {
    /// Whether a Pod goes when the replica set shrinks to what the spec asks for.
    #[must_use]
    pub fn leaves(&self, pod: &str) -> bool {
        self.names
            .ordinal(pod)
            .is_some_and(|ordinal| ordinal >= self.spec.replicas)
    }

    /// The names of the Pods that the spec asks for.
    #[must_use]
    pub fn pods(&self) -> Vec<String> {
        let replicas = (0..self.spec.replicas).map(|ordinal| self.names.replica(ordinal));
        std::iter::once(self.names.first_primary())
            .chain(replicas)
            .collect()
    }

    /// Whether writes are to be logged.
    #[must_use]
    pub fn aof(&self) -> bool {
        self.spec.persistence.enabled && self.spec.persistence.enable_aof
    }
}

impl ServerView {
    /// Names this run.
    #[must_use]
    pub fn target(&self, pod: &str) -> Target {
        Target {
            pod: pod.to_owned(),
            run_id: self.run_id.clone(),
        }
    }

    /// This run as a replica that may be promoted.
    #[must_use]
    pub fn member(&self, pod: &str) -> Member {
        Member {
            pod: pod.to_owned(),
            run_id: self.run_id.clone(),
        }
    }
}
