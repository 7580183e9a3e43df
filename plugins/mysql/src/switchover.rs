//! A primary that is well hands over: on request, before its Pod leaves, and before its Pod is replaced.

use crate::decide::{Command, Decision, State, Wish};
use crate::failover;
use crate::health::{self, Health};
use crate::names::SWITCHOVER;
use crate::observe::{PodView, ServerView, View};
use crate::rolling;
use crate::serving;
use crate::status::{Intent, IntentKind, Primary};
use crate::voters;

/// A hand-over gets so long before it is rolled back, in milliseconds.
const DEADLINE: u64 = 20_000;

/// Decides on a hand-over, where one is asked for or needed.
pub fn begin(
    wish: &Wish<'_>,
    view: &View,
    primary: &Primary,
    server: &ServerView,
    decision: &mut Decision,
) {
    let Some((why, asked)) = reason(wish, view, primary, decision) else {
        return;
    };
    if let Some(pod) = asked.as_deref().filter(|pod| *pod == primary.pod) {
        follow_annotation(view, decision);
        return decision.note("SwitchoverDone", format!("{pod} is the primary already"));
    }
    let pods = wish.pods();
    if let Some(pod) = asked.as_ref().filter(|pod| !pods.contains(pod)) {
        follow_annotation(view, decision);
        let text = format!("{pod} is not one of {}: nothing is done", pods.join(", "));
        return decision.warn("SwitchoverRefused", text);
    }
    // A hand-over does not start while anything else is being done to replicas.
    let is_calm =
        decision.record.retiring.is_none() && !matches!(decision.state, State::Cloning(_));
    let target = candidates(wish, view, primary, server)
        .into_iter()
        .find(|pod| asked.as_ref().is_none_or(|asked| *asked == pod.name))
        .filter(|_| is_calm);
    let Some(target) = target else {
        let to = asked.as_deref().unwrap_or("any replica");
        return decision.wait_for(format!(
            "{to} to follow closely and acknowledge before it takes over: {why}"
        ));
    };
    if wish_is_annotated(view, decision) {
        follow_annotation(view, decision);
    }
    decision.note(
        "SwitchoverStarted",
        format!("{} hands over to {}: {why}", primary.pod, target.name),
    );
    decision.state = State::Switching(target.name.clone());
    decision.record.intent = Some(Intent {
        kind: IntentKind::Switchover,
        epoch: view.record.epoch + 1,
        why,
        since: view.now,
        to: Some(target.name.clone()),
        frozen: false,
    });
    decision.order(Command::Freeze(server.target(&primary.pod)));
}

/// Why the primary should be another, and which one a person asked for.
fn reason(
    wish: &Wish<'_>,
    view: &View,
    primary: &Primary,
    decision: &Decision,
) -> Option<(String, Option<String>)> {
    if wish_is_annotated(view, decision) {
        let asked = view.annotations.get(SWITCHOVER)?;
        let asked = (!asked.is_empty()).then(|| asked.clone());
        return Some((format!("the annotation {SWITCHOVER} asks for it"), asked));
    }
    if wish.leaves(&primary.pod) && wish.spec.replicas > 0 {
        return Some((format!("{} leaves with the scale-in", primary.pod), None));
    }
    rolling::primary_is_last(wish, view, primary)
        .then(|| (format!("{} is to be replaced", primary.pod), None))
}

fn wish_is_annotated(view: &View, decision: &Decision) -> bool {
    let asked = view.annotations.get(SWITCHOVER);
    asked.is_some() && decision.record.followed.get(SWITCHOVER) != asked
}

fn follow_annotation(view: &View, decision: &mut Decision) {
    if let Some(asked) = view.annotations.get(SWITCHOVER) {
        decision
            .record
            .followed
            .insert(SWITCHOVER.to_owned(), asked.clone());
    }
}

/// Voters that stay and follow closely; one that need not be replaced itself comes first.
fn candidates<'v>(
    wish: &Wish<'_>,
    view: &'v View,
    primary: &Primary,
    server: &ServerView,
) -> Vec<&'v PodView> {
    let is_voter = |pod: &PodView| {
        let replica = pod.answering();
        let voters = &view.record.voters;
        replica.is_some_and(|replica| {
            voters
                .iter()
                .any(|voter| voter.pod == pod.name && voter.uuid == replica.uuid)
        })
    };
    let fit = view.others(&primary.pod).filter(|pod| {
        is_voter(pod)
            && !wish.leaves(&pod.name)
            && !view.record.errant.contains_key(&pod.name)
            && serving::is_close(wish, &primary.pod, server, pod)
    });
    let mut fit: Vec<&PodView> = fit.collect();
    fit.sort_by_key(|pod| (pod.outdated, wish.names.ordinal(&pod.name)));
    fit
}

/// A hand-over is under way: freeze, let the target catch up, and commit; or roll back.
pub fn proceed(wish: &Wish<'_>, view: &View, intent: &Intent, decision: &mut Decision) {
    let to = intent.to.clone().unwrap_or_default();
    decision.state = State::Switching(to.clone());
    let Some(primary) = &view.record.primary else {
        decision.record.intent = None;
        return;
    };
    let server = match health::health(view, primary) {
        Health::Serving(server) | Health::Shut(server) => server,
        Health::Doubtful(why) if view.now < intent.since + DEADLINE => {
            decision.record.missed_since = Some(health::missed_since(view, primary));
            decision.state = State::Doubtful(why);
            return;
        }
        Health::Doubtful(_) => return roll_back(primary, &to, decision),
        Health::Lost(loss) => {
            decision.record.intent = None;
            return failover::begin(wish, view, primary, &loss, decision);
        }
    };
    if view.now >= intent.since + DEADLINE {
        return roll_back(primary, &to, decision);
    }
    // The variable reads 1 while the statement still waits for a commit: only its return says that no more follows.
    let returned = view.done.contains(&format!("freeze/{}", primary.pod));
    if !(intent.frozen || returned && server.super_read_only) {
        return decision.order(Command::Freeze(server.target(&primary.pod)));
    }
    if let Some(standing) = &mut decision.record.intent {
        standing.frozen = true;
    }
    hand_over(view, intent, primary, server, &to, decision);
}

fn hand_over(
    view: &View,
    intent: &Intent,
    primary: &Primary,
    server: &ServerView,
    to: &str,
    decision: &mut Decision,
) {
    let Some(pod) = view.pods.get(to) else {
        return roll_back(primary, to, decision);
    };
    let Some(target) = pod.staying() else {
        return;
    };
    if !target.executed.contains(&server.executed) {
        let stopped = target
            .channel
            .as_ref()
            .is_some_and(|channel| !channel.applying);
        if stopped {
            decision.order(Command::Apply(target.target(to)));
        }
        return;
    }
    let others = view
        .record
        .voters
        .iter()
        .filter(|voter| voter.pod != to)
        .filter_map(|voter| Some((view.pods.get(&voter.pod)?, view.of_voter(voter)?)));
    let old = view.pods.get(&primary.pod).map(|pod| (pod, server));
    let others: Vec<_> = others.chain(old).collect();
    let wait_count = decision.record.wait_count.unwrap_or(0);
    decision.record.voters = voters::entitled(target, &others, wait_count);
    decision.record.missed_since = Some(intent.since);
    decision.crown(pod, target, intent.epoch);
    decision.note(
        "PrimaryMoved",
        format!(
            "{to} becomes the primary in epoch {}: {}",
            intent.epoch, intent.why
        ),
    );
}

/// The target was never opened: the old primary goes on.
fn roll_back(primary: &Primary, to: &str, decision: &mut Decision) {
    decision.record.intent = None;
    decision.state = State::Opening(format!("{} is to go on", primary.pod));
    decision.warn(
        "SwitchoverFailed",
        format!(
            "{to} did not take over within {} s: {} goes on",
            DEADLINE / 1000,
            primary.pod
        ),
    );
}

#[cfg(test)]
mod tests {
    use crate::decide::{Command, State};
    use crate::names::SWITCHOVER;
    use crate::status::IntentKind;
    use crate::testing::{P, R1, R2, Scene, gtids, target};

    fn asked(pod: &str) -> Scene {
        let mut scene = Scene::healthy();
        scene.annotate(SWITCHOVER, pod);
        scene
    }

    /// The statement that freezes the primary returned.
    fn freeze(scene: &mut Scene) {
        let server = scene.server(P);
        (server.read_only, server.super_read_only) = (true, true);
        scene.view.done.insert(format!("freeze/{P}"));
    }

    #[test]
    fn it_is_announced_and_the_primary_frozen() {
        let decision = asked(R2).decide();
        let intent = decision.record.intent.as_ref().unwrap();
        assert_eq!(
            (intent.kind, intent.to.as_deref()),
            (IntentKind::Switchover, Some(R2))
        );
        assert!(decision.orders(&Command::Freeze(target(P))));
        assert_eq!(decision.record.epoch, 1);
    }

    #[test]
    fn a_variable_that_reads_1_while_the_statement_waits_is_no_freeze() {
        let mut scene = asked(R2);
        scene.step();
        freeze(&mut scene);
        scene.view.done.clear();
        let decision = scene.step();
        assert_eq!(decision.primary(), P);
        assert!(decision.orders(&Command::Freeze(target(P))));
    }

    #[test]
    fn the_target_takes_over_once_it_has_everything_and_the_old_one_may_acknowledge() {
        let mut scene = asked(R2);
        scene.step();
        freeze(&mut scene);
        scene.server(P).executed = gtids("A:1-101");
        assert_eq!(scene.step().primary(), P);
        scene.view.done.clear();
        for pod in [R1, R2] {
            scene.has(pod, "", "A:1-101");
        }
        let decision = scene.step();
        assert_eq!((decision.primary(), decision.record.epoch), (R2, 2));
        assert_eq!(decision.voters(), [P, R1]);
    }

    #[test]
    fn it_is_rolled_back_at_its_deadline() {
        let mut scene = asked(R2);
        scene.step();
        scene.view.now += 20_000;
        let decision = scene.step();
        assert_eq!(
            (decision.primary(), decision.record.intent.is_none()),
            (P, true)
        );
        assert!(decision.reasons().contains(&"SwitchoverFailed"));
        assert!(
            scene.decide().record.intent.is_none(),
            "once for each time that it is set"
        );
    }

    #[test]
    fn a_primary_that_dies_in_the_middle_is_followed_by_a_failover() {
        let mut scene = asked(R2);
        scene.step();
        scene.lose(P);
        let decision = scene.step();
        assert_eq!(decision.record.intent.unwrap().kind, IntentKind::Failover);
    }

    #[test]
    fn a_pod_that_is_no_voter_is_waited_for() {
        let mut scene = asked(R2);
        scene.channel(R2).lag = Some(300);
        let decision = scene.decide();
        assert_eq!(decision.record.intent, None);
        assert!(
            decision.pending.unwrap().contains("my-database-1")
                || matches!(decision.state, State::Degraded(_))
        );
    }

    #[test]
    fn a_pod_that_is_none_of_its_own_is_refused_once() {
        let mut scene = asked("my-database-9");
        let decision = scene.step();
        assert!(decision.reasons().contains(&"SwitchoverRefused"));
        assert_eq!(decision.record.intent, None);
        assert!(!scene.decide().reasons().contains(&"SwitchoverRefused"));
    }

    #[test]
    fn a_primary_that_leaves_with_a_scale_in_hands_over_first() {
        let mut scene = asked(R1);
        scene.step();
        freeze(&mut scene);
        scene.step();
        assert_eq!(scene.view.record.primary.as_ref().unwrap().pod, R1);
        let mut scene = Scene::healthy();
        scene.spec.replicas = 1;
        assert_eq!(scene.decide().record.intent, None, "it stays");
    }
}
