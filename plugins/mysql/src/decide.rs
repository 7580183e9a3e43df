//! What to do, from what is: pure, and in the order in which a database administrator would explain it.
//!
//! README.md lists the states in the words of [`State`] and the rules in the order of these functions.

use crate::failover;
use crate::force;
use crate::forming;
use crate::gtid::GtidSet;
use crate::health::{self, Health};
use crate::names::{Names, Role};
use crate::observe::{PodView, ServerView, View};
use crate::opening;
use crate::serving;
use crate::spec::{ErrantPolicy, MySQLClusterSpec};
use crate::status::{Intent, IntentKind, Primary, Record};
use crate::switchover;

/// An Event's text has at most so many bytes.
const LONGEST_NOTE: usize = 1024;

/// What the user asks for.
#[derive(Clone, Debug)]
pub struct Wish<'a> {
    /// Names and labels.
    pub names: &'a Names,
    /// The spec.
    pub spec: &'a MySQLClusterSpec,
}

/// Where a cluster stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// No primary was ever chosen: instances are missing, or a person must say which has the data.
    Incomplete(String),
    /// A primary is chosen and told to take writes, but not yet seen doing so.
    Opening(String),
    /// The primary takes writes and every replica follows it.
    Healthy,
    /// The primary takes writes; something else is not as it should be.
    Degraded(String),
    /// The primary takes writes; an instance is being rebuilt as a copy of another.
    Cloning(String),
    /// The primary is well and hands over to another.
    Switching(String),
    /// The primary does not answer, and it is not certain that it is lost.
    Doubtful(String),
    /// The primary is lost, and another takes its place.
    Failed(String),
    /// The primary is lost and nobody may take its place: nothing is done.
    Lost(String),
    /// A person must help.
    Stuck(String),
}

/// One thing to be done after the record is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// Ends the sessions of clients, so that commits that wait end in an error, and takes no more writes.
    Shut(Target),
    /// Takes no more writes; commits under way end as they would.
    Freeze(Target),
    /// Receives nothing more: part of the fence.
    Cut(Target),
    /// Applies what was received.
    Apply(Target),
    /// Takes writes, if it holds these transactions.
    Open(Target, u32, GtidSet),
    /// Has commits wait for so many acknowledgements.
    Wait(Target, u32),
    /// Follows the primary in this Pod.
    Follow(Target, Following),
    /// Acknowledges what it receives, or no longer.
    Acknowledge(Target),
    /// Receives and acknowledges nothing more.
    Dismiss(Target),
    /// Becomes a copy of the MySQL in this Pod.
    Clone(Target, String),
    /// Makes the operator's accounts on the primary again.
    MakeAccounts(Target),
    /// Says on a Pod what it is for clients.
    Label(String, Option<Role>),
    /// Says on the primary's volume in which epoch it became the primary.
    Mark(String, i64),
    /// Grows the volume of a Pod to the size in the spec.
    Grow(String),
    /// Deletes a Pod so that its set makes it anew.
    Replace(String),
}

/// A MySQL by Pod and data directory: what is meant for one never reaches another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// The Pod's name.
    pub pod: String,
    /// The server_uuid; empty for whatever runs there.
    pub uuid: String,
}

/// How a replica comes to follow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Following {
    /// The Pod of the primary.
    pub primary: String,
    /// Whether it acknowledges.
    pub acknowledges: bool,
    /// How much of its replication is set up.
    pub setup: Setup,
}

/// How much of a replica's replication is set up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Setup {
    /// It is only started.
    Start,
    /// It is pointed at the primary and started.
    Point,
    /// It is forgotten, pointed at the primary and started.
    Anew,
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
    /// Where the cluster stands.
    pub state: State,
    /// What to do then, in no order: [`crate::plan`] knows the order.
    pub commands: Vec<Command>,
    /// What people should read.
    pub notes: Vec<Note>,
    /// What is still to come before everything is as the spec says; the first to say so is heard.
    pub pending: Option<String>,
    /// Why writes wait, where they do.
    pub blocked: Option<String>,
    /// Why a person's choice of primary is neither followed nor refused yet, where there is one.
    pub unanswered: Option<String>,
}

/// Decides.
#[must_use]
pub fn decide(wish: &Wish<'_>, view: &View) -> Decision {
    let mut decision = Decision::keeping(&view.record);
    let record = &view.record;
    match (&record.intent, &record.primary) {
        // While an intent stands no other rule acts.
        (Some(intent), _) => proceed(wish, view, intent, &mut decision),
        (None, None) => forming::form(wish, view, &mut decision),
        (None, Some(primary)) => lead(wish, view, primary, &mut decision),
    }
    if record.primary.is_some() {
        force::answer(wish, view, &mut decision);
    }
    forget_annotations(view, &mut decision);
    relabel(wish, view, &mut decision);
    decision
}

fn proceed(wish: &Wish<'_>, view: &View, intent: &Intent, decision: &mut Decision) {
    match intent.kind {
        IntentKind::Failover => failover::proceed(wish, view, intent, decision),
        IntentKind::Switchover => switchover::proceed(wish, view, intent, decision),
    }
}

/// With a primary on record: it serves, or is to be opened, or is lost.
fn lead(wish: &Wish<'_>, view: &View, primary: &Primary, decision: &mut Decision) {
    match health::health(view, primary) {
        Health::Serving(server) => serving::serve(wish, view, primary, server, decision),
        Health::Shut(server) => opening::open(wish, view, primary, server, decision),
        Health::Doubtful(why) => {
            decision.record.missed_since = Some(health::missed_since(view, primary));
            decision.state = State::Doubtful(why);
            failover::let_in(view, primary, decision);
        }
        Health::Lost(loss) => failover::begin(wish, view, primary, &loss, decision),
    }
}

/// An annotation that was taken away may be set again.
fn forget_annotations(view: &View, decision: &mut Decision) {
    let there = &view.annotations;
    let Record {
        followed, refused, ..
    } = &mut decision.record;
    followed.retain(|annotation, value| there.get(annotation) == Some(value));
    refused.retain(|annotation, _| followed.contains_key(annotation));
}

/// Roles on Pods. `primary` goes only on one that was seen taking writes, `replica` on those that follow it; an
/// instance with foreign transactions is kept from readers. Pods that end are left alone.
fn relabel(wish: &Wish<'_>, view: &View, decision: &mut Decision) {
    let primary = decision.record.primary.clone();
    let primary = primary.as_ref().map_or("", |primary| primary.pod.as_str());
    let host = wish.names.host(primary);
    for pod in view.pods.values().filter(|pod| !pod.terminating) {
        let is_errant = decision.is_kept_from_readers(&pod.name);
        let linked = pod
            .answering()
            .is_some_and(|server| server.is_linked_to(&host));
        let role = match (pod.name == primary, &decision.state) {
            (true, state) if state.takes_writes() => Some(Role::Primary),
            // Where nobody takes its place, who still reaches it is let go on.
            (true, State::Doubtful(_) | State::Lost(_)) => pod.role,
            (true, _) => None,
            (false, _) if is_errant => None,
            (false, _) if linked => Some(Role::Replica),
            (false, _) => pod.role.filter(|role| *role == Role::Replica),
        };
        if pod.role != role {
            decision
                .commands
                .push(Command::Label(pod.name.clone(), role));
        }
    }
}

impl State {
    /// Whether the primary was seen taking writes.
    #[must_use]
    pub fn takes_writes(&self) -> bool {
        matches!(self, Self::Healthy | Self::Degraded(_) | Self::Cloning(_))
    }
}

impl Decision {
    fn keeping(record: &Record) -> Self {
        Self {
            record: record.clone(),
            state: State::Incomplete(String::new()),
            commands: Vec::new(),
            notes: Vec::new(),
            pending: None,
            blocked: None,
            unanswered: None,
        }
    }

    /// The commit point: records another primary, and who may acknowledge from now on.
    pub fn crown(&mut self, pod: &PodView, server: &ServerView, epoch: i64) {
        self.record.primary = Some(Primary {
            pod: pod.name.clone(),
            uid: pod.uid.clone(),
            uuid: server.uuid.clone(),
            writable_since: None,
        });
        self.record.epoch = epoch;
        self.record.intent = None;
        self.record.retiring = None;
        self.record.raising = None;
        self.record.lost = None;
        self.record.repairs.remove(&pod.name);
        self.state = State::Opening(format!("{} is to take writes", pod.name));
    }

    /// Whether a Pod has transactions that the primary lacks.
    fn is_kept_from_readers(&self, pod: &str) -> bool {
        self.record.errant.contains_key(pod)
    }

    /// Adds a command, once whatever the reasons.
    pub fn order(&mut self, command: Command) {
        if !self.commands.contains(&command) {
            self.commands.push(command);
        }
    }

    /// Adds what people should read.
    pub fn note(&mut self, reason: &'static str, text: String) {
        self.notes.push(Note {
            warning: false,
            reason,
            text: shortened(text),
        });
    }

    /// Adds what somebody should look into.
    pub fn warn(&mut self, reason: &'static str, text: String) {
        self.notes.push(Note {
            warning: true,
            reason,
            text: shortened(text),
        });
    }

    /// Says what is still to come; the first to say so is heard.
    pub fn wait_for(&mut self, what: String) {
        self.pending.get_or_insert(what);
    }
}

/// Sets of transactions and the words of servers have any length, and a plan with an Event that is too long is refused
/// as a whole.
fn shortened(mut text: String) -> String {
    if text.len() > LONGEST_NOTE {
        text.truncate(text.floor_char_boundary(LONGEST_NOTE - "…".len()));
        text.push('…');
    }
    text
}

impl Wish<'_> {
    /// Whether a Pod goes when the set shrinks to what the spec asks for.
    #[must_use]
    pub fn leaves(&self, pod: &str) -> bool {
        let ordinal = self.names.ordinal(pod);
        ordinal.is_none_or(|ordinal| ordinal >= self.spec.replicas)
    }

    /// The names of the Pods that the spec asks for.
    #[must_use]
    pub fn pods(&self) -> Vec<String> {
        (0..self.spec.replicas)
            .map(|ordinal| self.names.pod(ordinal))
            .collect()
    }

    /// How many voters must have a commit before it is acknowledged, once there are enough of them.
    #[must_use]
    pub fn wait_count(&self) -> u32 {
        u32::try_from(self.spec.replicas / 2).unwrap_or(0)
    }

    /// Whether an instance with foreign transactions is rebuilt.
    #[must_use]
    pub fn rebuilds(&self) -> bool {
        self.spec.errant_policy == ErrantPolicy::Rebuild
    }
}

impl ServerView {
    /// Names this data directory.
    #[must_use]
    pub fn target(&self, pod: &str) -> Target {
        Target {
            pod: pod.to_owned(),
            uuid: self.uuid.clone(),
        }
    }
}

impl Target {
    /// Whatever runs in this Pod: it let nobody see which data directory it has.
    #[must_use]
    pub fn unseen(pod: &str) -> Self {
        Self {
            pod: pod.to_owned(),
            uuid: String::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{LONGEST_NOTE, shortened};
    use crate::testing::{R1, Scene};

    #[test]
    fn what_people_read_is_cut_to_what_an_event_may_hold() {
        let mut scene = Scene::healthy();
        let foreign: Vec<String> = (1..200).map(|number| (number * 2).to_string()).collect();
        scene.has(R1, "", &format!("A:1-100,C:{}", foreign.join(":")));
        let notes = scene.decide().notes;
        assert!(!notes.is_empty());
        for note in notes {
            assert!(note.text.len() <= LONGEST_NOTE, "{}", note.text.len());
        }
    }

    #[test]
    fn a_text_is_cut_between_two_characters() {
        let text = shortened("ü".repeat(LONGEST_NOTE));
        assert_eq!(text, format!("{}…", "ü".repeat(510)));
        assert_eq!(shortened("short".to_owned()), "short");
    }
}
