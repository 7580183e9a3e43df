//! Replicas that do not follow the primary: from the least to the most that may help.
//!
//! After a full restart every replica looks stopped; that is no damage, and starting it is all that it takes.
//! Nothing that a replica received is thrown away before the primary is known to have it.

use crate::decide::{Command, Decision, Following, Setup, State, Wish};
use crate::gtid::GtidSet;
use crate::observe::{Channel, CloneState, PodView, ServerView, Trouble, View};
use crate::serving;
use crate::status::{Discarded, Primary, Record, Repair, Rung};
use crate::version::are_cloneable;

/// What was done gets so long to help before the next thing is done, in milliseconds.
const HELPS: u64 = 6_000;
/// A replica that was well for so long is well again, in milliseconds.
const WELL: u64 = 10_000;
/// A copy that failed is tried again after so long, twice as long each time, in milliseconds.
const AGAIN: u64 = 15_000;
/// No login at the primary: wrong password, no such account, locked, expired.
const NO_LOGIN: [u32; 6] = [1045, 1130, 1862, 2061, 3118, 3878];
/// Of how many rebuilt instances status says what they had.
const TOLD: usize = 10;
/// The long action that makes a copy.
pub const COPY: &str = "clone";

/// Looks at every replica.
pub fn repair(
    wish: &Wish<'_>,
    view: &View,
    primary: &Primary,
    server: &ServerView,
    decision: &mut Decision,
) {
    let known: Vec<String> = decision.record.repairs.keys().cloned().collect();
    for pod in known.iter().filter(|pod| !view.pods.contains_key(*pod)) {
        decision.record.repairs.remove(pod);
    }
    for pod in view.others(&primary.pod) {
        let Some(replica) = pod.staying() else {
            continue;
        };
        let case = Case {
            wish,
            view,
            primary,
            primary_server: server,
            pod,
            replica,
        };
        case.look(decision);
    }
}

/// Whether this Pod's MySQL is to become a copy of another, or is becoming one.
#[must_use]
pub fn needs_copy(record: &Record, pod: &str) -> bool {
    record
        .repairs
        .get(pod)
        .is_some_and(|repair| repair.rung == Rung::Clone)
}

/// The Pod that is being made a copy, while commits could not be acknowledged before it is one.
#[must_use]
pub fn copy_to_wait_for<'v>(view: &'v View, record: &Record) -> Option<&'v str> {
    let is_copied = |pod: &&PodView| {
        let copies = pod
            .answering()
            .is_some_and(|server| server.clone == CloneState::InProgress);
        needs_copy(record, &pod.name) && (copies || view.running.contains(COPY))
    };
    let pod = view.pods.values().find(is_copied)?;
    has_too_few_voters(record).then_some(&pod.name)
}

fn has_too_few_voters(record: &Record) -> bool {
    record.voters.len() < record.wait_count.unwrap_or(0) as usize
}

/// One replica beside its primary.
struct Case<'a> {
    wish: &'a Wish<'a>,
    view: &'a View,
    primary: &'a Primary,
    primary_server: &'a ServerView,
    pod: &'a PodView,
    replica: &'a ServerView,
}

impl Case<'_> {
    fn name(&self) -> &str {
        &self.pod.name
    }

    fn look(&self, decision: &mut Decision) {
        if needs_copy(&decision.record, self.name()) {
            return self.copy(decision);
        }
        if !self.replica.super_read_only || !self.replica.is_shut() {
            return;
        }
        self.find_foreign(decision);
        if decision.record.errant.contains_key(self.name()) {
            return self.treat_foreign(decision);
        }
        // A voter on its way out was stopped on purpose.
        let retiring = decision.record.retiring.as_ref();
        if retiring.is_some_and(|retiring| retiring.pod == self.name()) {
            return;
        }
        match self.fault() {
            None => self.recover(decision),
            Some(Fault::Connecting) => {}
            Some(Fault::Foreigner) => self.point(decision),
            Some(Fault::Stopped) => self.start(decision),
            Some(Fault::Empty) => self.fill(decision),
            Some(Fault::Behind(why)) => self.plan_copy(decision, why),
            Some(Fault::NoLogin(trouble)) => self.make_accounts(decision, &trouble),
            Some(Fault::Broken(why)) => self.climb(decision, why),
        }
    }

    /// What is wrong with it.
    fn fault(&self) -> Option<Fault> {
        let host = self.wish.names.host(&self.primary.pod);
        // One that is connected gets what it lacks, though the primary was asked later and may have purged it by then.
        if self.replica.is_linked_to(&host) {
            return None;
        }
        let missing = self.primary_server.purged.minus(&self.replica.received());
        if !missing.is_empty() {
            let why = format!(
                "it lacks {} transactions that the primary's binary logs no longer hold",
                missing.count()
            );
            return Some(Fault::Behind(why));
        }
        let Some(channel) = self
            .replica
            .channel
            .as_ref()
            .filter(|channel| channel.host == host)
        else {
            return Some(self.fault_of_foreigner());
        };
        Some(fault_of(self.replica, channel))
    }

    /// One without any data would have to repeat the whole history.
    fn fault_of_foreigner(&self) -> Fault {
        let is_empty = self.replica.received().is_empty();
        match is_empty && !self.primary_server.executed.is_empty() && self.donor().is_some() {
            true => Fault::Empty,
            false => Fault::Foreigner,
        }
    }

    /// Transactions that the primary lacks. It was asked last, so whatever it had given is among its own.
    fn find_foreign(&self, decision: &mut Decision) {
        let foreign = self.replica.executed.minus(&self.primary_server.executed);
        let foreign = foreign.without_source(&self.primary_server.uuid);
        if foreign.is_empty() {
            let known = decision
                .record
                .errant
                .get(self.name())
                .and_then(|set| GtidSet::parse(set));
            // The primary got them, or the instance was rebuilt.
            if known.is_none_or(|known| self.primary_server.executed.contains(&known)) {
                decision.record.errant.remove(self.name());
            }
            return;
        }
        let text = foreign.to_string();
        if decision.record.errant.get(self.name()) != Some(&text) {
            let what = format!(
                "{} has transactions that {} lacks: {text}",
                self.name(),
                self.primary.pod
            );
            decision.warn("ErrantTransactions", what);
            decision.record.errant.insert(self.name().to_owned(), text);
        }
    }

    fn treat_foreign(&self, decision: &mut Decision) {
        let foreign = decision
            .record
            .errant
            .get(self.name())
            .cloned()
            .unwrap_or_default();
        let why = format!("it has transactions that the primary lacks: {foreign}");
        match self.wish.rebuilds() {
            true => self.plan_copy(decision, why),
            false => decision.wait_for(format!(
                "{}: {why}. By spec.errantPolicy it is left to a person: add them to the primary, or delete the \
                 volume and the Pod",
                self.name()
            )),
        }
    }

    /// It follows. What was done about it is forgotten once it has been well for a while.
    fn recover(&self, decision: &mut Decision) {
        let well = |repair: &Repair| self.view.now >= repair.since + WELL;
        if decision.record.repairs.get(self.name()).is_some_and(well) {
            decision.record.repairs.remove(self.name());
            decision.note(
                "ReplicaRepaired",
                format!("{} follows {} again", self.name(), self.primary.pod),
            );
        }
    }

    /// It follows nobody, or somebody else.
    fn point(&self, decision: &mut Decision) {
        if !self.is_contained() {
            return self.apply_first(decision);
        }
        self.follow(decision, Setup::Point);
    }

    /// The primary lacks something that it only received: it is applied first, and looked at then.
    fn apply_first(&self, decision: &mut Decision) {
        let channel = self.replica.channel.as_ref();
        if let Some(trouble) = channel.and_then(|channel| channel.apply_error.as_ref()) {
            let foreign = self.replica.received().minus(&self.primary_server.executed);
            decision
                .record
                .errant
                .insert(self.name().to_owned(), foreign.to_string());
            decision.warn(
                "ErrantTransactions",
                format!(
                    "{} received {foreign}, which the primary lacks, and cannot apply it: {}",
                    self.name(),
                    trouble.text
                ),
            );
            return;
        }
        decision.wait_for(format!(
            "{} to apply what it received and the primary lacks",
            self.name()
        ));
        if self
            .replica
            .channel
            .as_ref()
            .is_some_and(|channel| !channel.applying)
        {
            decision.order(Command::Apply(self.replica.target(self.name())));
        }
    }

    fn is_contained(&self) -> bool {
        self.primary_server
            .executed
            .contains(&self.replica.received())
    }

    fn start(&self, decision: &mut Decision) {
        let text = format!(
            "the replication of {} was stopped; it is started",
            self.name()
        );
        decision.note("ReplicationStarted", text);
        self.follow(decision, Setup::Start);
    }

    fn follow(&self, decision: &mut Decision, setup: Setup) {
        let following = Following {
            primary: self.primary.pod.clone(),
            acknowledges: decision.is_voter(self.name(), &self.replica.uuid),
            setup,
        };
        decision.order(Command::Follow(self.replica.target(self.name()), following));
    }

    /// Start, then set up anew, then copy; each gets time to help.
    fn climb(&self, decision: &mut Decision, why: String) {
        let last = decision.record.repairs.get(self.name()).cloned();
        decision.wait_for(format!("{} to follow again: {why}", self.name()));
        if last
            .as_ref()
            .is_some_and(|repair| self.view.now < repair.since + HELPS)
        {
            return;
        }
        match last.map(|repair| repair.rung) {
            None => {
                self.climb_to(decision, Rung::Start, why);
                self.follow(decision, Setup::Start);
            }
            Some(Rung::Start) if self.is_contained() => {
                self.climb_to(decision, Rung::Reset, why);
                self.follow(decision, Setup::Anew);
            }
            Some(Rung::Start) => self.apply_first(decision),
            Some(Rung::Reset | Rung::Clone) => self.plan_copy(decision, why),
        }
    }

    fn climb_to(&self, decision: &mut Decision, rung: Rung, why: String) {
        let done = match rung {
            Rung::Start => "its replication is started again",
            Rung::Reset => "its replication is set up anew",
            Rung::Clone => "it is rebuilt as a copy of another instance",
        };
        let text = format!(
            "{} does not follow {}: {why}; {done}",
            self.name(),
            self.primary.pod
        );
        decision.warn("ReplicaBroken", text);
        self.remember(decision, rung, why, 0);
    }

    fn remember(&self, decision: &mut Decision, rung: Rung, why: String, times: u32) {
        let repair = Repair {
            rung,
            since: self.view.now,
            why,
            times,
        };
        decision
            .record
            .repairs
            .insert(self.name().to_owned(), repair);
    }

    /// Nobody lets it in: the account is made again on the primary.
    fn make_accounts(&self, decision: &mut Decision, trouble: &Trouble) {
        let why = format!("the primary does not let it in ({})", trouble.code);
        decision.wait_for(format!("{} to follow again: {why}", self.name()));
        let known = decision.record.repairs.get(self.name());
        if known.is_some_and(|repair| self.view.now < repair.since + HELPS) {
            return;
        }
        let text = format!(
            "{} does not follow: {why}; the operator's accounts are made again",
            self.name()
        );
        decision.warn("ReplicaBroken", text);
        self.remember(decision, Rung::Start, why, 0);
        decision.order(Command::MakeAccounts(
            self.primary_server.target(&self.primary.pod),
        ));
        self.follow(decision, Setup::Start);
    }

    /// A new one, or one whose volume is new. That is no damage.
    fn fill(&self, decision: &mut Decision) {
        let why = "it has no data".to_owned();
        decision.wait_for(format!("{} to become a copy: {why}", self.name()));
        let text = format!(
            "{} has no data: it becomes a copy of another instance",
            self.name()
        );
        decision.note("ReplicaEmpty", text);
        self.remember(decision, Rung::Clone, why, 0);
    }

    /// Decides on a copy: it is made once the record says so and the instance is no voter any more.
    fn plan_copy(&self, decision: &mut Decision, why: String) {
        decision.wait_for(format!("{} to be rebuilt: {why}", self.name()));
        self.climb_to(decision, Rung::Clone, why);
    }

    /// A copy is to be made, is being made, or was made.
    fn copy(&self, decision: &mut Decision) {
        let Some(repair) = decision.record.repairs.get(self.name()).cloned() else {
            return;
        };
        decision.state =
            State::Cloning(format!("{} is being rebuilt: {}", self.name(), repair.why));
        let is_restarted = self.replica.started > repair.since;
        let is_running =
            self.view.running.contains(COPY) || self.replica.clone == CloneState::InProgress;
        let was_asked = repair.times > 0;
        if was_asked && is_restarted && !is_running {
            return self.copied(decision, &repair);
        }
        if let Some(why) = self.view.failed.get(&format!("clone/{}", self.name())) {
            decision.warn(
                "RebuildFailed",
                format!("{} could not be rebuilt: {why}", self.name()),
            );
        }
        let is_voter = decision
            .record
            .voters
            .iter()
            .any(|voter| voter.pod == self.name());
        if is_running {
            self.unblock(decision);
        }
        let is_due = !was_asked || self.view.now >= repair.since + pause(repair.times);
        if is_voter || is_running || is_ordered(decision) || !is_due {
            return;
        }
        self.begin_copy(decision, &repair);
    }

    fn begin_copy(&self, decision: &mut Decision, repair: &Repair) {
        let Some(donor) = self.donor() else {
            return decision.wait_for(format!(
                "{} to be rebuilt: there is no instance of its version to copy",
                self.name()
            ));
        };
        decision.note(
            "RebuildStarted",
            format!("{} becomes a copy of {donor}", self.name()),
        );
        self.remember(decision, Rung::Clone, repair.why.clone(), repair.times + 1);
        self.unblock(decision);
        decision.order(Command::Clone(self.replica.target(self.name()), donor));
    }

    /// A commit that waits for an acknowledgement holds up a copy of its server. Where nobody can give one before the
    /// copy is made, the primary takes no writes until then: commits that wait end in an error.
    fn unblock(&self, decision: &mut Decision) {
        let is_donor = self.donor().is_some_and(|donor| donor == self.primary.pod);
        if is_donor && has_too_few_voters(&decision.record) {
            let target = self.primary_server.target(&self.primary.pod);
            decision.order(Command::Shut(target));
        }
    }

    /// The server was restarted around the copy: it follows what its donor followed, and is set up anew.
    fn copied(&self, decision: &mut Decision, repair: &Repair) {
        decision.note(
            "Rebuilt",
            format!(
                "{} is a copy by now, and follows {}",
                self.name(),
                self.primary.pod
            ),
        );
        self.remember(decision, Rung::Reset, repair.why.clone(), repair.times);
        self.note_discarded(decision);
        self.follow(decision, Setup::Anew);
    }

    /// What it alone had is no longer anywhere: which transactions that were stays in status.
    fn note_discarded(&self, decision: &mut Decision) {
        let Some(gtid_set) = decision.record.errant.remove(self.name()) else {
            return;
        };
        let discarded = Discarded {
            pod: self.name().to_owned(),
            gtid_set,
            at: self.view.now,
        };
        decision.record.discarded.insert(0, discarded);
        decision.record.discarded.truncate(TOLD);
    }

    /// A replica where there is one that has all that this one has, but for what is foreign; else the primary.
    fn donor(&self) -> Option<String> {
        let foreign = self.view.record.errant.get(self.name());
        let foreign = foreign
            .and_then(|set| GtidSet::parse(set))
            .unwrap_or_default();
        let needed = self.replica.executed.minus(&foreign);
        let fits = |server: &ServerView| {
            are_cloneable(&server.version, &self.replica.version)
                && server.executed.contains(&needed)
        };
        let replicas = self.view.others(&self.primary.pod).filter(|pod| {
            pod.name != self.name()
                && !self.view.record.errant.contains_key(&pod.name)
                && serving::is_close(self.wish, &self.primary.pod, self.primary_server, pod)
                && pod.staying().is_some_and(fits)
        });
        let replica = replicas.map(|pod| pod.name.clone()).next();
        replica.or_else(|| fits(self.primary_server).then(|| self.primary.pod.clone()))
    }
}

/// What may be wrong with a replica.
enum Fault {
    /// It follows nobody, or somebody else.
    Foreigner,
    /// It was stopped, and nothing is wrong.
    Stopped,
    /// It tries to connect, and is left to it.
    Connecting,
    /// It has no data, and the primary has some.
    Empty,
    /// What it lacks can no longer be had from binary logs.
    Behind(String),
    /// The primary does not let it in.
    NoLogin(Trouble),
    /// Anything else.
    Broken(String),
}

/// A replica that points at the primary and is not linked.
fn fault_of(replica: &ServerView, channel: &Channel) -> Fault {
    let text = |trouble: &Trouble| format!("{} ({})", trouble.text, trouble.code);
    if let Some(trouble) = &channel.apply_error {
        return Fault::Broken(text(trouble));
    }
    match &channel.receive_error {
        Some(trouble) if NO_LOGIN.contains(&trouble.code) => Fault::NoLogin(trouble.clone()),
        Some(trouble) if replica.is_cut_off() => Fault::Broken(text(trouble)),
        _ if replica.is_cut_off() || !channel.applying => Fault::Stopped,
        _ => Fault::Connecting,
    }
}

/// One rebuild at a time: the next one's turn comes when this one is done.
fn is_ordered(decision: &Decision) -> bool {
    let mut commands = decision.commands.iter();
    commands.any(|command| matches!(command, Command::Clone(..)))
}

fn pause(times: u32) -> u64 {
    AGAIN << times.min(6)
}

#[cfg(test)]
mod tests;
