//! Whether the recorded primary is well, doubtful or lost.

use crate::observe::{PodView, Server, ServerView, View};
use crate::status::Primary;

/// Shorter silence never counts, in milliseconds.
const SILENCE: u64 = 6_000;
/// So long this host itself must have missed the primary: three looks, two seconds apart.
const LOOKS: u64 = 4_000;
/// A note of a silence that is older than this host's own by more is void: nobody looked in between.
const VOID: u64 = 30_000;
/// A replica that heard from the primary within so many milliseconds is a witness that it lives.
const WITNESS: u64 = 3_000;
/// A commit that waits longer for the storage than so many seconds will not end: the disk is full.
const STUCK: u64 = 10;
/// How far the start of a server, told in whole seconds, may be off, in milliseconds.
const START: u64 = 3_000;

/// How the recorded primary stands.
#[derive(Debug, PartialEq)]
pub enum Health<'v> {
    /// It takes writes.
    Serving(&'v ServerView),
    /// It runs and refuses writes: it was not told yet, or somebody made it so.
    Shut(&'v ServerView),
    /// It does not answer, and may yet live.
    Doubtful(String),
    /// It is certain that it is lost.
    Lost(Loss),
}

/// Why the primary is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// Its Pod is gone.
    Gone,
    /// Its Pod is being deleted.
    Terminating,
    /// Another Pod has its name.
    Replaced,
    /// Its data directory is another.
    Emptied,
    /// Its MySQL was restarted.
    Restarted,
    /// Its container does not run.
    Ended,
    /// Commits wait for its storage and do not end.
    Stuck,
    /// It has been silent for too long, and no replica hears from it.
    Silent,
}

impl Loss {
    /// In words, after `POD is lost: `.
    #[must_use]
    pub fn text(self) -> &'static str {
        match self {
            Self::Gone => "its Pod is gone",
            Self::Terminating => "its Pod is being deleted",
            Self::Replaced => "its Pod was replaced",
            Self::Emptied => "its data directory is another",
            Self::Restarted => "its MySQL was restarted",
            Self::Ended => "its MySQL has ended",
            Self::Stuck => "commits have been waiting for its disk for more than 10 s: is it full?",
            Self::Silent => "it does not answer and no replica hears from it",
        }
    }
}

/// How the recorded primary stands.
#[must_use]
pub fn health<'v>(view: &'v View, primary: &Primary) -> Health<'v> {
    let Some(pod) = view.pods.get(&primary.pod) else {
        return Health::Lost(Loss::Gone);
    };
    if pod.uid != primary.uid {
        return Health::Lost(Loss::Replaced);
    }
    if pod.terminating {
        return Health::Lost(Loss::Terminating);
    }
    match &pod.server {
        Server::Answers(server) => of_answer(primary, server),
        // The kubelet saw it end, or start again after it began to take writes.
        _ if pod.running_since.is_none() && primary.writable_since.is_some() => {
            Health::Lost(Loss::Ended)
        }
        _ if is_newer(primary, pod.running_since) => Health::Lost(Loss::Restarted),
        Server::Refuses(why) => Health::Doubtful(format!(
            "{} runs, but does not let the operator in: {why}",
            pod.name
        )),
        Server::Silent(since) => silence(view, primary, pod, *since),
        Server::Offline | Server::Unasked => {
            silence(view, primary, pod, missed_since(view, primary))
        }
    }
}

/// Every MySQL boots unwritable, so one that was restarted is known by that.
fn of_answer<'v>(primary: &Primary, server: &'v ServerView) -> Health<'v> {
    if server.uuid != primary.uuid {
        Health::Lost(Loss::Emptied)
    } else if server.stuck_commit > STUCK {
        Health::Lost(Loss::Stuck)
    } else if server.is_writable() {
        Health::Serving(server)
    } else if is_newer(primary, Some(server.started)) {
        Health::Lost(Loss::Restarted)
    } else {
        Health::Shut(server)
    }
}

/// Whether what was started then is not what took writes before.
fn is_newer(primary: &Primary, started: Option<u64>) -> bool {
    let writable = primary.writable_since;
    writable
        .zip(started)
        .is_some_and(|(writable, started)| started > writable + START)
}

/// Since when the primary is missed: as noted, unless nobody looked for long after the note.
#[must_use]
pub fn missed_since(view: &View, primary: &Primary) -> u64 {
    let server = view.pods.get(&primary.pod).map(|pod| &pod.server);
    let noted = view.record.missed_since.filter(|noted| match server {
        Some(Server::Silent(since)) => *since <= noted + VOID,
        _ => true,
    });
    noted.unwrap_or(view.now)
}

/// Three misses over at least six seconds, and no witness.
fn silence<'v>(view: &View, primary: &Primary, pod: &PodView, since: u64) -> Health<'v> {
    if let Some(witness) = witness(view, primary) {
        return Health::Doubtful(format!(
            "{} does not answer the operator, but {witness} hears from it",
            pod.name
        ));
    }
    let noted = missed_since(view, primary);
    if view.now >= noted + SILENCE && view.now >= since + LOOKS {
        return Health::Lost(Loss::Silent);
    }
    Health::Doubtful(format!("{} does not answer", pod.name))
}

/// A voter that heard from the primary a moment ago. Being connected alone lasts for a minute after a freeze.
fn witness<'v>(view: &'v View, primary: &Primary) -> Option<&'v str> {
    let hears = |pod: &&PodView| {
        let channel = pod.answering().and_then(|server| server.channel.as_ref());
        channel.is_some_and(|channel| {
            channel.host.starts_with(&format!("{}.", primary.pod))
                && channel.heard.is_some_and(|age| age <= WITNESS)
        })
    };
    let witness = view.others(&primary.pod).find(hears)?;
    Some(&witness.name)
}

#[cfg(test)]
mod tests {
    use super::{Health, Loss, health};
    use crate::decide::State;
    use crate::observe::Server;
    use crate::testing::{NOW, P, Scene};

    fn loss(scene: &Scene) -> Option<Loss> {
        let primary = scene.view.record.primary.clone().unwrap();
        match health(&scene.view, &primary) {
            Health::Lost(loss) => Some(loss),
            _ => None,
        }
    }

    #[test]
    fn what_is_certain_counts_at_once() {
        for (change, expected) in [
            ((|scene| scene.lose(P)) as fn(&mut Scene), Loss::Gone),
            (|scene| scene.pod(P).uid = "another".into(), Loss::Replaced),
            (|scene| scene.pod(P).terminating = true, Loss::Terminating),
            (
                |scene| scene.server(P).uuid = "another".into(),
                Loss::Emptied,
            ),
            (|scene| scene.restart(P), Loss::Restarted),
            (|scene| scene.server(P).stuck_commit = 11, Loss::Stuck),
            (
                |scene| {
                    scene.silence(P, NOW);
                    scene.pod(P).running_since = None;
                },
                Loss::Ended,
            ),
            (
                |scene| {
                    scene.silence(P, NOW);
                    scene.pod(P).running_since = Some(NOW - 1_000);
                },
                Loss::Restarted,
            ),
        ] {
            let mut scene = Scene::healthy();
            change(&mut scene);
            assert_eq!(loss(&scene), Some(expected));
        }
    }

    #[test]
    fn silence_counts_after_six_seconds_and_three_looks() {
        let mut scene = Scene::healthy();
        scene.heard(9_000);
        scene.silence(P, NOW);
        let decision = scene.step();
        assert!(matches!(decision.state, State::Doubtful(_)));
        assert_eq!(decision.record.missed_since, Some(NOW));
        scene.view.now = NOW + 5_000;
        assert_eq!(loss(&scene), None);
        scene.view.now = NOW + 6_000;
        assert_eq!(loss(&scene), Some(Loss::Silent));
    }

    #[test]
    fn a_replica_that_hears_from_it_is_a_witness() {
        let mut scene = Scene::healthy();
        scene.silence(P, NOW);
        scene.view.record.missed_since = Some(NOW);
        scene.view.now = NOW + 60_000;
        scene.heard(2_900);
        assert_eq!(loss(&scene), None);
        scene.heard(3_100);
        assert_eq!(loss(&scene), Some(Loss::Silent));
    }

    #[test]
    fn one_that_does_not_let_the_operator_in_is_not_lost() {
        let mut scene = Scene::healthy();
        scene.heard(9_000);
        scene.view.record.missed_since = Some(NOW - 300_000);
        scene.pod(P).server = Server::Refuses("Access denied".into());
        assert_eq!(loss(&scene), None);
        assert!(
            matches!(scene.decide().state, State::Doubtful(why) if why.contains("Access denied"))
        );
        scene.pod(P).running_since = Some(NOW - 1_000);
        assert_eq!(loss(&scene), Some(Loss::Restarted));
    }

    #[test]
    fn a_note_of_long_ago_does_not_count_for_a_host_that_just_began_to_look() {
        let mut scene = Scene::healthy();
        scene.heard(9_000);
        scene.silence(P, NOW);
        scene.view.record.missed_since = Some(NOW - 60_000);
        assert_eq!(loss(&scene), None);
    }

    #[test]
    fn one_that_a_person_made_read_only_is_opened_again() {
        let mut scene = Scene::healthy();
        let server = scene.server(P);
        (server.read_only, server.super_read_only) = (true, true);
        assert_eq!(loss(&scene), None);
        assert!(matches!(scene.decide().state, State::Opening(_)));
    }

    #[test]
    fn one_that_was_taken_offline_is_silent() {
        let mut scene = Scene::healthy();
        scene.heard(9_000);
        scene.pod(P).server = Server::Offline;
        assert!(matches!(scene.decide().state, State::Doubtful(_)));
    }
}
