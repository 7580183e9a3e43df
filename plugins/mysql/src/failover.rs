//! The primary is lost: another takes its place, and no acknowledged commit is lost with it.
//!
//! Whoever is promoted must hold every commit that a client was told is done. Each of them is held by `waitCount`
//! voters. So once more than `voters - waitCount` of them receive nothing any more, no further commit can be
//! acknowledged, and one of those voters holds all that ever were.

use crate::decide::{Command, Decision, State, Target, Wish};
use crate::force;
use crate::gtid::GtidSet;
use crate::health::Loss;
use crate::observe::{PodView, Receiver, Server, ServerView, View};
use crate::status::{Intent, IntentKind, Primary, Record};
use crate::voters;

/// A replica is connected to a primary that it heard from within so many milliseconds.
const CONNECTED: u64 = 3_000;

/// A voter that answered.
#[derive(Clone, Copy)]
struct Candidate<'v> {
    pod: &'v PodView,
    server: &'v ServerView,
}

/// The primary was found lost. Decides on a failover where the fence is possible.
pub fn begin(
    wish: &Wish<'_>,
    view: &View,
    primary: &Primary,
    loss: &Loss,
    decision: &mut Decision,
) {
    let lost = format!("{} is lost: {}", primary.pod, loss.text());
    let since = view.now.saturating_sub(unwritable_for(view, primary));
    decision.record.missed_since.get_or_insert(since);
    if decision.record.lost.as_deref() != Some(loss.text()) {
        decision.record.lost = Some(loss.text().to_owned());
        decision.warn("PrimaryLost", lost.clone());
    }
    if is_fence_possible(view, &view.record) {
        decision.note(
            "FailoverStarted",
            format!("{lost}; its replicas are asked what they have"),
        );
        decision.state = State::Failed(lost.clone());
        let intent = Intent {
            kind: IntentKind::Failover,
            epoch: view.record.epoch + 1,
            why: lost,
            since: view.record.missed_since.unwrap_or(view.now),
            to: None,
            frozen: false,
        };
        fence(view, &intent, decision);
        decision.record.intent = Some(intent);
    } else if reopen(view, primary, decision) {
        decision.note(
            "PrimaryReturned",
            format!("{} returned with its data", primary.pod),
        );
    } else {
        decision.state = State::Lost(format!("{lost}; {}", way_out(wish, view)));
        let_in(view, primary, decision);
    }
}

/// For how long commits have been waiting for the disk of the primary, in milliseconds.
fn unwritable_for(view: &View, primary: &Primary) -> u64 {
    let server = view.of_primary(primary);
    server.map_or(0, |server| server.stuck_commit * 1000)
}

/// One that lets nobody in was left like that half-way through being shut: shut to the end, it answers.
pub fn let_in(view: &View, primary: &Primary, decision: &mut Decision) {
    let pod = view.pods.get(&primary.pod);
    if pod.is_some_and(|pod| pod.server == Server::Offline) {
        decision.order(Command::Shut(Target::unseen(&primary.pod)));
    }
}

/// A failover is under way: fence, choose, let the winner apply what it received, and commit.
pub fn proceed(wish: &Wish<'_>, view: &View, intent: &Intent, decision: &mut Decision) {
    decision.state = State::Failed(intent.why.clone());
    if let Some(pod) = &intent.to {
        return crown_forced(wish, view, intent, pod, decision);
    }
    fence(view, intent, decision);
    let fenced = fenced(view);
    if !is_enough(fenced.len(), &view.record) {
        return wait_or_abort(wish, view, intent, decision);
    }
    for candidate in fenced.iter().filter(|it| !it.server.is_drained()) {
        apply(*candidate, decision);
    }
    match winner(wish, view, &fenced) {
        None => {
            decision.state = State::Stuck(format!(
                "no replica has everything that the others have. {}",
                force::way_out(wish, view)
            ));
        }
        Some(winner) if winner.server.is_drained() => commit(intent, winner, &fenced, decision),
        Some(winner) => decision.state = applying(wish, view, intent, winner),
    }
}

/// Whoever takes over applies first what it received; one that cannot needs a person.
fn applying(wish: &Wish<'_>, view: &View, intent: &Intent, winner: Candidate<'_>) -> State {
    let (why, name, rest) = (&intent.why, &winner.pod.name, rest(winner.server));
    let channel = winner.server.channel.as_ref();
    match channel.and_then(|channel| channel.apply_error.as_ref()) {
        None => State::Failed(format!(
            "{why}; {name} applies {rest} transactions that it received"
        )),
        Some(trouble) => State::Stuck(format!(
            "{why}; {name} is to take its place, and cannot apply {rest} transactions that it received: {}. It goes on \
             when it can. {}",
            trouble.text,
            force::way_out(wish, view)
        )),
    }
}

/// Cuts off the voters. An old primary that still answers is shut first: a commit that waits there must end in an
/// error. One that ends by itself would answer waiting commits with OK once nobody is connected: it is waited for.
fn fence(view: &View, intent: &Intent, decision: &mut Decision) {
    let old = old_primary(view);
    if let Some(target) = open_primary(view) {
        decision.order(Command::Shut(target));
    } else if let Some(pod) = old.filter(|pod| pod.server == Server::Offline) {
        decision.order(Command::Shut(Target::unseen(&pod.name)));
    } else if old.is_some_and(|pod| pod.terminating && pod.running_since.is_some())
        && is_anybody_connected(view)
    {
        decision.state = State::Failed(format!("{}; it is still ending", intent.why));
        return;
    }
    let voters = view.record.voters.iter();
    for voter in voters {
        if let Some(server) = view.of_voter(voter).filter(|server| !server.is_cut_off()) {
            decision.order(Command::Cut(server.target(&voter.pod)));
        }
    }
}

fn old_primary(view: &View) -> Option<&PodView> {
    let primary = view.record.primary.as_ref()?;
    view.pods.get(&primary.pod)
}

/// The old primary, where it answers and its clients may yet be told that a commit is done.
fn open_primary(view: &View) -> Option<Target> {
    let pod = old_primary(view)?;
    let server = pod.answering()?;
    let is_open = !server.super_read_only || !server.is_shut();
    is_open.then(|| server.target(&pod.name))
}

fn is_anybody_connected(view: &View) -> bool {
    view.record
        .voters
        .iter()
        .filter_map(|voter| view.of_voter(voter))
        .any(|server| {
            server.channel.as_ref().is_some_and(|channel| {
                channel.receiver == Receiver::Connected
                    && channel.heard.is_some_and(|age| age <= CONNECTED)
            })
        })
}

/// The voters that answer with the data that they promised.
fn present(view: &View) -> usize {
    view.record
        .voters
        .iter()
        .filter(|voter| view.of_voter(voter).is_some())
        .count()
}

/// More than this number of voters must receive nothing any more.
fn is_enough(cut_off: usize, record: &Record) -> bool {
    let wait_count = record.wait_count.unwrap_or(0) as usize;
    cut_off > 0 && cut_off + wait_count > record.voters.len()
}

/// Whether enough voters answer.
#[must_use]
pub fn is_fence_possible(view: &View, record: &Record) -> bool {
    is_enough(present(view), record)
}

/// Voters that receive nothing any more. What they received is read in the same answer.
fn fenced(view: &View) -> Vec<Candidate<'_>> {
    let fenced = view.record.voters.iter().filter_map(|voter| {
        let server = view.of_voter(voter).filter(|server| server.is_cut_off())?;
        let pod = view.pods.get(&voter.pod)?;
        Some(Candidate { pod, server })
    });
    fenced.collect()
}

/// Too few voters answer by now. Before the commit point the old primary may go on.
fn wait_or_abort(wish: &Wish<'_>, view: &View, intent: &Intent, decision: &mut Decision) {
    if is_fence_possible(view, &view.record) {
        return;
    }
    if let Some(primary) = view.record.primary.as_ref()
        && reopen(view, primary, decision)
    {
        decision.record.intent = None;
        let text = format!(
            "{} returned with its data; the failover is called off",
            primary.pod
        );
        decision.note("FailoverAborted", text);
        return;
    }
    decision.state = State::Lost(format!("{}; {}", intent.why, way_out(wish, view)));
}

/// The old primary answers with the data that it had: it has every commit that was acknowledged.
fn reopen(view: &View, primary: &Primary, decision: &mut Decision) -> bool {
    let Some(pod) = view.pods.get(&primary.pod).filter(|pod| !pod.terminating) else {
        return false;
    };
    let whole = view.of_primary(primary);
    let Some(server) = whole.filter(|server| server.stuck_commit == 0) else {
        return false;
    };
    let epoch = view.record.epoch;
    let retiring = decision.record.retiring.clone();
    decision.crown(pod, server, epoch);
    decision.record.retiring = retiring;
    true
}

/// Starts what stopped; what stopped with an error is not drained by this alone.
fn apply(candidate: Candidate<'_>, decision: &mut Decision) {
    let stopped = candidate
        .server
        .channel
        .as_ref()
        .is_some_and(|channel| !channel.applying);
    if stopped {
        decision.order(Command::Apply(candidate.server.target(&candidate.pod.name)));
    }
}

fn rest(server: &ServerView) -> u64 {
    server.received().minus(&server.executed).count()
}

/// The voter that has everything that every fenced voter has. Of several: one that stays, whose applier runs, with
/// the least to apply, the first by number.
fn winner<'v>(wish: &Wish<'_>, view: &View, fenced: &[Candidate<'v>]) -> Option<Candidate<'v>> {
    let foreign = |pod: &str| {
        let known = view.record.errant.get(pod);
        known
            .and_then(|set| GtidSet::parse(set))
            .unwrap_or_default()
    };
    let everything = fenced.iter().fold(GtidSet::default(), |sum, it| {
        sum.and(&it.server.received().minus(&foreign(&it.pod.name)))
    });
    let eligible = fenced.iter().filter(|it| {
        it.server.received().contains(&everything) && !view.record.errant.contains_key(&it.pod.name)
    });
    let worth = |it: &&Candidate<'v>| {
        let channel = it.server.channel.as_ref();
        let broken = channel.is_some_and(|channel| channel.apply_error.is_some());
        let leaves = wish.leaves(&it.pod.name) || it.pod.terminating;
        (
            broken && !it.server.is_drained(),
            leaves,
            rest(it.server),
            wish.names.ordinal(&it.pod.name),
        )
    };
    eligible.min_by_key(worth).copied()
}

/// The commit point: after it the old primary is never primary again in this epoch.
fn commit(
    intent: &Intent,
    winner: Candidate<'_>,
    fenced: &[Candidate<'_>],
    decision: &mut Decision,
) {
    let others = fenced.iter().filter(|it| it.pod.name != winner.pod.name);
    let others: Vec<_> = others.map(|it| (it.pod, it.server)).collect();
    let wait_count = decision.record.wait_count.unwrap_or(0);
    decision.record.voters = voters::entitled(winner.server, &others, wait_count);
    decision.crown(winner.pod, winner.server, intent.epoch);
    let text = format!(
        "{} becomes the primary in epoch {}: {}",
        winner.pod.name, intent.epoch, intent.why
    );
    decision.note("PrimaryChosen", text);
}

/// A person chose. Whatever answers is fenced first; whoever else answers and has nothing more may acknowledge for the
/// chosen one.
fn crown_forced(
    wish: &Wish<'_>,
    view: &View,
    intent: &Intent,
    chosen: &str,
    decision: &mut Decision,
) {
    fence(view, intent, decision);
    let Some(candidate) = candidate(view, chosen) else {
        let why = &intent.why;
        let text = format!("{why}, which does not answer. It goes on when it does");
        decision.state = State::Stuck(format!("{text}. {}", force::way_out(wish, view)));
        return;
    };
    let fenced = fenced(view);
    if open_primary(view).is_some() || fenced.len() < present(view) {
        return;
    }
    if !candidate.server.is_cut_off() {
        return decision.order(Command::Cut(candidate.server.target(chosen)));
    }
    if !candidate.server.is_drained() {
        apply(candidate, decision);
        decision.state = applying(wish, view, intent, candidate);
        return;
    }
    decision.record.errant.remove(chosen);
    commit(intent, candidate, &fenced, decision);
}

fn candidate<'v>(view: &'v View, pod: &str) -> Option<Candidate<'v>> {
    let pod = view.pods.get(pod)?;
    let server = pod.staying()?;
    Some(Candidate { pod, server })
}

/// What would have to happen.
fn way_out(wish: &Wish<'_>, view: &View) -> String {
    let record = &view.record;
    let needed = record.voters.len() + 1 - record.wait_count.unwrap_or(0) as usize;
    let names: Vec<&str> = record
        .voters
        .iter()
        .map(|voter| voter.pod.as_str())
        .collect();
    let missing = match (record.voters.is_empty(), needed > record.voters.len()) {
        (true, _) => "it has no replica that may have every commit".to_owned(),
        (_, true) => {
            "commits were acknowledged without waiting for a replica, so none is sure to have them"
                .to_owned()
        }
        _ => format!(
            "to be sure of every commit {needed} of {} must answer, and {} do",
            names.join(", "),
            present(view)
        ),
    };
    format!(
        "{missing}. It goes on when they, or it, return with their data. {}",
        force::way_out(wish, view)
    )
}

#[cfg(test)]
mod tests;
