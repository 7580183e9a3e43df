//! Unplanned failover: who follows a lost primary.

use std::cmp::Reverse;

use crate::decide::{Command, Decision, State, Wish};
use crate::health::Loss;
use crate::observe::{PodView, ServerView, View};
use crate::reopen;
use crate::status::{Member, Primary};

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
    } else {
        reopen::reopen_somebody(view, primary, loss, decision);
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

#[cfg(test)]
mod tests {
    use crate::decide::{Command, State};
    use crate::observe::Server;
    use crate::testing::{Case, HISTORY, MASTER, NOW, R0, R1, Scene, ip, target};

    /// What it is called, and what it does.
    type Loss = (&'static str, Box<dyn Fn(&mut Scene)>);

    /// Each way in which a primary is certainly lost.
    fn losses() -> Vec<Loss> {
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
    fn who_may_not_be_promoted_is_not() {
        let cases: [Case; 7] = [
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
}
