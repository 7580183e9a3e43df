//! Who may acknowledge, and how many must.
//!
//! Two things hold at any moment, whatever the host does or fails to do: whoever can acknowledge a commit is on
//! record as a voter, and the primary waits for at least as many acknowledgements as the record says. So a voter is
//! recorded before it is told to acknowledge, and told to stop before it is struck off; the count is recorded before
//! it is lowered on the primary, and raised there before it is recorded.
//!
//! What a failover relies on follows from them: of any `voters - waitCount + 1` voters one has every acknowledged
//! commit. Whatever makes that number smaller first waits until the voters have what was acknowledged before.

use crate::decide::{Command, Decision, Wish};
use crate::gtid::GtidSet;
use crate::observe::{PodView, Receiver, ServerView, View};
use crate::repair;
use crate::serving;
use crate::spec::Durability;
use crate::status::{Primary, Retiring, Voter};

/// With `durability: Available`, writes wait so long for voters, in milliseconds.
const PATIENCE: u64 = 60_000;
/// Shorter waits for voters are not worth a word, in milliseconds.
const HICCUP: u64 = 5_000;
/// An acknowledgement on its way has arrived after so long, in milliseconds.
const ARRIVED: u64 = 1_000;

/// Who may acknowledge for a primary that has just been chosen. Too few of them have everything that it has: only
/// those, and the others once they have caught up.
#[must_use]
pub fn entitled(
    primary: &ServerView,
    others: &[(&PodView, &ServerView)],
    wait_count: u32,
) -> Vec<Voter> {
    let everything = primary.received();
    let has_everything = |server: &ServerView| server.received().contains(&everything);
    let whole = others
        .iter()
        .filter(|(_, server)| has_everything(server))
        .count();
    let enough = whole >= wait_count as usize;
    let contained = others
        .iter()
        .filter(|(_, server)| everything.contains(&server.received()));
    let mut voters: Vec<Voter> = contained
        .filter(|(_, server)| enough || has_everything(server))
        .map(|(pod, server)| voter(pod, server))
        .collect();
    voters.sort();
    voters
}

fn voter(pod: &PodView, server: &ServerView) -> Voter {
    Voter {
        pod: pod.name.clone(),
        uid: pod.uid.clone(),
        uuid: server.uuid.clone(),
    }
}

/// Keeps voters and count.
pub fn keep(
    wish: &Wish<'_>,
    view: &View,
    primary: &Primary,
    server: &ServerView,
    decision: &mut Decision,
) {
    recognise(view, decision);
    join(wish, view, primary, server, decision);
    retire(wish, view, server, decision);
    remind(wish, view, primary, decision);
    count(wish, view, primary, server, decision);
    tell_blocked(wish, view, server, decision);
}

/// A voter whose Pod was made anew around the same data stays one.
fn recognise(view: &View, decision: &mut Decision) {
    for voter in &mut decision.record.voters {
        let pod = view.pods.get(&voter.pod).filter(|pod| !pod.terminating);
        if let Some(pod) = pod.filter(|_| view.of_voter(voter).is_some()) {
            voter.uid.clone_from(&pod.uid);
        }
    }
}

/// One joins when it has caught up and has nothing foreign. It is on record before it is told.
fn join(
    wish: &Wish<'_>,
    view: &View,
    primary: &Primary,
    server: &ServerView,
    decision: &mut Decision,
) {
    for pod in view.others(&primary.pod) {
        let Some(replica) = pod.staying() else {
            continue;
        };
        // With fewer voters than the count nothing is acknowledged: all that was, the newcomer must have.
        let too_few = (decision.record.voters.len() as u64)
            < u64::from(decision.record.wait_count.unwrap_or(0));
        let caught_up = !too_few || replica.received().contains(&server.executed);
        let close = caught_up && serving::is_close(wish, &primary.pod, server, pod);
        let listed = decision
            .record
            .voters
            .iter()
            .any(|voter| voter.pod == pod.name);
        let broken = decision.record.errant.contains_key(&pod.name)
            || repair::needs_copy(&decision.record, &pod.name);
        if close && !listed && !broken && !wish.leaves(&pod.name) && replica.super_read_only {
            decision.record.voters.push(voter(pod, replica));
            decision.record.voters.sort();
            decision.order(Command::Acknowledge(replica.target(&pod.name)));
        }
    }
}

/// One leaves only when it can no longer acknowledge and every remaining voter holds what the primary had then:
/// what the leaving one alone acknowledged is among it.
fn retire(wish: &Wish<'_>, view: &View, primary: &ServerView, decision: &mut Decision) {
    let Some(retiring) = decision
        .record
        .retiring
        .clone()
        .or_else(|| first_to_retire(wish, view, decision))
    else {
        return;
    };
    let voter = decision
        .record
        .voters
        .iter()
        .find(|voter| voter.pod == retiring.pod)
        .cloned();
    let Some(voter) = voter.filter(|voter| reason(wish, view, voter, decision).is_some()) else {
        decision.record.retiring = None;
        return;
    };
    decision.wait_for(format!(
        "{} to stop being a voter: {}",
        retiring.pod, retiring.why
    ));
    if can_acknowledge(view, &voter) {
        if let Some(server) = view.of_voter(&voter) {
            decision.order(Command::Dismiss(server.target(&voter.pod)));
        }
        decision.record.retiring = Some(Retiring {
            cut_off: None,
            mark: None,
            ..retiring
        });
        return;
    }
    let cut_off = retiring.cut_off.unwrap_or(view.now);
    if view.now < cut_off + ARRIVED {
        decision.record.retiring = Some(Retiring {
            cut_off: Some(cut_off),
            ..retiring
        });
        return;
    }
    // What the primary has by now includes all that the voter acknowledged.
    let mark = retiring
        .mark
        .clone()
        .unwrap_or_else(|| primary.executed.to_string());
    let remaining = decision
        .record
        .voters
        .iter()
        .filter(|other| other.pod != voter.pod);
    if all_have(view, remaining, &mark) {
        decision
            .record
            .voters
            .retain(|other| other.pod != voter.pod);
        decision.record.retiring = None;
    } else {
        decision.record.retiring = Some(Retiring {
            mark: Some(mark),
            ..retiring
        });
    }
}

fn all_have<'v>(view: &View, mut voters: impl Iterator<Item = &'v Voter>, mark: &str) -> bool {
    let has = |server: &ServerView, mark: &GtidSet| server.received().contains(mark);
    GtidSet::parse(mark).is_some_and(|mark| {
        voters.all(|voter| {
            view.of_voter(voter)
                .is_some_and(|server| has(server, &mark))
        })
    })
}

fn first_to_retire(wish: &Wish<'_>, view: &View, decision: &Decision) -> Option<Retiring> {
    // Of those that leave with a scale-in, the last by number goes first.
    decision.record.voters.iter().rev().find_map(|voter| {
        let why = reason(wish, view, voter, decision)?;
        Some(Retiring {
            pod: voter.pod.clone(),
            why,
            cut_off: None,
            mark: None,
        })
    })
}

/// Why a voter is to be one no longer.
fn reason(wish: &Wish<'_>, view: &View, voter: &Voter, decision: &Decision) -> Option<String> {
    if wish.leaves(&voter.pod) {
        return Some("it leaves with the scale-in".to_owned());
    }
    if decision.record.errant.contains_key(&voter.pod) {
        return Some("it has transactions that the primary lacks".to_owned());
    }
    if repair::needs_copy(&decision.record, &voter.pod) {
        return Some("it is to be rebuilt".to_owned());
    }
    let pod = view.pods.get(&voter.pod);
    match pod {
        None => Some("its Pod is gone".to_owned()),
        Some(pod)
            if pod
                .answering()
                .is_some_and(|server| server.uuid != voter.uuid) =>
        {
            Some("its data is gone".to_owned())
        }
        Some(pod) if pod.uid != voter.uid && pod.answering().is_none() => {
            Some("its Pod was replaced and does not answer yet".to_owned())
        }
        Some(_) => None,
    }
}

/// Whether this voter may acknowledge, or begin to: until it is seen cut off and told not to, or its Pod is gone.
fn can_acknowledge(view: &View, voter: &Voter) -> bool {
    let Some(pod) = view.pods.get(&voter.pod).filter(|pod| pod.uid == voter.uid) else {
        return view
            .of_voter(voter)
            .is_some_and(|server| server.acknowledges);
    };
    match pod.answering() {
        Some(server) if server.uuid != voter.uuid => false,
        Some(server) => server.acknowledges || !server.is_cut_off(),
        None => true,
    }
}

/// A voter that follows but was not told to acknowledge, or forgot it in a restart.
fn remind(wish: &Wish<'_>, view: &View, primary: &Primary, decision: &mut Decision) {
    let host = wish.names.host(&primary.pod);
    let retiring = decision
        .record
        .retiring
        .as_ref()
        .map(|retiring| retiring.pod.clone());
    let voters = decision.record.voters.clone();
    for voter in voters
        .iter()
        .filter(|voter| Some(&voter.pod) != retiring.as_ref())
    {
        let server = view.of_voter(voter);
        let silent = server.filter(|server| server.is_linked_to(&host) && !server.acknowledges);
        if let Some(server) = silent {
            decision.order(Command::Acknowledge(server.target(&voter.pod)));
        }
    }
    // And one that is none must not.
    for pod in view.others(&primary.pod) {
        let listed = voters.iter().any(|voter| voter.pod == pod.name);
        if let Some(server) = pod.staying().filter(|it| it.acknowledges && !listed) {
            decision.order(Command::Dismiss(server.target(&pod.name)));
        }
    }
}

/// Recorded before it is lowered on the primary, raised on the primary before it is recorded.
fn count(
    wish: &Wish<'_>,
    view: &View,
    primary: &Primary,
    server: &ServerView,
    decision: &mut Decision,
) {
    let wanted = wish.wait_count();
    let recorded = decision.record.wait_count.unwrap_or(0);
    let target = server.target(&primary.pod);
    if wanted < recorded {
        decision.record.wait_count = Some(wanted);
        decision.order(Command::Wait(target, wanted));
        return;
    }
    let ready = acknowledging(view, decision);
    if wanted > recorded && ready >= wanted {
        decision.wait_for(format!("commits to wait for {wanted} acknowledgements"));
        match server.wait_count >= wanted {
            true => raise(view, server, wanted, decision),
            false => decision.order(Command::Wait(target, wanted)),
        }
        return;
    }
    decision.record.raising = None;
    if server.wait_count != recorded {
        decision.order(Command::Wait(target, recorded));
    } else if wanted > recorded {
        decision.wait_for(format!("{wanted} voters, to have commits wait for them"));
    }
}

/// The primary waits for more by now. The count is recorded once every voter has what it had then.
fn raise(view: &View, server: &ServerView, wanted: u32, decision: &mut Decision) {
    let mark = decision
        .record
        .raising
        .take()
        .unwrap_or_else(|| server.executed.to_string());
    match all_have(view, decision.record.voters.iter(), &mark) {
        true => decision.record.wait_count = Some(wanted),
        false => decision.record.raising = Some(mark),
    }
}

/// Voters that are connected and told to acknowledge.
fn acknowledging(view: &View, decision: &Decision) -> u32 {
    let voters = decision.record.voters.iter();
    let ready = voters.filter(|voter| {
        view.of_voter(voter)
            .is_some_and(|server| server.acknowledges && !server.is_cut_off())
    });
    u32::try_from(ready.count()).unwrap_or(0)
}

/// How many can acknowledge. The primary counts those whose connection it has not given up, for a quarter of an hour
/// after a cut; of those that say themselves that they are not connected it is known better.
fn able(view: &View, server: &ServerView, decision: &Decision) -> u32 {
    let voters = decision.record.voters.iter();
    let apart = voters.filter(|voter| {
        let channel = view.of_voter(voter).and_then(|it| it.channel.as_ref());
        channel.is_some_and(|channel| channel.receiver != Receiver::Connected)
    });
    let others = decision.record.voters.len() - apart.count();
    server
        .acknowledging
        .min(u32::try_from(others).unwrap_or(u32::MAX))
}

/// Fewer voters than the count: writes wait, and people are told.
fn tell_blocked(wish: &Wish<'_>, view: &View, server: &ServerView, decision: &mut Decision) {
    let needed = decision.record.wait_count.unwrap_or(0);
    let able = able(view, server, decision);
    if able >= needed {
        decision.record.blocked_since = None;
        return;
    }
    let since = *decision.record.blocked_since.get_or_insert(view.now);
    let why =
        format!("a commit waits for {needed} acknowledgements, and {able} replicas can give one");
    if wish.spec.durability == Durability::Available && view.now >= since + PATIENCE {
        decision.record.wait_count = Some(0);
        decision.record.blocked_since = None;
        decision.warn(
            "WritesUnprotected",
            format!("{why}: by spec.durability writes go on without; until replicas are back there is no failover"),
        );
        return;
    }
    if view.now >= since + HICCUP {
        decision.blocked = Some(why);
    }
}

impl Decision {
    /// Whether a data directory counts as a voter by this decision.
    #[must_use]
    pub fn is_voter(&self, pod: &str, uuid: &str) -> bool {
        let retiring = self
            .record
            .retiring
            .as_ref()
            .is_some_and(|it| it.pod == pod);
        let listed = self
            .record
            .voters
            .iter()
            .any(|voter| voter.pod == pod && voter.uuid == uuid);
        listed && !retiring
    }
}

#[cfg(test)]
mod tests;
