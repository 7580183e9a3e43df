//! What changes while Redis runs: settings, the append-only file, volumes.

use crate::decide::{Command, Decision, Wish};
use crate::observe::{Aof, PodView, ServerView, View};
use crate::quantity;

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
        decision.commands.push(Command::Set(server.target(&pod.name), name, value));
    }
}

fn switch_aof(wish: &Wish<'_>, pod: &PodView, server: &ServerView, decision: &mut Decision) {
    let on = server.aof != Aof::Off;
    if on != wish.aof() {
        let verb = if wish.aof() { "on" } else { "off" };
        decision.wait_for(format!("turning the append-only file of {} {verb}", pod.name));
        decision.commands.push(Command::SwitchAof(server.target(&pod.name), wish.aof()));
    }
}

/// Pods boot with the append-only file only once each has a complete one: booted from a missing one, Redis comes up
/// empty.
fn settle_boot(wish: &Wish<'_>, view: &View, decision: &mut Decision) {
    let wanted = if wish.aof() { Aof::On } else { Aof::Off };
    let settled = view.pods.values().all(|pod| pod.answering().is_some_and(|it| it.aof == wanted));
    if settled {
        decision.record.boots_with_aof = Some(wish.aof());
    }
}

fn grow(wish: &Wish<'_>, view: &View, decision: &mut Decision) {
    let size = wish.spec.persistence.size.text();
    let rejected = view.record.rejected.get(quantity::SIZE);
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
