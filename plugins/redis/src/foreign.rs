//! Somebody failed over by hand: another primary is adopted when it is certain that everybody follows it.

use crate::decide::{Decision, State};
use crate::observe::{PodView, ServerView, View};
use crate::planned;
use crate::status::{Foreign, Primary};

/// Between the two looks, in milliseconds.
const LOOKS: u64 = 2_000;

/// Adopts a foreign primary that was seen in two looks. True when this decides the round.
pub fn adopt(view: &View, primary: &Primary, decision: &mut Decision) -> bool {
    let Some((pod, server)) = seen(view, primary) else {
        decision.record.foreign = None;
        return false;
    };
    let noted = view.record.foreign.as_ref();
    let again = noted.filter(|noted| noted.pod == pod.name && noted.run_id == server.run_id);
    match again {
        Some(noted) if view.now >= noted.since + LOOKS => {
            decision.crown(view, pod, server, Vec::new());
            decision.warn(
                "PrimaryAdopted",
                format!("{} was made the primary by somebody else; every replica follows it", pod.name),
            );
            decision.state = State::Opening;
        }
        Some(_) => decision.state = State::Doubtful(doubt(pod)),
        None => {
            decision.record.foreign = Some(Foreign {
                pod: pod.name.clone(),
                run_id: server.run_id.clone(),
                since: view.now,
            });
            decision.state = State::Doubtful(doubt(pod));
        }
    }
    true
}

fn doubt(pod: &PodView) -> String {
    format!("{} takes itself for the primary", pod.name)
}

/// Another primary whose history begins where the recorded one's ends, and which everybody who answers follows.
fn seen<'v>(view: &'v View, primary: &Primary) -> Option<(&'v PodView, &'v ServerView)> {
    if planned::under_way(view) {
        return None;
    }
    let pod = view.others(&primary.pod).find(|pod| {
        let server = pod.staying();
        server.is_some_and(|server| server.is_primary() && server.replid2 == primary.replid)
    })?;
    let ip = pod.ip.as_deref()?;
    let mut others = view.others(&pod.name).filter_map(PodView::answering);
    others.all(|other| other.follows(ip)).then_some((pod, pod.staying()?))
}
