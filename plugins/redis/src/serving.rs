//! While the primary takes writes: who is in sync, who follows, and what else is to be done.

use std::collections::BTreeSet;

use crate::decide::{Command, Decision, State, Wish};
use crate::live;
use crate::observe::{PodView, Server, ServerView, View};
use crate::planned;
use crate::status::{Member, Primary, Record};

/// The bound on lag in seconds: `min-replicas-max-lag`.
const LAG: u64 = 3;
/// So long after a change of primary its replicas may take to link up and stay in sync, in milliseconds.
const YOUNG: u64 = 5_000;
/// The setting that bounds split brain.
pub const MIN_REPLICAS: &str = "min-replicas-to-write";

/// The primary takes writes.
pub fn serve(
    wish: &Wish<'_>,
    view: &View,
    primary: &Primary,
    server: &ServerView,
    decision: &mut Decision,
) {
    decision.state = State::Serving;
    decision.record.missed_since = None;
    let current = follow_closely(view, primary, server);
    keep_in_sync(view, primary, server, &current, decision);
    remember_history(view, primary, server, &current, decision);
    announce(view, primary, decision);
    if !planned::under_way(view) {
        point_at_primary(view, primary, decision);
    }
    decision.commands.extend(mark(view, primary, &view.record));
    live::converge(wish, view, decision);
    planned::plan(wish, view, primary, server, decision);
}

/// Replicas that follow closely: seen from both ends of the link.
fn follow_closely(view: &View, primary: &Primary, server: &ServerView) -> BTreeSet<Member> {
    let Some(ip) = view
        .pods
        .get(&primary.pod)
        .and_then(|pod| pod.ip.as_deref())
    else {
        return BTreeSet::new();
    };
    let close = view.others(&primary.pod).filter_map(|pod| {
        let replica = pod.staying()?;
        let whole = replica.is_whole() && replica.replid == server.replid;
        let close = replica.hears(ip, LAG) && is_fed(pod, server);
        (whole && close).then(|| replica.member(&pod.name))
    });
    close.collect()
}

/// Whether the primary feeds this Pod and had its acknowledgement within the bound.
fn is_fed(pod: &PodView, server: &ServerView) -> bool {
    let feed = pod.ip.as_ref().and_then(|ip| server.feeds.get(ip));
    feed.is_some_and(|feed| feed.online && feed.lag <= LAG)
}

/// Keeps the list of replicas that may be promoted, and the primary's bound in step with it.
///
/// The last one lost: the empty list is stored first (nothing may be promoted), then the primary is freed to write
/// alone. The first one regained: the primary is bound first, and the list is stored once that was seen.
fn keep_in_sync(
    view: &View,
    primary: &Primary,
    server: &ServerView,
    current: &BTreeSet<Member>,
    decision: &mut Decision,
) {
    let recorded = &view.record.in_sync;
    let kept = recorded
        .iter()
        .filter(|member| stays(view, primary, server, member));
    let members: Vec<Member> = current
        .iter()
        .chain(kept)
        .cloned()
        .collect::<BTreeSet<_>>()
        .into_iter()
        .collect();
    let bound = server
        .settings
        .get(MIN_REPLICAS)
        .is_some_and(|number| number != "0");
    let wanted = !members.is_empty();
    if bound != wanted {
        decision.commands.push(Command::Guard(
            server.target(&primary.pod),
            u8::from(wanted),
        ));
    }
    let first_regained = recorded.is_empty() && wanted && !bound;
    if !first_regained {
        decision.record.in_sync = members;
    }
}

/// Whether a member that is not seen following closely stays one: the operator alone does not reach it, or the
/// primary is new and the link is still to come.
fn stays(view: &View, primary: &Primary, server: &ServerView, member: &Member) -> bool {
    let Some(pod) = view.pods.get(&member.pod).filter(|pod| !pod.terminating) else {
        return false;
    };
    match &pod.server {
        Server::Answers(run) => {
            run.run_id == member.run_id && view.now < primary.since + YOUNG && !run.is_primary()
        }
        Server::Silent(_) | Server::Unasked | Server::Refuses(_) => is_fed(pod, server),
    }
}

/// Takes over the primary's new history once a replica has it: until then replicas of the old one count.
fn remember_history(
    view: &View,
    primary: &Primary,
    server: &ServerView,
    current: &BTreeSet<Member>,
    decision: &mut Decision,
) {
    let young = view.now < primary.since + YOUNG;
    let awaited = young && current.is_empty() && !decision.record.in_sync.is_empty();
    if let Some(record) = decision.record.primary.as_mut().filter(|_| !awaited) {
        record.replid.clone_from(&server.replid);
    }
}

/// Events of what became of replicas and the primary.
fn announce(view: &View, primary: &Primary, decision: &mut Decision) {
    let labelled = view.pods.get(&primary.pod).and_then(|pod| pod.role);
    if labelled != Some(crate::names::Role::Primary) {
        decision.note("PrimaryReady", format!("{} takes writes", primary.pod));
    }
    let names = |members: &[Member]| -> BTreeSet<String> {
        members.iter().map(|member| member.pod.clone()).collect()
    };
    let (before, after) = (names(&view.record.in_sync), names(&decision.record.in_sync));
    for pod in after.difference(&before) {
        decision.note(
            "ReplicaInSync",
            format!("{pod} follows {} closely", primary.pod),
        );
    }
    for pod in before.difference(&after) {
        decision.warn(
            "ReplicaBehind",
            format!("{pod} no longer follows {} closely", primary.pod),
        );
    }
}

/// Everybody who answers and follows somebody else, or nobody, is pointed at the primary.
fn point_at_primary(view: &View, primary: &Primary, decision: &mut Decision) {
    let Some(ip) = view.pods.get(&primary.pod).and_then(|pod| pod.ip.clone()) else {
        return;
    };
    for pod in view.others(&primary.pod) {
        if let Some(server) = pod.staying().filter(|it| !it.loading && !it.follows(&ip)) {
            decision
                .commands
                .push(Command::Follow(server.target(&pod.name), ip.clone()));
        }
    }
}

/// What the primary's volume should say and does not, for a Redis that is made again from kept volumes.
pub fn mark(view: &View, primary: &Primary, record: &Record) -> Option<Command> {
    let volume = view.volumes.get(&primary.pod)?;
    let (epoch, aof) = (record.epoch, record.boots_with_aof.unwrap_or_default());
    let differs = volume.epoch != Some(epoch) || volume.aof != Some(aof);
    let pod = primary.pod.clone();
    differs.then_some(Command::Mark { pod, epoch, aof })
}

#[cfg(test)]
mod tests {
    use super::MIN_REPLICAS;
    use crate::decide::{Command, State};
    use crate::names::Role;
    use crate::observe::{Server, Stance};
    use crate::testing::{Case, MASTER, NOW, R0, R1, Scene, ip, member, target};

    #[test]
    fn a_healthy_redis_needs_nothing() {
        let scene = Scene::healthy();
        let decision = scene.decide();
        assert_eq!(decision.state, State::Serving);
        assert_eq!(decision.record, scene.view.record);
        assert_eq!(decision.commands, []);
        assert_eq!(decision.notes, []);
        assert_eq!(decision.pending, None);
    }

    #[test]
    fn the_last_replica_lost_frees_the_primary_and_leaves_nobody_to_promote() {
        let mut scene = Scene::healthy();
        scene.unlink(R0, MASTER, 9);
        scene.unlink(R1, MASTER, 9);
        let decision = scene.decide();
        assert!(decision.in_sync().is_empty());
        assert!(decision.orders(&Command::Guard(target(MASTER), 0)));
    }

    #[test]
    fn the_first_replica_regained_binds_the_primary_before_it_counts() {
        let mut scene = Scene::healthy();
        scene.view.record.in_sync.clear();
        scene
            .server(MASTER)
            .settings
            .insert(MIN_REPLICAS.into(), "0".into());
        let decision = scene.decide();
        assert!(decision.in_sync().is_empty());
        assert!(decision.orders(&Command::Guard(target(MASTER), 1)));

        scene
            .server(MASTER)
            .settings
            .insert(MIN_REPLICAS.into(), "1".into());
        let decision = scene.decide();
        assert_eq!(decision.in_sync(), [R0, R1]);
        assert!(decision.commands.is_empty());
    }

    #[test]
    fn who_does_not_follow_closely_is_not_in_sync() {
        let cases: [Case; 6] = [
            ("its link is down", |scene| scene.unlink(R1, MASTER, 1)),
            ("it has another history", |scene| {
                scene.server(R1).replid = "other".into()
            }),
            ("it receives a copy", |scene| {
                scene.server(R1).stance = Stance::Follows {
                    host: ip(MASTER),
                    linked: true,
                    last_heard: Some(0),
                    copying: true,
                };
            }),
            ("the primary does not hear from it", |scene| {
                scene.server(MASTER).feeds.get_mut(&ip(R1)).unwrap().lag = 4;
            }),
            ("the primary does not know it", |scene| {
                scene.server(MASTER).feeds.remove(&ip(R1));
            }),
            ("it is being deleted", |scene| {
                scene.pod(R1).terminating = true
            }),
        ];
        for (name, spoil) in cases {
            let mut scene = Scene::healthy();
            spoil(&mut scene);
            assert_eq!(scene.decide().in_sync(), [R0], "{name}");
        }
    }

    #[test]
    fn a_replica_that_only_the_operator_does_not_reach_stays_in_sync() {
        let mut scene = Scene::healthy();
        scene.pod(R1).server = Server::Silent(NOW - 120_000);
        let decision = scene.decide();
        assert_eq!(decision.in_sync(), [R0, R1]);
        assert!(decision.commands.is_empty());
    }

    #[test]
    fn replicas_of_a_new_primary_get_a_moment_to_link_up() {
        let mut scene = Scene::healthy();
        scene.view.record.primary.as_mut().unwrap().since = NOW - 1_000;
        scene.server(MASTER).replid = "history-2".into();
        for pod in [R0, R1] {
            scene.unlink(pod, MASTER, 1);
        }
        let decision = scene.decide();
        assert_eq!(decision.in_sync(), [R0, R1]);
        assert_eq!(
            decision.record.primary.as_ref().unwrap().replid,
            "history-1"
        );

        scene.view.now += 5_000;
        let decision = scene.decide();
        assert!(decision.in_sync().is_empty());
        assert_eq!(decision.record.primary.unwrap().replid, "history-2");
    }

    #[test]
    fn strays_are_pointed_at_the_primary() {
        let mut scene = Scene::healthy();
        scene.restart(R0, 0);
        scene.server(R1).stance = Stance::Primary;
        let decision = scene.decide();
        let follows = |pod: &str| {
            decision.commands.iter().any(
                |it| matches!(it, Command::Follow(to, at) if to.pod == pod && *at == ip(MASTER)),
            )
        };
        assert!(follows(R0) && follows(R1));
        assert_eq!(decision.primary(), MASTER);
    }

    #[test]
    fn the_label_goes_only_on_a_primary_that_takes_writes() {
        let mut scene = Scene::healthy();
        scene.pod(MASTER).role = None;
        let label = Command::Label(MASTER.into(), Role::Primary);
        assert!(scene.decide().orders(&label));

        scene.server(MASTER).stance = Stance::Follows {
            host: "127.0.0.1".into(),
            linked: false,
            last_heard: None,
            copying: false,
        };
        let decision = scene.decide();
        assert!(!decision.orders(&label));
        assert!(decision.orders(&Command::Open(target(MASTER), 1)));
    }

    #[test]
    fn labels_of_pods_that_end_are_left_alone() {
        let mut scene = Scene::healthy();
        scene.pod(R1).terminating = true;
        scene.pod(R1).role = Some(Role::Primary);
        let labels = |it: &Command| matches!(it, Command::Label(pod, _) if pod == R1);
        assert!(!scene.decide().commands.iter().any(labels));
    }

    #[test]
    fn the_volume_of_the_primary_says_its_epoch() {
        let mut scene = Scene::healthy();
        scene.view.record.epoch = 7;
        let mark = Command::Mark {
            pod: MASTER.into(),
            epoch: 7,
            aof: true,
        };
        assert!(scene.decide().orders(&mark));
    }

    #[test]
    fn a_primary_that_answers_again_is_no_longer_missed() {
        let mut scene = Scene::healthy();
        scene.view.record.missed_since = Some(NOW - 4_000);
        assert_eq!(scene.decide().record.missed_since, None);
    }

    #[test]
    fn a_restarted_replica_is_another_member() {
        let mut scene = Scene::healthy();
        scene.server(R1).run_id = "my-redis-replica-1-run-2".into();
        let members = scene.decide().record.in_sync;
        assert!(members.contains(&member(R0)) && !members.contains(&member(R1)));
        assert_eq!(members.len(), 2);
    }
}
