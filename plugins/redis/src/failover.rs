//! Unplanned failover: when the primary counts as lost, and who follows it.

use std::cmp::Reverse;

use crate::decide::{Command, Decision, State, Wish};
use crate::names::FORCE_PRIMARY;
use crate::observe::{PodView, Server, ServerView, View};
use crate::status::{Member, Primary};

/// Shorter silence never counts, in milliseconds.
const SILENCE: u64 = 6_000;
/// So long this host itself must have missed the primary: three looks, two seconds apart.
const LOOKS: u64 = 4_000;
/// A note of a silence that is older than this host's own by more is void: nobody looked in between.
const VOID: u64 = 30_000;
/// A replica that heard from the primary within so many seconds is a witness that it lives.
const WITNESS: u64 = 2;
/// So long replicas in sync that do not answer are waited for before the old primary is reopened.
const REPLICAS: u64 = 10_000;
/// So long the old primary is waited for before another takes its place without proof of being up to date.
const PRIMARY: u64 = 60_000;

/// How the recorded primary stands.
#[derive(Debug, PartialEq)]
pub enum Health<'v> {
    /// It takes writes.
    Serving(&'v ServerView),
    /// It runs, but as a replica.
    Idle(&'v ServerView),
    /// It does not answer, and may yet live.
    Doubtful(String),
    /// It is certain that it is lost.
    Lost(Loss),
}

/// Why the primary is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// Its Pod is gone.
    Gone,
    /// Its Pod is being deleted.
    Terminating,
    /// Another Pod has its name.
    Replaced,
    /// Its Redis was restarted, and may have lost what it had.
    Restarted,
    /// It has been silent for too long, and no replica hears from it.
    Silent,
}

impl Loss {
    fn text(self) -> &'static str {
        match self {
            Self::Gone => "its Pod is gone",
            Self::Terminating => "its Pod is being deleted",
            Self::Replaced => "its Pod was replaced",
            Self::Restarted => "its Redis was restarted",
            Self::Silent => "it does not answer and no replica hears from it",
        }
    }
}

/// How the recorded primary stands.
#[must_use]
pub fn health<'v>(wish: &Wish<'_>, view: &'v View, primary: &Primary) -> Health<'v> {
    let Some(pod) = view.pods.get(&primary.pod) else {
        return Health::Lost(Loss::Gone);
    };
    if pod.uid != primary.uid {
        return Health::Lost(Loss::Replaced);
    }
    if pod.terminating {
        return Health::Lost(Loss::Terminating);
    }
    match &pod.server {
        Server::Answers(server) if server.run_id != primary.run_id => Health::Lost(Loss::Restarted),
        Server::Answers(server) if server.is_primary() => Health::Serving(server),
        Server::Answers(server) => Health::Idle(server),
        Server::Silent(since) => silence(wish, view, primary, pod, *since),
        Server::Unasked => silence(wish, view, primary, pod, missed_since(view, primary)),
    }
}

/// Since when the primary is missed: as noted, unless nobody looked for long after the note.
#[must_use]
pub fn missed_since(view: &View, primary: &Primary) -> u64 {
    let noted = view.record.missed_since.filter(|noted| {
        match view.pods.get(&primary.pod).map(|pod| &pod.server) {
            Some(Server::Silent(since)) => *since <= noted + VOID,
            _ => true,
        }
    });
    noted.unwrap_or(view.now)
}

/// Three misses over at least six seconds, and no witness.
fn silence<'v>(
    wish: &Wish<'_>,
    view: &View,
    primary: &Primary,
    pod: &PodView,
    since: u64,
) -> Health<'v> {
    let hears = |other: &&PodView| {
        let server = other.staying();
        pod.ip.as_deref().is_some_and(|ip| server.is_some_and(|it| it.hears(ip, WITNESS)))
    };
    if let Some(witness) = view.others(&primary.pod).find(hears) {
        return Health::Doubtful(format!(
            "{} does not answer the operator, but {} hears from it",
            primary.pod, witness.name
        ));
    }
    let noted = missed_since(view, primary);
    if view.now >= noted + patience(wish) && view.now >= since + LOOKS {
        return Health::Lost(Loss::Silent);
    }
    Health::Doubtful(format!("{} does not answer", primary.pod))
}

/// The silence after which a primary counts as lost, in milliseconds.
fn patience(wish: &Wish<'_>) -> u64 {
    let asked = wish.spec.sentinel.as_ref().and_then(|sentinel| sentinel.down_after_milliseconds);
    asked.and_then(|asked| u64::try_from(asked).ok()).unwrap_or(0).max(SILENCE)
}

/// Promotes the best replica in sync; without one, waits for the old primary, then for any that has data.
pub fn fail_over(
    wish: &Wish<'_>,
    view: &View,
    primary: &Primary,
    loss: Loss,
    decision: &mut Decision,
) {
    if let Some((pod, server)) = best(wish, view, primary) {
        promote(view, primary, loss, (pod, server), decision);
        return;
    }
    let missed = missed_since(view, primary);
    decision.record.missed_since = Some(missed);
    let waited = view.now.saturating_sub(missed);
    if let Some((pod, server)) = forced(view) {
        decision.record.forced = view.force.clone();
        reopen(view, pod, server, "a person asked for it", decision);
    } else if let Some((pod, server)) = old_primary(view, primary, waited) {
        reopen(view, pod, server, "it is the last known primary", decision);
    } else if let Some((pod, server)) = any_in_sync(view, waited) {
        reopen(view, pod, server, "the last primary did not return in 60 s", decision);
    } else {
        decision.state = stranded(primary, loss, waited);
    }
}

/// Replicas that may be promoted: recorded as in sync, not restarted since, whole, and of the primary's history.
fn candidates<'v>(
    wish: &Wish<'_>,
    view: &'v View,
    primary: &Primary,
) -> Vec<(&'v PodView, &'v ServerView)> {
    let members = view.record.in_sync.iter().filter(|member| !wish.leaves(&member.pod));
    let runs = members.filter_map(|member| {
        let pod = view.pods.get(&member.pod)?;
        let server = pod.staying().filter(|server| server.run_id == member.run_id)?;
        let history = server.replid == primary.replid || server.replid2 == primary.replid;
        let fit = history && server.is_whole() && !server.is_primary() && server.priority > 0;
        fit.then_some((pod, server))
    });
    runs.filter(|(pod, _)| pod.name != primary.pod).collect()
}

/// The best of them: by history, priority, how much of the history it has, and run id.
fn best<'v>(
    wish: &Wish<'_>,
    view: &'v View,
    primary: &Primary,
) -> Option<(&'v PodView, &'v ServerView)> {
    candidates(wish, view, primary).into_iter().min_by_key(|(_, server)| {
        let older = server.replid2 != primary.replid;
        (older, server.priority, Reverse(server.offset), server.run_id.clone())
    })
}

/// Records the new primary; what is in sync with the old history stays in sync with it, and guards its writes.
fn promote(
    view: &View,
    primary: &Primary,
    loss: Loss,
    (pod, server): (&PodView, &ServerView),
    decision: &mut Decision,
) {
    decision.warn("PrimaryLost", format!("{} is lost: {}", primary.pod, loss.text()));
    let others = view.record.in_sync.iter().filter(|member| {
        let run = view.pods.get(&member.pod).and_then(PodView::staying);
        member.pod != pod.name && run.is_some_and(|run| run.run_id == member.run_id)
    });
    let in_sync: Vec<Member> = others.cloned().collect();
    if matches!(loss, Loss::Silent | Loss::Terminating) {
        decision.commands.push(Command::Fence(primary.pod.clone()));
    }
    let guarded = u8::from(!in_sync.is_empty());
    decision.crown(view, pod, server, in_sync);
    if let Some(record) = &mut decision.record.primary {
        record.replid.clone_from(&primary.replid);
    }
    decision.commands.push(Command::Open(server.target(&pod.name), guarded));
    follow(view, &primary.pod, loss, pod, decision);
    decision.note(
        "FailoverStarted",
        format!("promoting {}, which has {} bytes of history", pod.name, server.offset),
    );
    decision.state = State::Opening;
}

/// Points everybody else at the new primary, at the same time; a fenced Pod is not worth the wait.
fn follow(view: &View, old: &str, loss: Loss, new: &PodView, decision: &mut Decision) {
    let Some(ip) = &new.ip else { return };
    for other in view.others(&new.name).filter(|other| other.name != old || loss == Loss::Restarted) {
        if let Some(server) = other.staying().filter(|server| !server.loading) {
            decision.commands.push(Command::Follow(server.target(&other.name), ip.clone()));
        }
    }
}

/// Makes a Pod the primary that was restarted: nobody is in sync with it.
pub fn reopen(
    view: &View,
    pod: &PodView,
    server: &ServerView,
    why: &str,
    decision: &mut Decision,
) {
    decision.crown(view, pod, server, Vec::new());
    decision.commands.push(Command::Open(server.target(&pod.name), 0));
    decision.note("PrimaryReopened", format!("opening {} as primary: {why}", pod.name));
    decision.state = State::Opening;
}

/// The Pod that a person named, once for each time that the annotation is set.
pub fn forced(view: &View) -> Option<(&PodView, &ServerView)> {
    let name = view.force.as_ref().filter(|name| view.record.forced.as_ref() != Some(*name))?;
    let pod = view.pods.get(name)?;
    pod.staying().filter(|server| server.is_whole()).map(|server| (pod, server))
}

/// The old primary after a restart, if it still has its data and no replica in sync may yet answer.
fn old_primary<'v>(
    view: &'v View,
    primary: &Primary,
    waited: u64,
) -> Option<(&'v PodView, &'v ServerView)> {
    if waited < REPLICAS && replicas_may_answer(view, primary) {
        return None;
    }
    let pod = view.pods.get(&primary.pod)?;
    let server = pod.staying().filter(|server| server.is_whole())?;
    (!is_emptied(view, &pod.name, server)).then_some((pod, server))
}

/// Whether a replica in sync runs but did not answer this time.
fn replicas_may_answer(view: &View, primary: &Primary) -> bool {
    let members = view.record.in_sync.iter().filter(|member| member.pod != primary.pod);
    let mut pods = members.filter_map(|member| view.pods.get(&member.pod));
    pods.any(|pod| !pod.terminating && pod.running_since.is_some() && pod.answering().is_none())
}

/// Any replica that was in sync, also restarted: the one with most keys.
fn any_in_sync(view: &View, waited: u64) -> Option<(&PodView, &ServerView)> {
    if waited < PRIMARY {
        return None;
    }
    let members = view.record.in_sync.iter().filter_map(|member| view.pods.get(&member.pod));
    let runs = members.filter_map(|pod| Some((pod, pod.staying()?)));
    runs.filter(|(pod, server)| server.is_whole() && !is_emptied(view, &pod.name, server))
        .max_by_key(|(pod, server)| (server.keys, Reverse(pod.name.clone())))
}

/// Whether a Redis holds nothing while another does, or may: it is never promoted then.
#[must_use]
pub fn is_emptied(view: &View, pod: &str, server: &ServerView) -> bool {
    let holds = |other: &PodView| match other.answering() {
        Some(other) => other.keys > 0 || other.loading,
        None => view.record.in_sync.iter().any(|member| member.pod == other.name),
    };
    server.keys == 0 && view.others(pod).any(holds)
}

/// Nobody can be promoted: for a while that may pass by itself, then a person must help.
fn stranded(primary: &Primary, loss: Loss, waited: u64) -> State {
    let why = format!("{} is lost ({}) and no replica in sync answers", primary.pod, loss.text());
    if waited < PRIMARY {
        return State::Waiting(why);
    }
    State::Stuck(format!(
        "{why}: bring its Pod back, or choose the Pod whose data to keep by the annotation \
         {FORCE_PRIMARY}: POD"
    ))
}
