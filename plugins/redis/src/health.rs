//! Whether the recorded primary is well, doubtful or lost.

use crate::decide::Wish;
use crate::observe::{PodView, Server, ServerView, View};
use crate::status::Primary;

/// Shorter silence never counts, in milliseconds.
const SILENCE: u64 = 6_000;
/// So long this host itself must have missed the primary: three looks, two seconds apart.
const LOOKS: u64 = 4_000;
/// A note of a silence that is older than this host's own by more is void: nobody looked in between.
const VOID: u64 = 30_000;
/// A replica that heard from the primary within so many seconds is a witness that it lives.
const WITNESS: u64 = 2;

/// How the recorded primary stands.
#[derive(Debug, PartialEq)]
pub enum Health<'v> {
    /// It takes writes.
    Serving(&'v ServerView),
    /// It runs, but as a replica.
    Idle(&'v ServerView),
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
    /// Its Redis was restarted, and may have lost what it had.
    Restarted,
    /// It has been silent for too long, and no replica hears from it.
    Silent,
}

impl Loss {
    /// In words, after `it is lost: `.
    #[must_use]
    pub fn text(self) -> &'static str {
        match self {
            Self::Gone => "its Pod is gone",
            Self::Terminating => "its Pod is being deleted",
            Self::Replaced => "its Pod was replaced",
            Self::Restarted => "its Redis was restarted",
            Self::Silent => "it does not answer and no replica hears from it",
        }
    }
}

/// How the recorded primary stands.
#[must_use]
pub fn health<'v>(wish: &Wish<'_>, view: &'v View, primary: &Primary) -> Health<'v> {
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
        Server::Answers(server) if server.run_id != primary.run_id => Health::Lost(Loss::Restarted),
        Server::Answers(server) if server.is_primary() => Health::Serving(server),
        Server::Answers(server) => Health::Idle(server),
        Server::Refuses(why) => Health::Doubtful(format!(
            "{} runs, but does not let the operator in: {why}. A server keeps the passwords that it was started with: \
             if the Secret with them was made anew, delete the Pods of this Redis, replicas first",
            primary.pod
        )),
        Server::Silent(since) => silence(wish, view, primary, pod, *since),
        Server::Unasked => silence(wish, view, primary, pod, missed_since(view, primary)),
    }
}

/// Since when the primary is missed: as noted, unless nobody looked for long after the note.
#[must_use]
pub fn missed_since(view: &View, primary: &Primary) -> u64 {
    let noted = view.record.missed_since.filter(|noted| {
        match view.pods.get(&primary.pod).map(|pod| &pod.server) {
            Some(Server::Silent(since)) => *since <= noted + VOID,
            _ => true,
        }
    });
    noted.unwrap_or(view.now)
}

/// Three misses over at least six seconds, and no witness.
fn silence<'v>(
    wish: &Wish<'_>,
    view: &View,
    primary: &Primary,
    pod: &PodView,
    since: u64,
) -> Health<'v> {
    let hears = |other: &PodView| {
        let server = other.staying();
        pod.ip
            .as_deref()
            .is_some_and(|ip| server.is_some_and(|it| it.hears(ip, WITNESS)))
    };
    if view.others(&primary.pod).any(hears) {
        return Health::Doubtful(format!(
            "{} does not answer the operator, but a replica hears from it",
            primary.pod
        ));
    }
    let noted = missed_since(view, primary);
    if view.now >= noted + patience(wish) && view.now >= since + LOOKS {
        return Health::Lost(Loss::Silent);
    }
    Health::Doubtful(format!("{} does not answer", primary.pod))
}

/// The silence after which a primary counts as lost, in milliseconds.
fn patience(wish: &Wish<'_>) -> u64 {
    let asked = wish
        .spec
        .sentinel
        .as_ref()
        .and_then(|sentinel| sentinel.down_after_milliseconds);
    asked
        .and_then(|asked| u64::try_from(asked).ok())
        .unwrap_or(0)
        .max(SILENCE)
}

#[cfg(test)]
mod tests {
    use crate::decide::State;
    use crate::observe::{Server, Stance};
    use crate::testing::{MASTER, NOW, R0, R1, Scene, ip};

    #[test]
    fn a_primary_is_not_lost_at_the_first_miss() {
        let mut scene = Scene::healthy();
        scene.silence(NOW);
        let decision = scene.decide();
        assert_eq!(decision.primary(), MASTER);
        assert_eq!(decision.record.missed_since, Some(NOW));
        assert!(matches!(decision.state, State::Doubtful(_)));
        assert!(decision.commands.is_empty());
    }

    #[test]
    fn silence_counts_only_when_this_host_itself_looked_thrice() {
        let mut scene = Scene::healthy();
        scene.silence(NOW - 3_000);
        scene.view.record.missed_since = Some(NOW - 20_000);
        assert_eq!(scene.decide().primary(), MASTER);
    }

    #[test]
    fn a_note_that_nobody_continued_is_void() {
        let mut scene = Scene::healthy();
        scene.silence(NOW - 5_000);
        scene.view.record.missed_since = Some(NOW - 40_000);
        let decision = scene.decide();
        assert_eq!(decision.primary(), MASTER);
        assert_eq!(decision.record.missed_since, Some(NOW));
    }

    #[test]
    fn a_long_silence_is_not_noted_anew() {
        let mut scene = Scene::healthy();
        scene.silence(NOW - 300_000);
        scene.view.record.missed_since = Some(NOW - 300_000);
        scene.view.record.in_sync.clear();
        assert_eq!(scene.decide().record.missed_since, Some(NOW - 300_000));
    }

    #[test]
    fn a_replica_that_hears_from_the_primary_is_a_witness() {
        let mut scene = Scene::healthy();
        scene.pod(MASTER).server = Server::Silent(NOW - 60_000);
        scene.view.record.missed_since = Some(NOW - 60_000);
        let decision = scene.decide();
        assert_eq!(decision.primary(), MASTER);
        assert!(matches!(decision.state, State::Doubtful(_)));
    }

    #[test]
    fn a_primary_that_does_not_let_the_operator_in_is_not_lost() {
        let mut scene = Scene::healthy();
        scene.view.record.missed_since = Some(NOW - 300_000);
        for pod in [MASTER, R0, R1] {
            scene.pod(pod).server = Server::Refuses("WRONGPASS".into());
        }
        let decision = scene.decide();
        assert_eq!(decision.primary(), MASTER);
        let State::Doubtful(why) = decision.state else {
            panic!("{:?}", decision.state);
        };
        assert!(
            why.contains("WRONGPASS") && why.contains("delete the Pods"),
            "{why}"
        );
    }

    #[test]
    fn a_link_that_is_up_is_no_witness_when_nothing_comes_over_it() {
        let mut scene = Scene::healthy();
        scene.pod(MASTER).server = Server::Silent(NOW - 8_000);
        scene.view.record.missed_since = Some(NOW - 8_000);
        for pod in [R0, R1] {
            scene.server(pod).stance = Stance::Follows {
                host: ip(MASTER),
                linked: true,
                last_heard: Some(8),
                copying: false,
            };
        }
        assert_ne!(scene.decide().primary(), MASTER);
    }

    #[test]
    fn a_longer_patience_is_kept() {
        let mut scene = Scene::healthy();
        scene.spec.sentinel = serde_json::from_str(r#"{"downAfterMilliseconds": 20000}"#).unwrap();
        scene.silence(NOW - 15_000);
        scene.view.record.missed_since = Some(NOW - 15_000);
        assert_eq!(scene.decide().primary(), MASTER);
    }
}
