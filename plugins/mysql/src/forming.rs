//! No primary was ever chosen: new volumes, or the volumes of a cluster that was deleted and made again.

use crate::decide::{Command, Decision, State, Wish};
use crate::force;
use crate::gtid::GtidSet;
use crate::names::FORCE_PRIMARY;
use crate::observe::{PodView, ServerView, View};
use crate::version;
use crate::voters;

/// An instance that never had data is waited for so long, in milliseconds since the object was made.
const PATIENCE: u64 = 90_000;

/// A Pod that answers.
type Member<'v> = (&'v PodView, &'v ServerView);

/// Chooses the first primary.
pub fn form(wish: &Wish<'_>, view: &View, decision: &mut Decision) {
    decision
        .record
        .version
        .get_or_insert_with(|| wish.spec.version.clone());
    decision.record.wait_count = Some(wish.wait_count());
    let members = members(wish, view);
    if let Some((pod, server)) = members
        .iter()
        .find(|(_, server)| !version::is_supported(&server.version))
    {
        let text = format!(
            "{} runs MySQL {}: {}",
            pod.name,
            server.version,
            version::TOO_OLD
        );
        decision.state = State::Stuck(text);
        return;
    }
    choose(wish, view, &members, decision);
    if decision.record.primary.is_none()
        && let Some(chosen) = forced(wish, view, &members, decision)
    {
        crown(wish, view, chosen, &members, decision);
    }
}

/// Chooses whoever has everything that anybody has, once everybody is there.
fn choose(wish: &Wish<'_>, view: &View, members: &[Member<'_>], decision: &mut Decision) {
    if let Some(why) = who_is_missing(wish, view, members) {
        decision.state = State::Incomplete(why);
        return;
    }
    for (pod, server) in members.iter().filter(|(_, server)| !server.is_drained()) {
        if server
            .channel
            .as_ref()
            .is_some_and(|channel| !channel.applying)
        {
            decision.order(Command::Apply(server.target(&pod.name)));
        }
    }
    match most_complete(wish, members) {
        None => decision.state = State::Stuck(way_out(members)),
        Some((pod, server)) if !server.is_drained() => {
            decision.state = State::Incomplete(format!("{} applies what it received", pod.name));
        }
        Some(chosen) => crown(wish, view, chosen, members, decision),
    }
}

fn members<'v>(wish: &Wish<'_>, view: &'v View) -> Vec<Member<'v>> {
    let expected = wish.pods();
    let pods = view
        .pods
        .values()
        .filter(|pod| expected.contains(&pod.name));
    pods.filter_map(|pod| Some((pod, pod.staying()?))).collect()
}

/// Everybody is waited for. Of those that cannot have data, as many as the spec can do without may be missing.
fn who_is_missing(wish: &Wish<'_>, view: &View, members: &[Member<'_>]) -> Option<String> {
    let there = |pod: &String| members.iter().any(|(member, _)| member.name == *pod);
    let missing: Vec<String> = wish.pods().into_iter().filter(|pod| !there(pod)).collect();
    let left_out = view.volumes.iter().find(|(pod, _)| wish.leaves(pod));
    if let Some((pod, _)) = left_out.filter(|(_, volume)| volume.epoch.is_some()) {
        return Some(format!(
            "the volume of {pod} was a primary's, and spec.replicas leaves it out: raise spec.replicas, or annotate \
             this object with {FORCE_PRIMARY}: POD to begin without it"
        ));
    }
    if missing.is_empty() {
        return None;
    }
    let may_have_data = |pod: &String| {
        view.volumes
            .get(pod)
            .is_some_and(|volume| volume.created < view.created)
    };
    let enough = members.len() > wish.wait_count() as usize;
    let is_new = members
        .iter()
        .all(|(_, server)| server.received().is_empty());
    let waited = view.now >= view.created + PATIENCE;
    if waited && enough && is_new && !missing.iter().any(may_have_data) {
        return None;
    }
    let missing = missing
        .iter()
        .map(|pod| format!("{pod}{}", view.trouble(pod)));
    Some(format!(
        "{} to answer",
        missing.collect::<Vec<_>>().join(", ")
    ))
}

/// Who has everything that anybody has: the first by number.
fn most_complete<'v>(wish: &Wish<'_>, members: &[Member<'v>]) -> Option<Member<'v>> {
    let all = members.iter();
    let everything = all.fold(GtidSet::default(), |sum, (_, server)| {
        sum.and(&server.received())
    });
    let whole = members
        .iter()
        .filter(|(_, server)| server.received().contains(&everything));
    whole
        .min_by_key(|(pod, _)| wish.names.ordinal(&pod.name))
        .copied()
}

/// A person's choice, where nobody is the best, or everybody had time to answer.
fn forced<'v>(
    wish: &Wish<'_>,
    view: &View,
    members: &[Member<'v>],
    decision: &mut Decision,
) -> Option<Member<'v>> {
    let asked = force::choice(wish, view, decision)?;
    let is_stuck = matches!(decision.state, State::Stuck(_));
    if !is_stuck && view.now < view.created + PATIENCE {
        force::wait(decision);
        return None;
    }
    let chosen = members.iter().find(|(pod, _)| pod.name == asked)?;
    force::follow(decision, &asked);
    Some(*chosen)
}

fn crown(
    wish: &Wish<'_>,
    view: &View,
    (pod, server): Member<'_>,
    members: &[Member<'_>],
    decision: &mut Decision,
) {
    let others = members.iter().filter(|(other, _)| other.name != pod.name);
    let others: Vec<Member<'_>> = others.copied().collect();
    let epochs = view.volumes.values().filter_map(|volume| volume.epoch);
    let epoch = epochs.max().unwrap_or(0) + 1;
    decision.record.voters = voters::entitled(server, &others, wish.wait_count());
    decision.crown(pod, server, epoch);
    decision.note(
        "PrimaryChosen",
        format!("{} becomes the first primary, in epoch {epoch}", pod.name),
    );
}

fn way_out(members: &[Member<'_>]) -> String {
    let sets = members
        .iter()
        .map(|(pod, server)| format!("{}: {}", pod.name, server.received()));
    let sets: Vec<String> = sets.collect();
    format!(
        "no volume has everything that the others have ({}). Annotate this object with {FORCE_PRIMARY}: POD to begin \
         with that one",
        sets.join("; ")
    )
}

#[cfg(test)]
mod tests {
    use crate::decide::{Command, State};
    use crate::names::FORCE_PRIMARY;
    use crate::testing::{NOW, P, R1, R2, Scene, gtids, voter};

    #[test]
    fn on_new_volumes_the_first_pod_becomes_the_primary_and_the_others_voters() {
        let decision = Scene::new().decide();
        assert_eq!((decision.primary(), decision.record.epoch), (P, 1));
        assert_eq!(decision.record.voters, [voter(R1), voter(R2)]);
        assert_eq!(decision.record.wait_count, Some(1));
        assert!(decision.commands.is_empty(), "the record is stored first");
    }

    #[test]
    fn everybody_is_waited_for() {
        let mut scene = Scene::new();
        scene.lose(R2);
        let decision = scene.decide();
        assert_eq!(decision.state, State::Incomplete(format!("{R2} to answer")));
        assert_eq!(decision.record.primary, None);
    }

    #[test]
    fn one_that_cannot_have_data_is_not_waited_for_for_ever() {
        let mut scene = Scene::new();
        scene.lose(R2);
        scene.view.created = NOW - 90_000;
        for volume in scene.view.volumes.values_mut() {
            volume.created = NOW - 80_000;
        }
        assert_eq!(scene.decide().primary(), P);
        scene.view.volumes.get_mut(R2).unwrap().created = NOW - 100_000;
        assert_eq!(
            scene.decide().record.primary,
            None,
            "its volume is older than the object"
        );
    }

    #[test]
    fn of_old_volumes_the_one_with_the_most_is_chosen() {
        let mut scene = Scene::new();
        scene.server(P).executed = gtids("A:1-90");
        scene.server(R1).executed = gtids("A:1-100");
        scene.server(R2).executed = gtids("A:1-95");
        scene.view.volumes.get_mut(P).unwrap().epoch = Some(4);
        let decision = scene.decide();
        assert_eq!((decision.primary(), decision.record.epoch), (R1, 5));
        assert!(decision.record.voters.is_empty(), "none has everything yet");
    }

    #[test]
    fn what_was_received_is_applied_first() {
        let mut scene = Scene::healthy();
        scene.view.record = crate::status::Record::default();
        for pod in [P, R1, R2] {
            scene.restart(pod);
        }
        scene.has(R2, "A:101", "A:1-100");
        let decision = scene.decide();
        assert_eq!(decision.record.primary, None);
        assert!(
            decision
                .commands
                .iter()
                .any(|it| matches!(it, Command::Apply(_)))
        );
    }

    #[test]
    fn data_that_cannot_be_compared_asks_for_a_person() {
        let mut scene = Scene::new();
        scene.server(P).executed = gtids("A:1");
        scene.server(R1).executed = gtids("B:1");
        let decision = scene.step();
        assert!(matches!(decision.state, State::Stuck(_)));
        assert!(decision.trouble().contains(FORCE_PRIMARY));
        scene.annotate(FORCE_PRIMARY, R1);
        assert_eq!(scene.decide().primary(), R1);
    }

    #[test]
    fn a_choice_waits_while_everybody_may_yet_answer() {
        let mut scene = Scene::new();
        scene.server(R1).executed = gtids("A:1-90");
        scene.annotate(FORCE_PRIMARY, R1);
        scene.lose(P);
        let decision = scene.decide();
        assert_eq!(decision.record.primary, None);
        assert!(decision.unanswered.is_some());
        scene.view.created = NOW - 90_000;
        let decision = scene.decide();
        assert_eq!(
            (decision.primary(), decision.unanswered.is_none()),
            (R1, true)
        );
        assert_eq!(decision.reasons(), ["FailoverForced", "PrimaryChosen"]);
    }

    #[test]
    fn an_annotation_that_stayed_in_a_file_never_beats_the_one_with_the_most() {
        let mut scene = Scene::new();
        scene.server(P).executed = gtids("A:1-100");
        scene.server(R1).executed = gtids("A:1-90");
        scene.annotate(FORCE_PRIMARY, R1);
        assert_eq!(scene.decide().primary(), P);
    }

    #[test]
    fn a_choice_without_data_is_refused() {
        let mut scene = Scene::new();
        scene.server(P).executed = gtids("A:1");
        scene.server(R1).executed = gtids("B:1");
        scene.annotate(FORCE_PRIMARY, R2);
        let decision = scene.decide();
        assert_eq!(decision.reasons(), ["ForceRefused"]);
        assert_eq!(decision.record.primary, None);
    }

    #[test]
    fn a_volume_of_a_primary_that_is_left_out_asks_for_a_person() {
        let mut scene = Scene::new();
        scene.spec.replicas = 2;
        scene.view.volumes.get_mut(R2).unwrap().epoch = Some(3);
        let State::Incomplete(why) = scene.decide().state else {
            panic!()
        };
        assert!(why.contains(R2) && why.contains("spec.replicas"));
    }

    #[test]
    fn an_old_server_is_refused() {
        let mut scene = Scene::new();
        scene.server(P).version = "8.0.25".to_owned();
        assert!(matches!(scene.decide().state, State::Stuck(_)));
    }
}
