//! The primary is lost: another takes its place, and no acknowledged commit is lost with it.
//!
//! Whoever is promoted must hold every commit that a client was told is done. Each of them is held by `waitCount`
//! voters. So once more than `voters - waitCount` of them receive nothing any more, no further commit can be
//! acknowledged, and one of those voters holds all that ever were.

use crate::decide::{Command, Decision, State, Target, Wish};
use crate::gtid::GtidSet;
use crate::health::Loss;
use crate::names::FORCE_PRIMARY;
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
    decision.record.missed_since.get_or_insert(view.now);
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
    }
}

/// A person says which Pod is to be the primary, where the operator must not choose.
pub fn force(view: &View, primary: &Primary, decision: &mut Decision) -> bool {
    let Some(pod) = view.annotations.get(FORCE_PRIMARY) else {
        return false;
    };
    if decision.record.followed.get(FORCE_PRIMARY) == Some(pod) || view.server(pod).is_none() {
        return false;
    }
    decision
        .record
        .followed
        .insert(FORCE_PRIMARY.to_owned(), pod.clone());
    if *pod == primary.pod
        && view
            .of_primary(primary)
            .is_some_and(ServerView::is_writable)
    {
        return false;
    }
    let why = format!("the annotation {FORCE_PRIMARY} names {pod}");
    decision.warn(
        "FailoverForced",
        format!("{why}; commits that it lacks are lost"),
    );
    decision.state = State::Failed(why.clone());
    decision.record.intent = Some(Intent {
        kind: IntentKind::Failover,
        epoch: view.record.epoch + 1,
        why,
        since: view.now,
        to: Some(pod.clone()),
        frozen: false,
    });
    true
}

/// A failover is under way: fence, choose, let the winner apply what it received, and commit.
pub fn proceed(wish: &Wish<'_>, view: &View, intent: &Intent, decision: &mut Decision) {
    decision.state = State::Failed(intent.why.clone());
    if let Some(pod) = &intent.to {
        return crown_forced(view, intent, pod, decision);
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
                "no replica has everything that the others have; {}",
                way_out(wish, view)
            ));
        }
        Some(winner) if winner.server.is_drained() => commit(intent, winner, &fenced, decision),
        Some(winner) => {
            let rest = rest(winner.server);
            decision.state = State::Failed(format!(
                "{}; {} applies {rest} transactions that it received",
                intent.why, winner.pod.name
            ));
        }
    }
}

/// Cuts off the voters. An old primary that still answers is shut first: a commit that waits there must end in an
/// error. One that ends by itself would answer waiting commits with OK once nobody is connected: it is waited for.
fn fence(view: &View, intent: &Intent, decision: &mut Decision) {
    let primary = view.record.primary.as_ref();
    let old = primary.and_then(|primary| view.pods.get(&primary.pod));
    if let Some((pod, server)) = old.and_then(|pod| Some((pod, pod.answering()?)))
        && !(server.super_read_only && server.wait_count == 0)
    {
        decision.order(Command::Shut(server.target(&pod.name)));
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

/// A person chose. Whoever else answers and has nothing more may acknowledge for the chosen one.
fn crown_forced(view: &View, intent: &Intent, chosen: &str, decision: &mut Decision) {
    fence(view, intent, decision);
    let Some(server) = view.server(chosen) else {
        decision.state = State::Stuck(format!("{}, which does not answer", intent.why));
        return;
    };
    let Some(pod) = view.pods.get(chosen) else {
        return;
    };
    let candidate = Candidate { pod, server };
    if !server.is_drained() {
        return apply(candidate, decision);
    }
    if !server.is_cut_off() {
        return decision.order(Command::Cut(server.target(chosen)));
    }
    decision.record.errant.remove(chosen);
    commit(intent, candidate, &fenced(view), decision);
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
    let choices = wish.pods().join(", ");
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
        "{missing}. It goes on when they, or it, return with their data. To go on with what another has, and lose \
         what it lacks, annotate this object with {FORCE_PRIMARY}: POD (one of {choices})"
    )
}

#[cfg(test)]
mod tests {
    use crate::decide::{Command, State};
    use crate::names::{FORCE_PRIMARY, Role};
    use crate::status::IntentKind;
    use crate::testing::{NOW, P, R1, R2, Scene, gtids, target};

    /// The primary's Pod is gone, and the intent is stored.
    fn failing() -> Scene {
        let mut scene = Scene::healthy();
        scene.lose(P);
        let decision = scene.step();
        assert_eq!(decision.record.intent.unwrap().kind, IntentKind::Failover);
        scene
    }

    #[test]
    fn a_lost_primary_is_announced_before_anybody_is_cut_off() {
        let mut scene = Scene::healthy();
        scene.lose(P);
        let decision = scene.decide();
        assert!(matches!(decision.state, State::Failed(_)));
        assert_eq!(
            decision.record.epoch, 1,
            "the epoch changes at the commit point"
        );
        assert_eq!(decision.primary(), P);
        assert_eq!(decision.record.intent.as_ref().unwrap().epoch, 2);
        assert!(decision.orders(&Command::Cut(target(R1))));
        assert!(decision.orders(&Command::Cut(target(R2))));
        assert_eq!(decision.reasons(), ["PrimaryLost", "FailoverStarted"]);
    }

    #[test]
    fn nobody_is_promoted_while_a_voter_may_still_acknowledge() {
        let mut scene = failing();
        scene.cut(R1);
        let decision = scene.decide();
        assert_eq!(decision.primary(), P);
        assert!(decision.orders(&Command::Cut(target(R2))));
    }

    #[test]
    fn the_voter_that_received_more_wins_once_it_applied_it() {
        let mut scene = failing();
        scene.cut(R1);
        scene.cut(R2);
        scene.has(R1, "A:90-100", "A:1-100");
        scene.has(R2, "A:90-105", "A:1-100");
        let decision = scene.decide();
        assert_eq!(decision.primary(), P, "it has five transactions to apply");
        assert!(
            !decision.orders(&Command::Apply(target(R2))),
            "it applies already"
        );
        scene.has(R2, "A:90-105", "A:1-105");
        let decision = scene.step();
        assert_eq!((decision.primary(), decision.record.epoch), (R2, 2));
        assert_eq!(decision.record.intent, None);
        assert_eq!(
            decision
                .commands
                .iter()
                .filter(|it| matches!(it, Command::Open(..)))
                .count(),
            0
        );
    }

    #[test]
    fn a_stopped_applier_is_started() {
        let mut scene = failing();
        for pod in [R1, R2] {
            scene.restart(pod);
            scene.has(pod, "A:90-105", "A:1-100");
        }
        let decision = scene.decide();
        assert!(decision.orders(&Command::Apply(target(R1))));
        assert!(decision.orders(&Command::Apply(target(R2))));
    }

    #[test]
    fn a_voter_without_everything_may_not_acknowledge_for_the_next_primary_yet() {
        let mut scene = failing();
        scene.cut(R1);
        scene.cut(R2);
        scene.has(R1, "A:90-105", "A:1-105");
        let decision = scene.step();
        assert_eq!(decision.primary(), R1);
        assert!(
            decision.voters().is_empty(),
            "R2 lacks five: alone it would not be sure to have every commit"
        );
    }

    #[test]
    fn a_voter_with_everything_may() {
        let mut scene = failing();
        scene.cut(R1);
        scene.cut(R2);
        let decision = scene.step();
        assert_eq!((decision.primary(), decision.voters()), (R1, vec![R2]));
    }

    #[test]
    fn replicas_that_each_have_something_of_their_own_stop_the_failover() {
        let mut scene = failing();
        scene.cut(R1);
        scene.cut(R2);
        scene.has(R1, "", "A:1-100,B:1");
        scene.has(R2, "", "A:1-101");
        let decision = scene.decide();
        assert!(matches!(decision.state, State::Stuck(_)));
        assert!(decision.trouble().contains(FORCE_PRIMARY));
        assert_eq!(decision.primary(), P);
    }

    #[test]
    fn known_foreign_transactions_do_not_stop_it() {
        let mut scene = failing();
        scene
            .view
            .record
            .errant
            .insert(R1.to_owned(), gtids("B:1").to_string());
        scene.cut(R1);
        scene.cut(R2);
        scene.has(R1, "", "A:1-100,B:1");
        assert_eq!(scene.decide().primary(), R2);
    }

    #[test]
    fn with_too_few_voters_nothing_is_done_and_the_way_out_is_named() {
        let mut scene = Scene::healthy();
        scene.lose(P);
        scene.silence(R2, NOW);
        let decision = scene.decide();
        assert!(matches!(decision.state, State::Lost(_)));
        assert_eq!(decision.record.intent, None);
        assert!(
            decision
                .commands
                .iter()
                .all(|it| matches!(it, Command::Label(..))),
            "{:?}",
            decision.commands
        );
        scene.add(P);
        scene.silence(P, NOW - 60_000);
        scene.pod(P).role = Some(Role::Primary);
        scene.channel(R1).heard = Some(60_000);
        let decision = scene.decide();
        assert!(matches!(
            decision.state,
            State::Doubtful(_) | State::Lost(_)
        ));
        assert_eq!(decision.commands, [], "who still reaches it is let go on");
        scene.lose(P);
        let decision = scene.decide();
        for word in [FORCE_PRIMARY, R1, "2 of"] {
            assert!(decision.trouble().contains(word), "{}", decision.trouble());
        }
    }

    #[test]
    fn a_voter_with_another_data_directory_does_not_count() {
        let mut scene = Scene::healthy();
        scene.lose(P);
        scene.server(R2).uuid = "another".to_owned();
        assert!(matches!(scene.decide().state, State::Lost(_)));
    }

    #[test]
    fn a_primary_that_returns_with_its_data_goes_on_where_nobody_may_take_its_place() {
        let mut scene = Scene::healthy();
        scene.restart(P);
        scene.silence(R2, NOW);
        let decision = scene.step();
        assert!(
            matches!(decision.state, State::Opening(_)),
            "{:?}",
            decision.state
        );
        assert_eq!((decision.primary(), decision.record.epoch), (P, 1));
        assert!(
            scene
                .decide()
                .commands
                .iter()
                .any(|it| matches!(it, Command::Open(..)))
        );
    }

    #[test]
    fn a_failover_is_called_off_when_voters_vanish_and_the_primary_returns() {
        let mut scene = Scene::healthy();
        scene.restart(P);
        assert!(scene.step().record.intent.is_some());
        scene.silence(R1, NOW);
        let decision = scene.decide();
        assert_eq!(
            (decision.record.intent.is_none(), decision.primary()),
            (true, P)
        );
        assert!(decision.reasons().contains(&"FailoverAborted"));
    }

    #[test]
    fn an_old_primary_that_answers_is_shut_before_replicas_are_cut_off() {
        let mut scene = Scene::healthy();
        scene.server(P).stuck_commit = 11;
        let decision = scene.decide();
        assert!(decision.orders(&Command::Shut(target(P))));
        assert!(decision.record.intent.is_some());
    }

    #[test]
    fn one_that_ends_by_itself_is_waited_for_while_replicas_are_connected() {
        let mut scene = Scene::healthy();
        scene.silence(P, NOW);
        scene.pod(P).terminating = true;
        let decision = scene.decide();
        assert!(
            !decision.orders(&Command::Cut(target(R1))),
            "it would answer waiting commits with OK"
        );
        scene.pod(P).running_since = None;
        assert!(scene.decide().orders(&Command::Cut(target(R1))));
    }

    #[test]
    fn a_second_failure_finds_the_voter_that_is_left() {
        let mut scene = failing();
        scene.cut(R1);
        scene.cut(R2);
        scene.step();
        scene.lose(R1);
        assert!(scene.step().record.intent.is_some());
        let decision = scene.decide();
        assert_eq!((decision.primary(), decision.record.epoch), (R2, 3));
    }

    #[test]
    fn a_person_may_choose_where_the_operator_must_not() {
        let mut scene = Scene::healthy();
        scene.lose(P);
        scene.lose(R2);
        scene.annotate(FORCE_PRIMARY, R1);
        let decision = scene.step();
        assert_eq!(
            decision.record.intent.as_ref().unwrap().to.as_deref(),
            Some(R1)
        );
        assert!(decision.reasons().contains(&"FailoverForced"));
        scene.cut(R1);
        let decision = scene.step();
        assert_eq!((decision.primary(), decision.record.epoch), (R1, 2));
        assert!(
            scene.decide().record.intent.is_none(),
            "once for each time that it is set"
        );
    }

    #[test]
    fn commits_that_waited_for_nobody_forbid_a_failover() {
        let mut scene = Scene::healthy();
        scene.view.record.wait_count = Some(0);
        scene.lose(P);
        assert!(matches!(scene.decide().state, State::Lost(_)));
    }
}
