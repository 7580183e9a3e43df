//! The primary takes writes: everything else is brought into step with it.

use windlass_sdk::quantity;

use crate::backup;
use crate::decide::{Command, Decision, State, Wish};
use crate::names::Names;
use crate::observe::{PodView, ServerView, View};
use crate::repair;
use crate::rolling;
use crate::status::{Primary, Record};
use crate::strays;
use crate::switchover;
use crate::voters;

/// A replica with more to receive than so many transactions is not close to the primary.
const CLOSE: u64 = 1_000;
/// Nor is one that is more than so many seconds behind.
const LAG: u64 = 10;

/// Keeps a cluster whose primary serves.
pub fn serve(
    wish: &Wish<'_>,
    view: &View,
    primary: &Primary,
    server: &ServerView,
    decision: &mut Decision,
) {
    decision.state = State::Healthy;
    announce(view, primary, decision);
    take_back(view, primary, decision);
    decision.record.missed_since = None;
    strays::shut(view, primary, decision);
    repair::repair(wish, view, primary, server, decision);
    voters::keep(wish, view, primary, server, decision);
    expect_everybody(wish, view, primary, server, decision);
    switchover::begin(wish, view, primary, server, decision);
    rolling::roll(wish, view, primary, server, decision);
    keep_volumes(wish, view, primary, decision);
    backup::keep(wish, view, primary, server, decision);
    if let (State::Healthy, Some(what)) = (&decision.state, &decision.pending) {
        decision.state = State::Degraded(what.clone());
    }
}

/// It was taken for lost, which was told, and is well without anybody having taken its place.
fn take_back(view: &View, primary: &Primary, decision: &mut Decision) {
    if let Some(lost) = decision.record.lost.take() {
        let text = format!(
            "{} takes writes again{}, still in epoch {}; it was taken for lost: {lost}",
            primary.pod,
            after(view),
            view.record.epoch
        );
        decision.note("PrimaryBack", text);
    }
}

/// It was seen taking writes for the first time in this epoch.
fn announce(view: &View, primary: &Primary, decision: &mut Decision) {
    if primary.writable_since.is_some() {
        return;
    }
    if let Some(recorded) = &mut decision.record.primary {
        recorded.writable_since = Some(view.now);
    }
    let (pod, epoch) = (&primary.pod, view.record.epoch);
    let text = format!("{pod} takes writes{}, in epoch {epoch}", after(view));
    decision.note("PrimaryReady", text);
}

/// How long no primary was seen taking writes, where there was such a time.
fn after(view: &View) -> String {
    let missed = view.record.missed_since;
    let paused = missed.map(|since| view.now.saturating_sub(since));
    paused.map_or(String::new(), |paused| {
        format!(" after {}.{} s without", paused / 1000, paused % 1000 / 100)
    })
}

/// Whether a replica follows the primary and has nearly everything.
#[must_use]
pub fn is_close(
    wish: &Wish<'_>,
    primary: &str,
    primary_server: &ServerView,
    pod: &PodView,
) -> bool {
    let host = wish.names.host(primary);
    pod.staying().is_some_and(|server| {
        let lag = server.channel.as_ref().and_then(|channel| channel.lag);
        server.is_linked_to(&host)
            && lag.is_some_and(|lag| lag <= LAG)
            && primary_server.executed.minus(&server.received()).count() <= CLOSE
    })
}

/// Says who is missing.
fn expect_everybody(
    wish: &Wish<'_>,
    view: &View,
    primary: &Primary,
    server: &ServerView,
    decision: &mut Decision,
) {
    let expected = wish.pods().into_iter().filter(|pod| *pod != primary.pod);
    let missing: Vec<String> = expected
        .filter(|name| {
            let pod = view.pods.get(name);
            !pod.is_some_and(|pod| is_close(wish, &primary.pod, server, pod))
        })
        .collect();
    if !missing.is_empty() {
        decision.wait_for(format!("{} to follow closely", missing.join(", ")));
    }
    let leaving = view.pods.values().filter(|pod| wish.leaves(&pod.name));
    let leaving: Vec<&str> = leaving.map(|pod| pod.name.as_str()).collect();
    if !leaving.is_empty() {
        decision.wait_for(format!("{} to leave", leaving.join(", ")));
    }
}

fn keep_volumes(wish: &Wish<'_>, view: &View, primary: &Primary, decision: &mut Decision) {
    if let Some(command) = mark(view, primary, &decision.record) {
        decision.order(command);
    }
    let wanted = quantity::bytes(&wish.spec.storage_size);
    for (pod, volume) in &view.volumes {
        let failed = view.failed.contains_key(&format!("grow/{pod}"));
        let asked = quantity::requested(&volume.claim);
        if !failed && matches!((asked, wanted), (Some(asked), Some(wanted)) if asked < wanted) {
            decision.order(Command::Grow(pod.clone()));
            decision.wait_for(format!("the volume {} to grow", Names::claim(pod)));
        }
    }
}

/// The primary's volume says since which epoch it is the primary's: the object may be deleted and made again.
#[must_use]
pub fn mark(view: &View, primary: &Primary, record: &Record) -> Option<Command> {
    let volume = view.volumes.get(&primary.pod)?;
    let marked = volume.epoch == Some(record.epoch);
    (!marked).then(|| Command::Mark(primary.pod.clone(), record.epoch))
}

#[cfg(test)]
mod tests {
    use crate::decide::{Command, State};
    use crate::testing::{P, Scene};

    #[test]
    fn while_all_is_well_nothing_is_done() {
        let decision = Scene::healthy().decide();
        assert_eq!(decision.state, State::Healthy);
        assert_eq!(
            (decision.commands, decision.notes, decision.pending),
            (vec![], vec![], None)
        );
        assert_eq!(decision.record, Scene::healthy().view.record);
    }

    #[test]
    fn a_primary_that_was_taken_for_lost_and_answers_again_is_told() {
        let mut scene = Scene::healthy();
        scene.view.record.lost = Some("it did not answer for 6 s".into());
        scene.view.record.missed_since = Some(scene.view.now - 6_500);
        let decision = scene.decide();
        assert_eq!(decision.reasons(), ["PrimaryBack"]);
        let text = &decision.notes[0].text;
        assert!(text.contains("again after 6.5 s without"), "{text}");
        assert_eq!(decision.record.lost, None);
    }

    #[test]
    fn the_primarys_volume_is_marked_with_its_epoch() {
        let mut scene = Scene::healthy();
        scene.view.volumes.get_mut(P).unwrap().epoch = None;
        assert!(scene.decide().orders(&Command::Mark(P.to_owned(), 1)));
    }
}
