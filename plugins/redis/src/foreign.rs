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
                format!(
                    "{} was made the primary by somebody else; every replica follows it",
                    pod.name
                ),
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
    others
        .all(|other| other.follows(ip))
        .then_some((pod, pod.staying()?))
}

#[cfg(test)]
mod tests {
    use crate::decide::{Command, State};
    use crate::testing::{HISTORY, MASTER, NOW, R0, R1, Scene};

    /// Somebody made R0 the primary, and everybody follows it.
    fn by_hand() -> Scene {
        let mut scene = Scene::healthy();
        scene.lead(R0);
        scene.server(R0).replid = "history-2".into();
        scene.server(R0).replid2 = HISTORY.into();
        scene.link(MASTER, R0);
        scene.link(R1, R0);
        scene
    }

    #[test]
    fn a_foreign_primary_is_adopted_at_the_second_look() {
        let mut scene = by_hand();
        let first = scene.decide();
        assert_eq!(first.primary(), MASTER);
        assert!(matches!(first.state, State::Doubtful(_)));
        assert!(
            !first
                .commands
                .iter()
                .any(|it| matches!(it, Command::Open(..) | Command::Follow(..)))
        );

        scene.view.record = first.record;
        scene.view.now = NOW + 2_000;
        let second = scene.decide();
        assert_eq!(second.primary(), R0);
        assert_eq!(second.record.epoch, 2);
    }

    #[test]
    fn a_foreign_primary_that_not_everybody_follows_is_not_adopted() {
        let mut scene = by_hand();
        scene.link(R1, MASTER);
        let decision = scene.decide();
        assert_eq!(decision.record.foreign, None);
        assert_eq!(decision.primary(), MASTER);
    }

    #[test]
    fn a_primary_of_an_older_epoch_is_never_adopted() {
        let mut scene = by_hand();
        scene.server(R0).replid2 = "history-0".into();
        assert_eq!(scene.decide().record.foreign, None);
    }

    #[test]
    fn the_recorded_primary_that_still_serves_is_no_follower() {
        let mut scene = by_hand();
        scene.lead(MASTER);
        assert_eq!(scene.decide().record.foreign, None);
    }
}
