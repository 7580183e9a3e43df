//! Redis servers that hang: they neither answer the operator nor pass their own Pod's readiness probe.

use crate::decide::Decision;
use crate::observe::{PodView, Server, View};

/// So long a Redis must have been silent, and its container running, in milliseconds.
const SILENCE: u64 = 60_000;

/// Replaces one frozen Pod. That the kubelet finds it dead too tells it from one that only the operator does not
/// reach, or cannot log in to.
pub fn replace(view: &View, decision: &mut Decision) {
    if let Some(pod) = view.pods.values().find(|pod| is_frozen(view, pod)) {
        decision.replace(&pod.name, "its Redis has not answered for 60 s");
    }
}

fn is_frozen(view: &View, pod: &PodView) -> bool {
    let long = |since: u64| view.now >= since + SILENCE;
    let silent = matches!(pod.server, Server::Silent(since) if long(since));
    silent && pod.running_since.is_some_and(long) && !pod.ready && !pod.terminating
}

#[cfg(test)]
mod tests {
    use crate::decide::Command;
    use crate::observe::Server;
    use crate::testing::{MASTER, NOW, R1, Scene};

    fn frozen(pod: &str, since: u64) -> Scene {
        let mut scene = Scene::healthy();
        scene.pod(pod).server = Server::Silent(since);
        scene.pod(pod).ready = false;
        scene
    }

    #[test]
    fn a_frozen_pod_is_replaced_after_a_minute() {
        for pod in [MASTER, R1] {
            let replace = Command::Replace(pod.into());
            assert!(
                !frozen(pod, NOW - 59_000).decide().orders(&replace),
                "{pod}"
            );
            assert!(frozen(pod, NOW - 60_000).decide().orders(&replace), "{pod}");
        }
    }

    #[test]
    fn a_pod_that_only_the_operator_does_not_reach_is_left_alone() {
        let mut scene = frozen(R1, NOW - 90_000);
        scene.pod(R1).ready = true;
        assert!(!scene.decide().orders(&Command::Replace(R1.into())));
    }

    #[test]
    fn a_pod_is_replaced_for_one_reason_at_a_time() {
        let mut scene = frozen(R1, NOW - 90_000);
        scene.pod(R1).outdated = true;
        let replaced = scene.decide().commands.into_iter();
        assert_eq!(
            replaced
                .filter(|it| *it == Command::Replace(R1.into()))
                .count(),
            1
        );
    }
}
