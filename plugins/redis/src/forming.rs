//! The first primary: of a new Redis, or of one whose volumes were kept.

use crate::decide::{Command, Decision, State, Wish};
use crate::failover::{forced, is_emptied, reopen};
use crate::names::FORCE_PRIMARY;
use crate::observe::{PodView, View, VolumeView};

/// Chooses the first primary once it is certain that no data is overlooked.
pub fn form(wish: &Wish<'_>, view: &View, decision: &mut Decision) {
    decision.record.boots_with_aof.get_or_insert(boots_with_aof(wish, view));
    if let Some((pod, server)) = forced(view) {
        decision.record.forced = view.force.clone();
        reopen(view, pod, server, "a person asked for it", decision);
    } else if let Some((pod, epoch)) = last_primary(view) {
        resume(wish, view, pod, epoch, decision);
    } else {
        begin(wish, view, decision);
    }
}

/// How the data of kept volumes is to be read; as the spec says where there is none.
#[must_use]
pub fn boots_with_aof(wish: &Wish<'_>, view: &View) -> bool {
    let last = last_primary(view).and_then(|(pod, _)| view.volumes.get(pod)?.aof);
    last.unwrap_or(wish.aof())
}

/// The Pod whose volume became the primary's last, by the marks on kept volumes.
fn last_primary(view: &View) -> Option<(&str, i64)> {
    let marked = view.volumes.iter().filter_map(|(pod, volume)| Some((pod.as_str(), volume.epoch?)));
    marked.max_by_key(|(_, epoch)| *epoch)
}

/// A Redis of this name ran before: the same Pod is the primary again, if it still has its data.
fn resume(wish: &Wish<'_>, view: &View, name: &str, epoch: i64, decision: &mut Decision) {
    decision.record.epoch = epoch;
    if !wish.pods().iter().any(|pod| pod == name) {
        decision.state = State::Stuck(format!(
            "the volume of {name} holds the newest data, but spec.replicas leaves that Pod out: raise \
             spec.replicas, or choose another Pod by the annotation {FORCE_PRIMARY}: POD"
        ));
        return;
    }
    let found = view.pods.get(name).and_then(|pod| Some((pod, pod.staying()?)));
    let Some((pod, server)) = found.filter(|(_, server)| server.is_whole()) else {
        decision.state = State::Forming(format!(
            "{name}, whose volume holds the newest data, does not answer yet"
        ));
        return;
    };
    if is_emptied(view, name, server) {
        decision.state = State::Stuck(format!(
            "{name} should hold the newest data but is empty, while another Pod is not: choose the Pod whose data \
             to keep by the annotation {FORCE_PRIMARY}: POD"
        ));
        return;
    }
    reopen(view, pod, server, "its volume holds the newest data", decision);
}

/// A new Redis: the first Pod is the primary, unless data is there whose age nobody knows.
fn begin(wish: &Wish<'_>, view: &View, decision: &mut Decision) {
    let with_data = view.pods.values().find(|pod| pod.answering().is_some_and(|it| it.keys > 0));
    if let Some(pod) = with_data {
        decision.state = State::Stuck(unmarked(&pod.name));
        return;
    }
    let is_old = |volume: &VolumeView| volume.created < view.created;
    let unread = view.volumes.iter().find(|(pod, volume)| is_old(volume) && !is_read(view, pod));
    if let Some((pod, _)) = unread {
        decision.state = match wish.pods().contains(pod) {
            true => State::Forming(format!("{pod}, whose volume is older than this Redis, does not answer yet")),
            false => State::Stuck(unmarked(pod)),
        };
        return;
    }
    let first = view.pods.get(&wish.names.first_primary());
    let ready = first.and_then(|pod| Some((pod, pod.staying()?)));
    let Some((pod, server)) = ready.filter(|(_, server)| server.is_whole()) else {
        decision.state =
            State::Forming(format!("{} does not answer yet", wish.names.first_primary()));
        return;
    };
    decision.crown(view, pod, server, Vec::new());
    decision.commands.push(Command::Open(server.target(&pod.name), 0));
    decision.note("PrimaryChosen", format!("opening {} as the first primary", pod.name));
    decision.state = State::Opening;
}

fn is_read(view: &View, pod: &str) -> bool {
    view.pods.get(pod).and_then(PodView::answering).is_some_and(|server| !server.loading)
}

fn unmarked(pod: &str) -> String {
    format!(
        "the volume of {pod} may hold data, and no volume says which Pod was the primary: choose the Pod whose data \
         to keep by the annotation {FORCE_PRIMARY}: POD"
    )
}
