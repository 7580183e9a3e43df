//! Planned work: handing over the primary, and replacing Pods one by one.

use crate::decide::{Command, Decision, State, Wish};
use crate::observe::{PodView, ServerView, View};
use crate::status::{Move, Primary};

/// How long a hand-over may take before it is given up, in milliseconds; Redis itself gives up earlier.
const DEADLINE: u64 = 10_000;
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
    let target = view.pods.get(&planned.to).and_then(|pod| Some((pod, pod.staying()?)));
    let took_over = target.filter(|(_, server)| {
        server.is_primary() && server.replid2 == primary.replid && !primary.replid.is_empty()
    });
    let Some((pod, server)) = took_over else {
        return false;
    };
    decision.crown(view, pod, server, Vec::new());
    decision.note("PrimaryMoved", format!("{} handed over to {}", primary.pod, pod.name));
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
    if let Some(planned) = view.record.planned.as_ref().filter(|it| it.again_after.is_none()) {
        watch(view, primary, server, planned, decision);
        return;
    }
    replace_broken(wish, view, primary, decision);
    await_replicas(wish, view, primary, decision);
    match reason_to_move(wish, view, primary, server) {
        Some(Reason::MustLeave(why)) => hand_over(wish, view, primary, server, &why, decision),
        Some(Reason::IsOutdated) if decision.pending.is_some() => {}
        Some(Reason::IsOutdated) if wish.spec.replicas == 0 => replace(&primary.pod, decision),
        Some(Reason::IsOutdated) => {
            hand_over(wish, view, primary, server, "its Pod is to be replaced", decision);
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
        decision.commands.push(Command::AbandonHandOver(server.target(&primary.pod)));
    }
    decision.warn(
        "MoveAbandoned",
        format!("{} did not take over from {} in time; trying again later", planned.to, primary.pod),
    );
    decision.wait_for(format!("{} did not take over from {} in time", planned.to, primary.pod));
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
        return Some(Reason::MustLeave("its Pod leaves with the scale-in".to_owned()));
    }
    if let Some(trouble) = &server.disk_trouble {
        return Some(Reason::MustLeave(trouble.clone()));
    }
    let outdated = |pod: &PodView| pod.outdated && !wish.leaves(&pod.name);
    let replicas = view.others(&primary.pod).filter(|pod| outdated(pod)).count();
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
    let paused = view.record.planned.as_ref().and_then(|planned| planned.again_after);
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
    decision.commands.push(Command::Guard(replica.target(&pod.name), 0));
    decision.commands.push(Command::HandOver(server.target(&primary.pod), ip.clone()));
    decision.note("MoveStarted", format!("{} hands over to {}: {why}", primary.pod, pod.name));
    decision.state = State::Moving(pod.name.clone());
}

/// The replica in sync that takes over: up to date in template first, then in data.
fn target<'v>(wish: &Wish<'_>, view: &'v View) -> Option<(&'v PodView, &'v ServerView)> {
    let members = view.record.in_sync.iter().filter(|member| !wish.leaves(&member.pod));
    let runs = members.filter_map(|member| {
        let pod = view.pods.get(&member.pod)?;
        let server = pod.staying().filter(|server| server.run_id == member.run_id)?;
        let fit = server.is_whole() && server.priority > 0 && server.disk_trouble.is_none();
        fit.then_some((pod, server))
    });
    runs.max_by_key(|(pod, server)| (!pod.outdated, server.offset, server.run_id.clone()))
}

/// Outdated Pods that are broken are replaced at once, so that a bad spec can be undone.
fn replace_broken(wish: &Wish<'_>, view: &View, primary: &Primary, decision: &mut Decision) {
    let broken = view.others(&primary.pod).filter(|pod| {
        pod.outdated && !pod.terminating && !pod.ready && !wish.leaves(&pod.name)
    });
    for pod in broken {
        replace(&pod.name, decision);
    }
}

/// Nothing else is touched before every Pod that the spec asks for follows closely.
fn await_replicas(wish: &Wish<'_>, view: &View, primary: &Primary, decision: &mut Decision) {
    let in_sync = |name: &String| decision.record.in_sync.iter().any(|member| member.pod == *name);
    let names = wish.pods();
    let missing = names.iter().find(|name| **name != primary.pod && !in_sync(name));
    if let Some(name) = missing {
        decision.wait_for(format!("{name} does not follow {} closely yet", primary.pod));
    } else if let Some(pod) = view.pods.keys().find(|pod| wish.leaves(pod)) {
        decision.wait_for(format!("{pod} leaves"));
    }
}

/// Replicas are replaced first, one at a time.
fn replace_next(wish: &Wish<'_>, view: &View, primary: &Primary, decision: &mut Decision) {
    if decision.pending.is_some() {
        return;
    }
    let outdated = view.others(&primary.pod).filter(|pod| {
        pod.outdated && !pod.terminating && !wish.leaves(&pod.name)
    });
    // The highest number first, as StatefulSets do.
    if let Some(pod) = outdated.max_by(|one, other| one.name.cmp(&other.name)) {
        replace(&pod.name, decision);
    }
}

fn replace(pod: &str, decision: &mut Decision) {
    decision.wait_for(format!("replacing {pod}"));
    decision.note("PodReplaced", format!("replacing {pod}: it was made from an older template"));
    decision.commands.push(Command::Replace(pod.to_owned()));
}
