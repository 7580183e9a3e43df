//! Pods made from an older template are replaced: replicas first, one at a time, the primary after a hand-over.

use crate::decide::{Command, Decision, State, Wish};
use crate::observe::{PodView, ServerView, View};
use crate::serving;
use crate::status::Primary;

/// Replaces one Pod where that is safe.
pub fn roll(
    wish: &Wish<'_>,
    view: &View,
    primary: &Primary,
    server: &ServerView,
    decision: &mut Decision,
) {
    if view.unseen_template || decision.record.intent.is_some() {
        return;
    }
    let outdated = |pod: &&PodView| pod.outdated && !pod.terminating && !wish.leaves(&pod.name);
    let replicas: Vec<&PodView> = view.others(&primary.pod).filter(outdated).collect();
    let broken = replicas
        .iter()
        .find(|pod| pod.answering().is_none() && !pod.ready);
    if let Some(pod) = broken {
        return replace(pod, "it has an older template and does not run", decision);
    }
    let last = replicas.last();
    let is_alone =
        wish.spec.replicas == 1 && view.pods.get(&primary.pod).filter(outdated).is_some();
    if last.is_none() && !is_alone {
        return;
    }
    let others = wish.pods().into_iter().filter(|pod| *pod != primary.pod);
    let all_close = others.into_iter().all(|pod| {
        let pod = view.pods.get(&pod);
        pod.is_some_and(|pod| serving::is_close(wish, &primary.pod, server, pod))
    });
    let is_calm = decision.record.retiring.is_none() && decision.state == State::Healthy;
    match (last, view.pods.get(&primary.pod)) {
        _ if !all_close || !is_calm => {
            decision.wait_for("all to be well before Pods are replaced".to_owned())
        }
        (Some(pod), _) => replace(pod, "it has an older template", decision),
        (None, Some(pod)) => replace(
            pod,
            "it has an older template and no replica to hand over to",
            decision,
        ),
        (None, None) => {}
    }
}

/// Whether the primary alone has an older template.
#[must_use]
pub fn primary_is_last(wish: &Wish<'_>, view: &View, primary: &Primary) -> bool {
    let is_outdated = |pod: &PodView| pod.outdated && !wish.leaves(&pod.name);
    !view.unseen_template
        && wish.spec.replicas > 1
        && view.pods.get(&primary.pod).is_some_and(is_outdated)
        && !view.others(&primary.pod).any(is_outdated)
}

fn replace(pod: &PodView, why: &str, decision: &mut Decision) {
    decision.wait_for(format!("{} to be replaced", pod.name));
    decision.note("PodReplaced", format!("{} is replaced: {why}", pod.name));
    decision.order(Command::Replace(pod.name.clone()));
}

#[cfg(test)]
mod tests {
    use crate::decide::Command;
    use crate::status::IntentKind;
    use crate::testing::{P, R1, R2, Scene};

    fn outdated() -> Scene {
        let mut scene = Scene::healthy();
        for pod in [P, R1, R2] {
            scene.pod(pod).outdated = true;
        }
        scene
    }

    fn replaced(scene: &Scene) -> Vec<String> {
        let commands = scene.decide().commands.into_iter();
        commands
            .filter_map(|it| match it {
                Command::Replace(pod) => Some(pod),
                _ => None,
            })
            .collect()
    }

    #[test]
    fn replicas_go_first_one_at_a_time() {
        let mut scene = outdated();
        assert_eq!(replaced(&scene), [R2]);
        scene.pod(R2).outdated = false;
        scene.channel(R2).lag = Some(300);
        assert!(replaced(&scene).is_empty(), "R2 has to catch up");
        scene.channel(R2).lag = Some(0);
        assert_eq!(replaced(&scene), [R1]);
    }

    #[test]
    fn the_primary_hands_over_before_it_is_replaced() {
        let mut scene = outdated();
        scene.pod(R1).outdated = false;
        scene.pod(R2).outdated = false;
        assert!(replaced(&scene).is_empty());
        let decision = scene.decide();
        assert_eq!(decision.record.intent.unwrap().kind, IntentKind::Switchover);
    }

    #[test]
    fn a_broken_pod_is_replaced_whatever_else() {
        let mut scene = outdated();
        scene.silence(R1, 0);
        scene.pod(R1).ready = false;
        assert_eq!(replaced(&scene), [R1]);
    }
}
