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
        pod.ip
            .as_deref()
            .is_some_and(|ip| server.is_some_and(|it| it.hears(ip, WITNESS)))
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
    let asked = wish
        .spec
        .sentinel
        .as_ref()
        .and_then(|sentinel| sentinel.down_after_milliseconds);
    asked
        .and_then(|asked| u64::try_from(asked).ok())
        .unwrap_or(0)
        .max(SILENCE)
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
        reopen(
            view,
            pod,
            server,
            "the last primary did not return in 60 s",
            decision,
        );
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
    let members = view
        .record
        .in_sync
        .iter()
        .filter(|member| !wish.leaves(&member.pod));
    let runs = members.filter_map(|member| {
        let pod = view.pods.get(&member.pod)?;
        let server = pod
            .staying()
            .filter(|server| server.run_id == member.run_id)?;
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
    candidates(wish, view, primary)
        .into_iter()
        .min_by_key(|(_, server)| {
            let older = server.replid2 != primary.replid;
            (
                older,
                server.priority,
                Reverse(server.offset),
                server.run_id.clone(),
            )
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
    decision.warn(
        "PrimaryLost",
        format!("{} is lost: {}", primary.pod, loss.text()),
    );
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
    decision
        .commands
        .push(Command::Open(server.target(&pod.name), guarded));
    follow(view, &primary.pod, loss, pod, decision);
    decision.note(
        "FailoverStarted",
        format!(
            "promoting {}, which has {} bytes of history",
            pod.name, server.offset
        ),
    );
    decision.state = State::Opening;
}

/// Points everybody else at the new primary, at the same time; a fenced Pod is not worth the wait.
fn follow(view: &View, old: &str, loss: Loss, new: &PodView, decision: &mut Decision) {
    let Some(ip) = &new.ip else { return };
    for other in view
        .others(&new.name)
        .filter(|other| other.name != old || loss == Loss::Restarted)
    {
        if let Some(server) = other.staying().filter(|server| !server.loading) {
            decision
                .commands
                .push(Command::Follow(server.target(&other.name), ip.clone()));
        }
    }
}

/// Makes a Pod the primary that was restarted: nobody is in sync with it.
pub fn reopen(view: &View, pod: &PodView, server: &ServerView, why: &str, decision: &mut Decision) {
    decision.crown(view, pod, server, Vec::new());
    decision
        .commands
        .push(Command::Open(server.target(&pod.name), 0));
    decision.note(
        "PrimaryReopened",
        format!("opening {} as primary: {why}", pod.name),
    );
    decision.state = State::Opening;
}

/// The Pod that a person named, once for each time that the annotation is set.
pub fn forced(view: &View) -> Option<(&PodView, &ServerView)> {
    let name = view
        .force
        .as_ref()
        .filter(|name| view.record.forced.as_ref() != Some(*name))?;
    let pod = view.pods.get(name)?;
    pod.staying()
        .filter(|server| server.is_whole())
        .map(|server| (pod, server))
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
    let members = view
        .record
        .in_sync
        .iter()
        .filter(|member| member.pod != primary.pod);
    let mut pods = members.filter_map(|member| view.pods.get(&member.pod));
    pods.any(|pod| !pod.terminating && pod.running_since.is_some() && pod.answering().is_none())
}

/// Any replica that was in sync, also restarted: the one with most keys.
fn any_in_sync(view: &View, waited: u64) -> Option<(&PodView, &ServerView)> {
    if waited < PRIMARY {
        return None;
    }
    let members = view
        .record
        .in_sync
        .iter()
        .filter_map(|member| view.pods.get(&member.pod));
    let runs = members.filter_map(|pod| Some((pod, pod.staying()?)));
    runs.filter(|(pod, server)| server.is_whole() && !is_emptied(view, &pod.name, server))
        .max_by_key(|(pod, server)| (server.keys, Reverse(pod.name.clone())))
}

/// Whether a Redis holds nothing while another does, or may: it is never promoted then.
#[must_use]
pub fn is_emptied(view: &View, pod: &str, server: &ServerView) -> bool {
    let holds = |other: &PodView| match other.answering() {
        Some(other) => other.keys > 0 || other.loading,
        None => view
            .record
            .in_sync
            .iter()
            .any(|member| member.pod == other.name),
    };
    server.keys == 0 && view.others(pod).any(holds)
}

/// Nobody can be promoted: for a while that may pass by itself, then a person must help.
fn stranded(primary: &Primary, loss: Loss, waited: u64) -> State {
    let why = format!(
        "{} is lost ({}) and no replica in sync answers",
        primary.pod,
        loss.text()
    );
    if waited < PRIMARY {
        return State::Waiting(why);
    }
    State::Stuck(format!(
        "{why}: bring its Pod back, or choose the Pod whose data to keep by the annotation \
         {FORCE_PRIMARY}: POD"
    ))
}

#[cfg(test)]
mod tests {
    use crate::decide::{Command, State};
    use crate::observe::{Server, Stance};
    use crate::testing::{HISTORY, MASTER, NOW, R0, R1, Scene, ip, target};

    /// Each way in which a primary is certainly lost.
    fn losses() -> Vec<(&'static str, Box<dyn Fn(&mut Scene)>)> {
        vec![
            (
                "its Pod is being deleted",
                Box::new(|scene| scene.pod(MASTER).terminating = true),
            ),
            (
                "its Pod is gone",
                Box::new(|scene| _ = scene.view.pods.remove(MASTER)),
            ),
            (
                "its Pod was replaced",
                Box::new(|scene| scene.pod(MASTER).uid = "another".into()),
            ),
            (
                "its Redis was restarted",
                Box::new(|scene| scene.restart(MASTER, 3)),
            ),
            (
                "its Redis was restarted empty",
                Box::new(|scene| scene.restart(MASTER, 0)),
            ),
            (
                "it is silent for long",
                Box::new(|scene| {
                    scene.silence(NOW - 7_000);
                    scene.view.record.missed_since = Some(NOW - 7_000);
                }),
            ),
        ]
    }

    #[test]
    fn a_lost_primary_is_followed_by_a_replica_in_sync() {
        for (name, lose) in losses() {
            let mut scene = Scene::healthy();
            scene.server(R1).offset = 120;
            lose(&mut scene);
            let decision = scene.decide();
            assert_eq!(decision.primary(), R1, "{name}");
            assert_eq!(decision.record.epoch, 2, "{name}");
            assert_eq!(decision.in_sync(), [R0], "{name}");
            assert!(decision.orders(&Command::Open(target(R1), 1)), "{name}");
            assert!(
                decision.orders(&Command::Follow(target(R0), ip(R1))),
                "{name}"
            );
            assert_eq!(decision.state, State::Opening, "{name}");
        }
    }

    #[test]
    fn only_a_primary_that_may_still_run_is_fenced() {
        for (name, lose) in losses() {
            let mut scene = Scene::healthy();
            lose(&mut scene);
            let fenced = scene.decide().orders(&Command::Fence(MASTER.into()));
            let may_run = name.contains("deleted") || name.contains("silent");
            assert_eq!(fenced, may_run, "{name}");
        }
    }

    #[test]
    fn a_primary_is_not_lost_at_the_first_miss() {
        let mut scene = Scene::healthy();
        scene.silence(NOW);
        let decision = scene.decide();
        assert_eq!(decision.primary(), MASTER);
        assert_eq!(decision.record.missed_since, Some(NOW));
        assert!(matches!(decision.state, State::Doubtful(_)));
        assert!(decision.commands.is_empty());
    }

    #[test]
    fn silence_counts_only_when_this_host_itself_looked_thrice() {
        let mut scene = Scene::healthy();
        scene.silence(NOW - 3_000);
        scene.view.record.missed_since = Some(NOW - 20_000);
        assert_eq!(scene.decide().primary(), MASTER);
    }

    #[test]
    fn a_note_that_nobody_continued_is_void() {
        let mut scene = Scene::healthy();
        scene.silence(NOW - 5_000);
        scene.view.record.missed_since = Some(NOW - 40_000);
        let decision = scene.decide();
        assert_eq!(decision.primary(), MASTER);
        assert_eq!(decision.record.missed_since, Some(NOW));
    }

    #[test]
    fn a_long_silence_is_not_noted_anew() {
        let mut scene = Scene::healthy();
        scene.silence(NOW - 300_000);
        scene.view.record.missed_since = Some(NOW - 300_000);
        scene.view.record.in_sync.clear();
        assert_eq!(scene.decide().record.missed_since, Some(NOW - 300_000));
    }

    #[test]
    fn a_replica_that_hears_from_the_primary_is_a_witness() {
        let mut scene = Scene::healthy();
        scene.pod(MASTER).server = Server::Silent(NOW - 60_000);
        scene.view.record.missed_since = Some(NOW - 60_000);
        let decision = scene.decide();
        assert_eq!(decision.primary(), MASTER);
        assert!(matches!(decision.state, State::Doubtful(_)));
    }

    #[test]
    fn a_link_that_is_up_is_no_witness_when_nothing_comes_over_it() {
        let mut scene = Scene::healthy();
        scene.pod(MASTER).server = Server::Silent(NOW - 8_000);
        scene.view.record.missed_since = Some(NOW - 8_000);
        for pod in [R0, R1] {
            scene.server(pod).stance = Stance::Follows {
                host: ip(MASTER),
                linked: true,
                last_heard: Some(8),
                copying: false,
            };
        }
        assert_ne!(scene.decide().primary(), MASTER);
    }

    #[test]
    fn a_longer_patience_is_kept() {
        let mut scene = Scene::healthy();
        scene.spec.sentinel = serde_json::from_str(r#"{"downAfterMilliseconds": 20000}"#).unwrap();
        scene.silence(NOW - 15_000);
        scene.view.record.missed_since = Some(NOW - 15_000);
        assert_eq!(scene.decide().primary(), MASTER);
    }

    #[test]
    fn who_may_not_be_promoted_is_not() {
        let cases: [(&str, fn(&mut Scene)); 7] = [
            ("was restarted", |scene| scene.restart(R1, 3)),
            ("never wants to be", |scene| scene.server(R1).priority = 0),
            ("loads its data", |scene| scene.server(R1).loading = true),
            ("has another history", |scene| {
                scene.server(R1).replid = "other".into()
            }),
            ("is being deleted", |scene| scene.pod(R1).terminating = true),
            ("does not answer", |scene| {
                scene.pod(R1).server = Server::Silent(NOW)
            }),
            ("was not in sync", |scene| {
                scene.view.record.in_sync.retain(|it| it.pod != R1)
            }),
        ];
        for (name, spoil) in cases {
            let mut scene = Scene::healthy();
            scene.pod(MASTER).terminating = true;
            scene.server(R1).offset = 500;
            spoil(&mut scene);
            assert_eq!(scene.decide().primary(), R0, "a replica that {name}");
        }
    }

    #[test]
    fn priority_comes_before_offset() {
        let mut scene = Scene::healthy();
        scene.pod(MASTER).terminating = true;
        scene.server(R0).priority = 10;
        scene.server(R1).offset = 500;
        assert_eq!(scene.decide().primary(), R0);
    }

    #[test]
    fn a_replica_that_already_has_the_new_history_comes_first() {
        // The primary was opened, fed R0, and died before the record learnt its new history.
        let mut scene = Scene::healthy();
        scene.pod(MASTER).terminating = true;
        scene.server(R0).replid = "history-2".into();
        scene.server(R0).replid2 = HISTORY.into();
        scene.server(R1).offset = 500;
        assert_eq!(scene.decide().primary(), R0);
    }

    /// All Pods were killed at once.
    fn all_restarted(keys_of_primary: u64) -> Scene {
        let mut scene = Scene::healthy();
        scene.restart(MASTER, keys_of_primary);
        scene.restart(R0, 3);
        scene.restart(R1, 3);
        scene
    }

    #[test]
    fn after_a_restart_of_all_the_old_primary_is_reopened() {
        let decision = all_restarted(3).decide();
        assert_eq!(decision.primary(), MASTER);
        assert_eq!(decision.record.epoch, 2);
        assert!(decision.in_sync().is_empty());
        let opened = decision
            .commands
            .iter()
            .any(|it| matches!(it, Command::Open(to, 0) if to.pod == MASTER));
        assert!(opened);
    }

    #[test]
    fn an_emptied_primary_is_never_reopened() {
        let decision = all_restarted(0).decide();
        assert_eq!(decision.record.epoch, 1);
        assert!(matches!(decision.state, State::Waiting(_)));
        assert!(
            !decision
                .commands
                .iter()
                .any(|it| matches!(it, Command::Open(..)))
        );
    }

    #[test]
    fn an_emptied_primary_is_not_reopened_while_a_replica_does_not_answer() {
        let mut scene = Scene::healthy();
        scene.restart(MASTER, 0);
        for pod in [R0, R1] {
            scene.pod(pod).server = Server::Unasked;
            scene.pod(pod).running_since = None;
        }
        assert!(matches!(scene.decide().state, State::Waiting(_)));
    }

    #[test]
    fn after_a_minute_without_the_old_primary_another_with_data_takes_over() {
        let mut scene = all_restarted(0);
        scene.view.record.missed_since = Some(NOW - 60_000);
        scene.restart(R1, 9);
        assert_eq!(scene.decide().primary(), R1);
    }

    #[test]
    fn replicas_that_may_answer_are_waited_for() {
        let mut scene = Scene::healthy();
        scene.restart(MASTER, 3);
        for pod in [R0, R1] {
            scene.pod(pod).server = Server::Silent(NOW);
        }
        assert!(matches!(scene.decide().state, State::Waiting(_)));
        scene.view.record.missed_since = Some(NOW - 10_000);
        assert_eq!(scene.decide().record.epoch, 2);
    }

    #[test]
    fn without_anybody_a_person_is_asked_and_followed_once() {
        let mut scene = Scene::healthy();
        scene.view.pods.remove(MASTER);
        scene.view.record.in_sync.clear();
        scene.view.record.missed_since = Some(NOW - 60_000);
        let State::Stuck(text) = scene.decide().state else {
            panic!("not stuck")
        };
        assert!(text.contains("redis.example.com/force-primary"), "{text}");

        scene.view.force = Some(R0.into());
        let decision = scene.decide();
        assert_eq!(decision.primary(), R0);
        assert_eq!(decision.record.forced.as_deref(), Some(R0));

        scene.view.record.forced = Some(R0.into());
        assert_eq!(scene.decide().primary(), MASTER);
    }
}
