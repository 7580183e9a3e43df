//! Planned work: handing over the primary, and replacing Pods one by one.

use crate::decide::{Command, Decision, State, Wish};
use crate::observe::{PodView, ServerView, View};
use crate::status::{Move, Primary};

/// How long a hand-over may take before it is given up, in milliseconds; Redis itself gives up earlier.
const DEADLINE: u64 = 10_000;
/// Why a Pod is replaced.
const OUTDATED: &str = "it was made from an older template";
/// How long after that nothing is tried.
const PAUSE: u64 = 30_000;

/// Whether a hand-over was started and neither arrived nor was given up.
#[must_use]
pub fn under_way(view: &View) -> bool {
    let planned = view.record.planned.as_ref();
    planned.is_some_and(|planned| planned.again_after.is_none() && view.now < planned.deadline)
}

/// Records the new primary once it is seen taking writes with a history that begins where the old one ends.
pub fn arrived(view: &View, primary: &Primary, decision: &mut Decision) -> bool {
    let Some(planned) = &view.record.planned else {
        return false;
    };
    let target = view
        .pods
        .get(&planned.to)
        .and_then(|pod| Some((pod, pod.staying()?)));
    let took_over = target.filter(|(_, server)| {
        server.is_primary() && server.replid2 == primary.replid && !primary.replid.is_empty()
    });
    let Some((pod, server)) = took_over else {
        return false;
    };
    decision.crown(view, pod, server, Vec::new());
    decision.note(
        "PrimaryMoved",
        format!("{} handed over to {}", primary.pod, pod.name),
    );
    decision.state = State::Opening;
    true
}

/// What is to be done while all is well: one thing at a time.
pub fn plan(
    wish: &Wish<'_>,
    view: &View,
    primary: &Primary,
    server: &ServerView,
    decision: &mut Decision,
) {
    if let Some(planned) = view
        .record
        .planned
        .as_ref()
        .filter(|it| it.again_after.is_none())
    {
        watch(view, primary, server, planned, decision);
        return;
    }
    replace_broken(wish, view, primary, decision);
    if view.unseen_template {
        decision.wait_for("the controller of StatefulSets has yet to see a template".to_owned());
    }
    await_replicas(wish, view, primary, decision);
    match reason_to_move(wish, view, primary, server) {
        Some(Reason::MustLeave(why)) => hand_over(wish, view, primary, server, &why, decision),
        Some(Reason::IsOutdated) if decision.pending.is_some() => {}
        Some(Reason::IsOutdated) if wish.spec.replicas == 0 => {
            decision.replace(&primary.pod, OUTDATED)
        }
        Some(Reason::IsOutdated) => {
            hand_over(
                wish,
                view,
                primary,
                server,
                "its Pod is to be replaced",
                decision,
            );
        }
        None => {
            decision.record.planned = None;
            replace_next(wish, view, primary, decision);
        }
    }
}

/// A hand-over is under way: until the deadline there is nothing to do but look.
fn watch(
    view: &View,
    primary: &Primary,
    server: &ServerView,
    planned: &Move,
    decision: &mut Decision,
) {
    if view.now < planned.deadline {
        decision.wait_for(format!("{} hands over to {}", primary.pod, planned.to));
        decision.state = State::Moving(planned.to.clone());
        return;
    }
    if server.handing_over {
        decision
            .commands
            .push(Command::AbandonHandOver(server.target(&primary.pod)));
    }
    decision.warn(
        "MoveAbandoned",
        format!(
            "{} did not take over from {} in time; trying again later",
            planned.to, primary.pod
        ),
    );
    decision.wait_for(format!(
        "{} did not take over from {} in time",
        planned.to, primary.pod
    ));
    decision.record.planned = Some(Move {
        again_after: Some(view.now + PAUSE),
        ..planned.clone()
    });
}

/// Why the primary should be another Pod.
enum Reason {
    /// It cannot stay: it goes with the scale-in, or its disk fails it.
    MustLeave(String),
    /// It is the last that is made from an older template.
    IsOutdated,
}

fn reason_to_move(
    wish: &Wish<'_>,
    view: &View,
    primary: &Primary,
    server: &ServerView,
) -> Option<Reason> {
    if wish.leaves(&primary.pod) {
        return Some(Reason::MustLeave(
            "its Pod leaves with the scale-in".to_owned(),
        ));
    }
    if let Some(trouble) = &server.disk_trouble {
        return Some(Reason::MustLeave(trouble.clone()));
    }
    let outdated = |pod: &PodView| pod.outdated && !wish.leaves(&pod.name);
    let replicas = view
        .others(&primary.pod)
        .filter(|pod| outdated(pod))
        .count();
    let own = view.pods.get(&primary.pod).is_some_and(outdated);
    (own && replicas == 0).then_some(Reason::IsOutdated)
}

/// Has the primary hand over to the best replica that stays.
fn hand_over(
    wish: &Wish<'_>,
    view: &View,
    primary: &Primary,
    server: &ServerView,
    why: &str,
    decision: &mut Decision,
) {
    decision.wait_for(format!("{} is to hand over: {why}", primary.pod));
    let paused = view
        .record
        .planned
        .as_ref()
        .and_then(|planned| planned.again_after);
    if paused.is_some_and(|again| view.now < again) {
        return;
    }
    let Some((pod, replica)) = target(wish, view) else {
        return;
    };
    let Some(ip) = &pod.ip else { return };
    decision.record.planned = Some(Move {
        to: pod.name.clone(),
        deadline: view.now + DEADLINE,
        again_after: None,
    });
    // The replica may have been bound as a primary before; nobody follows it yet.
    decision
        .commands
        .push(Command::Guard(replica.target(&pod.name), 0));
    decision
        .commands
        .push(Command::HandOver(server.target(&primary.pod), ip.clone()));
    decision.note(
        "MoveStarted",
        format!("{} hands over to {}: {why}", primary.pod, pod.name),
    );
    decision.state = State::Moving(pod.name.clone());
}

/// The replica in sync that takes over: up to date in template first, then in data.
fn target<'v>(wish: &Wish<'_>, view: &'v View) -> Option<(&'v PodView, &'v ServerView)> {
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
        let fit = server.is_whole() && server.priority > 0 && server.disk_trouble.is_none();
        fit.then_some((pod, server))
    });
    runs.max_by_key(|(pod, server)| (!pod.outdated, server.offset, server.run_id.clone()))
}

/// Outdated Pods that are broken are replaced at once, so that a bad spec can be undone.
fn replace_broken(wish: &Wish<'_>, view: &View, primary: &Primary, decision: &mut Decision) {
    let broken = view
        .others(&primary.pod)
        .filter(|pod| pod.outdated && !pod.terminating && !pod.ready && !wish.leaves(&pod.name));
    for pod in broken {
        decision.replace(&pod.name, OUTDATED);
    }
}

/// Nothing else is touched before every Pod that the spec asks for follows closely.
fn await_replicas(wish: &Wish<'_>, view: &View, primary: &Primary, decision: &mut Decision) {
    let in_sync = |name: &String| {
        decision
            .record
            .in_sync
            .iter()
            .any(|member| member.pod == *name)
    };
    let names = wish.pods();
    let missing = names
        .iter()
        .find(|name| **name != primary.pod && !in_sync(name));
    if let Some(name) = missing {
        decision.wait_for(format!(
            "{name} does not follow {} closely yet{}",
            primary.pod,
            view.trouble(name)
        ));
    } else if let Some(pod) = view.pods.keys().find(|pod| wish.leaves(pod)) {
        decision.wait_for(format!("{pod} leaves"));
    }
}

/// Replicas are replaced first, one at a time.
fn replace_next(wish: &Wish<'_>, view: &View, primary: &Primary, decision: &mut Decision) {
    if decision.pending.is_some() {
        return;
    }
    let outdated = view
        .others(&primary.pod)
        .filter(|pod| pod.outdated && !pod.terminating && !wish.leaves(&pod.name));
    // The highest number first, as StatefulSets do.
    if let Some(pod) = outdated.max_by(|one, other| one.name.cmp(&other.name)) {
        decision.replace(&pod.name, OUTDATED);
    }
}

#[cfg(test)]
mod tests {
    use crate::decide::{Command, State};
    use crate::observe::Server;
    use crate::testing::{HISTORY, MASTER, R0, R1, Scene, ip, target};

    fn replaces(scene: &Scene) -> Vec<String> {
        let decision = scene.decide();
        let replaced = decision.commands.into_iter().filter_map(|it| match it {
            Command::Replace(pod) => Some(pod),
            _ => None,
        });
        replaced.collect()
    }

    fn outdated() -> Scene {
        let mut scene = Scene::healthy();
        for pod in [MASTER, R0, R1] {
            scene.pod(pod).outdated = true;
        }
        scene
    }

    #[test]
    fn replicas_are_replaced_first_one_at_a_time_and_the_highest_first() {
        let mut scene = outdated();
        assert_eq!(replaces(&scene), [R1]);
        scene.pod(R1).terminating = true;
        assert!(replaces(&scene).is_empty());
        scene.pod(R1).terminating = false;
        scene.pod(R1).outdated = false;
        scene.unlink(R1, MASTER, 9);
        assert!(replaces(&scene).is_empty(), "before the last one caught up");
        scene.link(R1, MASTER);
        assert_eq!(replaces(&scene), [R0]);
    }

    #[test]
    fn nobody_moves_before_it_is_known_who_is_outdated() {
        let mut scene = Scene::healthy();
        scene.pod(MASTER).outdated = true;
        scene.view.unseen_template = true;
        let decision = scene.decide();
        assert_eq!(decision.record.planned, None);
        assert!(decision.pending.is_some());
    }

    #[test]
    fn the_primary_hands_over_before_it_is_replaced() {
        let mut scene = outdated();
        scene.pod(R0).outdated = false;
        scene.pod(R1).outdated = false;
        scene.server(R1).offset = 500;
        let decision = scene.decide();
        let planned = decision.record.planned.clone().unwrap();
        assert_eq!((planned.to.as_str(), planned.again_after), (R1, None));
        assert_eq!(decision.primary(), MASTER, "only when the target is seen");
        assert!(decision.orders(&Command::HandOver(target(MASTER), ip(R1))));
        assert!(decision.orders(&Command::Guard(target(R1), 0)));
        assert!(!decision.orders(&Command::Replace(MASTER.into())));
    }

    /// The primary is handing over to R1.
    fn moving() -> Scene {
        let mut scene = outdated();
        scene.pod(R0).outdated = false;
        scene.pod(R1).outdated = false;
        scene.view.record = scene.decide().record;
        scene.view.record.planned.as_mut().unwrap().to = R1.into();
        scene
    }

    #[test]
    fn while_the_primary_hands_over_nothing_else_is_done() {
        let scene = moving();
        let decision = scene.decide();
        assert_eq!(decision.state, State::Moving(R1.into()));
        assert_eq!(decision.record, scene.view.record);
        assert!(decision.commands.is_empty(), "{:?}", decision.commands);
    }

    #[test]
    fn the_target_is_recorded_when_its_history_begins_where_the_old_one_ends() {
        let mut scene = moving();
        scene.lead(R1);
        scene.server(R1).replid = "history-2".into();
        scene.server(R1).replid2 = "history-0".into();
        assert_eq!(scene.decide().primary(), MASTER);
        scene.server(R1).replid2 = HISTORY.into();
        let decision = scene.decide();
        assert_eq!(decision.primary(), R1);
        assert_eq!(decision.record.epoch, 2);
        assert_eq!(decision.record.planned, None);
    }

    #[test]
    fn a_target_that_took_over_is_recorded_though_the_old_primary_died() {
        let mut scene = moving();
        scene.lead(R1);
        scene.server(R1).replid2 = HISTORY.into();
        scene.view.pods.remove(MASTER);
        assert_eq!(scene.decide().primary(), R1);
    }

    #[test]
    fn at_the_deadline_the_move_is_given_up_and_tried_again_later() {
        let mut scene = moving();
        scene.view.now += 10_000;
        scene.server(MASTER).handing_over = true;
        let decision = scene.decide();
        assert!(decision.orders(&Command::AbandonHandOver(target(MASTER))));
        let again = decision
            .record
            .planned
            .as_ref()
            .unwrap()
            .again_after
            .unwrap();

        scene.view.record = decision.record;
        scene.server(MASTER).handing_over = false;
        let waits = |scene: &Scene| {
            !scene
                .decide()
                .commands
                .iter()
                .any(|it| matches!(it, Command::HandOver(..)))
        };
        assert!(waits(&scene));
        scene.view.now = again;
        assert!(!waits(&scene));
    }

    #[test]
    fn a_primary_that_is_lost_during_a_move_is_followed_as_ever() {
        let mut scene = moving();
        scene.pod(MASTER).terminating = true;
        let decision = scene.decide();
        assert_ne!(decision.primary(), MASTER);
        assert_eq!(decision.record.planned, None);
    }

    #[test]
    fn a_primary_that_leaves_with_the_scale_in_hands_over_to_one_that_stays() {
        let mut scene = Scene::healthy();
        scene.spec.replicas = 1;
        let settings = scene.view.record.primary.as_mut().unwrap();
        settings.pod = R1.into();
        settings.uid = scene.view.pods[R1].uid.clone();
        settings.run_id = crate::testing::run_id(R1);
        scene.lead(R1);
        scene.link(MASTER, R1);
        scene.link(R0, R1);
        scene.view.record.in_sync =
            vec![crate::testing::member(MASTER), crate::testing::member(R0)];
        let decision = scene.decide();
        let planned = decision.record.planned.unwrap();
        assert!([MASTER, R0].contains(&planned.to.as_str()));
    }

    #[test]
    fn a_primary_whose_disk_fails_hands_over() {
        let mut scene = Scene::healthy();
        scene.server(MASTER).disk_trouble = Some("it cannot write its append-only file".into());
        assert!(scene.decide().record.planned.is_some());
    }

    #[test]
    fn broken_outdated_pods_are_replaced_at_once() {
        let mut scene = outdated();
        for pod in [R0, R1] {
            scene.pod(pod).ready = false;
            scene.pod(pod).server = Server::Unasked;
        }
        scene.server(MASTER).feeds.clear();
        assert_eq!(replaces(&scene), [R0, R1]);
    }

    #[test]
    fn a_redis_without_replicas_is_replaced_where_it_stands() {
        let mut scene = Scene::healthy();
        scene.spec.replicas = 0;
        scene.view.pods.retain(|name, _| name == MASTER);
        scene.view.record.in_sync.clear();
        scene.server(MASTER).feeds.clear();
        scene
            .server(MASTER)
            .settings
            .insert("min-replicas-to-write".into(), "0".into());
        scene.pod(MASTER).outdated = true;
        assert_eq!(replaces(&scene), [MASTER]);
    }
}
