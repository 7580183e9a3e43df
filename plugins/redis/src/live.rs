//! What changes while Redis runs: settings, the append-only file, volumes.

use windlass_sdk::quantity;

use crate::decide::{Command, Decision, Wish};
use crate::names::SIZE;
use crate::observe::{Aof, PodView, ServerView, View};

/// Brings every Redis that answers in step with the spec.
pub fn converge(wish: &Wish<'_>, view: &View, decision: &mut Decision) {
    for pod in view.pods.values() {
        if let Some(server) = pod.staying().filter(|server| !server.loading) {
            set(wish, pod, server, decision);
            switch_aof(wish, pod, server, decision);
        }
    }
    settle_boot(wish, view, decision);
    grow(wish, view, decision);
}

fn set(wish: &Wish<'_>, pod: &PodView, server: &ServerView, decision: &mut Decision) {
    for (name, value) in wish.settings.differing(&server.settings) {
        decision.wait_for(format!("setting {name} on {}", pod.name));
        decision
            .commands
            .push(Command::Set(server.target(&pod.name), name, value));
    }
}

fn switch_aof(wish: &Wish<'_>, pod: &PodView, server: &ServerView, decision: &mut Decision) {
    let on = server.aof != Aof::Off;
    if on != wish.aof() {
        let verb = if wish.aof() { "on" } else { "off" };
        decision.wait_for(format!(
            "turning the append-only file of {} {verb}",
            pod.name
        ));
        decision
            .commands
            .push(Command::SwitchAof(server.target(&pod.name), wish.aof()));
    }
}

/// Pods boot with the append-only file only once each has a complete one: booted from a missing one, Redis comes up
/// empty.
fn settle_boot(wish: &Wish<'_>, view: &View, decision: &mut Decision) {
    let wanted = if wish.aof() { Aof::On } else { Aof::Off };
    let settled = view
        .pods
        .values()
        .all(|pod| pod.answering().is_some_and(|it| it.aof == wanted));
    if settled {
        decision.record.boots_with_aof = Some(wish.aof());
    }
}

fn grow(wish: &Wish<'_>, view: &View, decision: &mut Decision) {
    let size = wish.spec.persistence.size.text();
    let rejected = view.record.rejected.get(SIZE);
    let refused = rejected.is_some_and(|rejected| rejected.value == size);
    let Some(wanted) = quantity::bytes(&size).filter(|_| !refused) else {
        return;
    };
    for (pod, volume) in &view.volumes {
        if quantity::requested(&volume.claim).is_some_and(|bytes| bytes < wanted) {
            decision.wait_for(format!("growing the volume of {pod}"));
            decision.commands.push(Command::Grow(pod.clone()));
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::decide::Command;
    use crate::observe::Aof;
    use crate::testing::{MASTER, R0, R1, Scene, target};

    #[test]
    fn a_setting_is_changed_only_where_it_differs() {
        let mut scene = Scene::healthy();
        scene
            .server(R1)
            .settings
            .insert("save".into(), "1 1".into());
        let set = Command::Set(target(R1), "save".into(), "900 1".into());
        assert_eq!(scene.decide().commands, [set]);
    }

    #[test]
    fn pods_boot_with_the_log_only_once_each_has_a_complete_one() {
        let mut scene = Scene::healthy();
        scene.view.record.boots_with_aof = Some(false);
        for (pod, aof) in [(MASTER, Aof::On), (R0, Aof::Starting), (R1, Aof::Off)] {
            scene.server(pod).aof = aof;
        }
        let decision = scene.decide();
        assert_eq!(decision.record.boots_with_aof, Some(false));
        assert!(decision.orders(&Command::SwitchAof(target(R1), true)));
        assert!(!decision.orders(&Command::SwitchAof(target(R0), true)));

        for pod in [R0, R1] {
            scene.server(pod).aof = Aof::On;
        }
        assert_eq!(scene.decide().record.boots_with_aof, Some(true));
    }

    #[test]
    fn volumes_only_grow() {
        for (size, grows) in [("20Gi", true), ("10Gi", false), ("5Gi", false)] {
            let mut scene = Scene::healthy();
            for volume in scene.view.volumes.values_mut() {
                let claim = r#"{"spec": {"resources": {"requests": {"storage": "10Gi"}}}}"#;
                volume.claim = serde_json::from_str(&claim.replacen(
                    '{',
                    r#"{"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {}, "#,
                    1,
                ))
                .unwrap();
            }
            scene.spec.persistence.size = serde_json::from_value(size.into()).unwrap();
            assert_eq!(
                scene.decide().orders(&Command::Grow(R0.into())),
                grows,
                "{size}"
            );
        }
    }
}
