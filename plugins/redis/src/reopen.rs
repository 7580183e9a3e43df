//! When nobody is in sync: a person's choice, the old primary after a restart, or any that still has the data.

use std::cmp::Reverse;

use crate::decide::{Command, Decision, State};
use crate::health::{Loss, missed_since};
use crate::names::FORCE_PRIMARY;
use crate::observe::{PodView, ServerView, View};
use crate::status::Primary;

/// So long replicas in sync that do not answer are waited for before the old primary is reopened.
const REPLICAS: u64 = 10_000;
/// So long the old primary is waited for before another takes its place without proof of being up to date.
const PRIMARY: u64 = 60_000;

/// Opens somebody who was restarted, as soon as that is safe; until then says what is waited for.
pub fn reopen_somebody(view: &View, primary: &Primary, loss: Loss, decision: &mut Decision) {
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
    use crate::observe::Server;
    use crate::testing::{MASTER, NOW, R0, R1, Scene};

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
