use crate::decide::{Command, State, Target};
use crate::names::{FORCE_PRIMARY, Role};
use crate::observe::Server;
use crate::status::IntentKind;
use crate::testing::{NOW, P, R1, R2, Scene, gtids, target};

/// The primary's Pod is gone, and the intent is stored.
fn failing() -> Scene {
    let mut scene = Scene::healthy();
    scene.lose(P);
    let decision = scene.step();
    assert_eq!(decision.record.intent.unwrap().kind, IntentKind::Failover);
    scene
}

#[test]
fn a_lost_primary_is_announced_before_anybody_is_cut_off() {
    let mut scene = Scene::healthy();
    scene.lose(P);
    let decision = scene.decide();
    assert!(matches!(decision.state, State::Failed(_)));
    assert_eq!(
        decision.record.epoch, 1,
        "the epoch changes at the commit point"
    );
    assert_eq!(decision.primary(), P);
    assert_eq!(decision.record.intent.as_ref().unwrap().epoch, 2);
    assert!(decision.orders(&Command::Cut(target(R1))));
    assert!(decision.orders(&Command::Cut(target(R2))));
    assert_eq!(decision.reasons(), ["PrimaryLost", "FailoverStarted"]);
}

#[test]
fn writes_are_missed_since_the_disk_of_the_primary_was_full() {
    let mut scene = Scene::healthy();
    scene.server(P).stuck_commit = 11;
    let decision = scene.decide();
    assert_eq!(decision.record.missed_since, Some(NOW - 11_000));
}

#[test]
fn nobody_is_promoted_while_a_voter_may_still_acknowledge() {
    let mut scene = failing();
    scene.cut(R1);
    let decision = scene.decide();
    assert_eq!(decision.primary(), P);
    assert!(decision.orders(&Command::Cut(target(R2))));
}

#[test]
fn the_voter_that_received_more_wins_once_it_applied_it() {
    let mut scene = failing();
    scene.cut(R1);
    scene.cut(R2);
    scene.has(R1, "A:90-100", "A:1-100");
    scene.has(R2, "A:90-105", "A:1-100");
    let decision = scene.decide();
    assert_eq!(decision.primary(), P, "it has five transactions to apply");
    assert!(
        !decision.orders(&Command::Apply(target(R2))),
        "it applies already"
    );
    scene.has(R2, "A:90-105", "A:1-105");
    let decision = scene.step();
    assert_eq!((decision.primary(), decision.record.epoch), (R2, 2));
    assert_eq!(decision.record.intent, None);
    assert_eq!(
        decision
            .commands
            .iter()
            .filter(|it| matches!(it, Command::Open(..)))
            .count(),
        0
    );
}

#[test]
fn a_stopped_applier_is_started() {
    let mut scene = failing();
    for pod in [R1, R2] {
        scene.restart(pod);
        scene.has(pod, "A:90-105", "A:1-100");
    }
    let decision = scene.decide();
    assert!(decision.orders(&Command::Apply(target(R1))));
    assert!(decision.orders(&Command::Apply(target(R2))));
}

#[test]
fn a_voter_without_everything_may_not_acknowledge_for_the_next_primary_yet() {
    let mut scene = failing();
    scene.cut(R1);
    scene.cut(R2);
    scene.has(R1, "A:90-105", "A:1-105");
    let decision = scene.step();
    assert_eq!(decision.primary(), R1);
    assert!(
        decision.voters().is_empty(),
        "R2 lacks five: alone it would not be sure to have every commit"
    );
}

#[test]
fn a_voter_with_everything_may() {
    let mut scene = failing();
    scene.cut(R1);
    scene.cut(R2);
    let decision = scene.step();
    assert_eq!((decision.primary(), decision.voters()), (R1, vec![R2]));
}

#[test]
fn replicas_that_each_have_something_of_their_own_stop_the_failover() {
    let mut scene = failing();
    scene.cut(R1);
    scene.cut(R2);
    scene.has(R1, "", "A:1-100,B:1");
    scene.has(R2, "", "A:1-101");
    let decision = scene.decide();
    assert!(matches!(decision.state, State::Stuck(_)));
    assert!(decision.trouble().contains(FORCE_PRIMARY));
    assert_eq!(decision.primary(), P);
}

#[test]
fn known_foreign_transactions_do_not_stop_it() {
    let mut scene = failing();
    scene
        .view
        .record
        .errant
        .insert(R1.to_owned(), gtids("B:1").to_string());
    scene.cut(R1);
    scene.cut(R2);
    scene.has(R1, "", "A:1-100,B:1");
    assert_eq!(scene.decide().primary(), R2);
}

#[test]
fn with_too_few_voters_nothing_is_done_and_the_way_out_is_named() {
    let mut scene = Scene::healthy();
    scene.lose(P);
    scene.silence(R2, NOW);
    let decision = scene.decide();
    assert!(matches!(decision.state, State::Lost(_)));
    assert_eq!(decision.record.intent, None);
    assert!(
        decision
            .commands
            .iter()
            .all(|it| matches!(it, Command::Label(..))),
        "{:?}",
        decision.commands
    );
    scene.add(P);
    scene.silence(P, NOW - 60_000);
    scene.pod(P).role = Some(Role::Primary);
    scene.channel(R1).heard = Some(60_000);
    let decision = scene.decide();
    assert!(matches!(
        decision.state,
        State::Doubtful(_) | State::Lost(_)
    ));
    assert_eq!(decision.commands, [], "who still reaches it is let go on");
    scene.lose(P);
    let decision = scene.decide();
    for word in [FORCE_PRIMARY, R1, "2 of"] {
        assert!(decision.trouble().contains(word), "{}", decision.trouble());
    }
}

#[test]
fn a_voter_with_another_data_directory_does_not_count() {
    let mut scene = Scene::healthy();
    scene.lose(P);
    scene.server(R2).uuid = "another".to_owned();
    assert!(matches!(scene.decide().state, State::Lost(_)));
}

#[test]
fn a_primary_that_returns_with_its_data_goes_on_where_nobody_may_take_its_place() {
    let mut scene = Scene::healthy();
    scene.restart(P);
    scene.silence(R2, NOW);
    let decision = scene.step();
    assert!(
        matches!(decision.state, State::Opening(_)),
        "{:?}",
        decision.state
    );
    assert_eq!((decision.primary(), decision.record.epoch), (P, 1));
    assert!(
        scene
            .decide()
            .commands
            .iter()
            .any(|it| matches!(it, Command::Open(..)))
    );
}

#[test]
fn a_failover_is_called_off_when_voters_vanish_and_the_primary_returns() {
    let mut scene = Scene::healthy();
    scene.restart(P);
    assert!(scene.step().record.intent.is_some());
    scene.silence(R1, NOW);
    let decision = scene.decide();
    assert_eq!(
        (decision.record.intent.is_none(), decision.primary()),
        (true, P)
    );
    assert!(decision.reasons().contains(&"FailoverAborted"));
}

#[test]
fn an_old_primary_that_answers_is_shut_before_replicas_are_cut_off() {
    let mut scene = Scene::healthy();
    scene.server(P).stuck_commit = 11;
    let decision = scene.decide();
    assert!(decision.orders(&Command::Shut(target(P))));
    assert!(decision.record.intent.is_some());
}

#[test]
fn one_that_ends_by_itself_is_waited_for_while_replicas_are_connected() {
    let mut scene = Scene::healthy();
    scene.silence(P, NOW);
    scene.pod(P).terminating = true;
    let decision = scene.decide();
    assert!(
        !decision.orders(&Command::Cut(target(R1))),
        "it would answer waiting commits with OK"
    );
    scene.pod(P).running_since = None;
    assert!(scene.decide().orders(&Command::Cut(target(R1))));
}

#[test]
fn a_second_failure_finds_the_voter_that_is_left() {
    let mut scene = failing();
    scene.cut(R1);
    scene.cut(R2);
    scene.step();
    scene.lose(R1);
    assert!(scene.step().record.intent.is_some());
    let decision = scene.decide();
    assert_eq!((decision.primary(), decision.record.epoch), (R2, 3));
}

#[test]
fn a_person_may_choose_where_the_operator_must_not() {
    let mut scene = Scene::healthy();
    scene.lose(P);
    scene.lose(R2);
    scene.annotate(FORCE_PRIMARY, R1);
    let decision = scene.step();
    assert_eq!(
        decision.record.intent.as_ref().unwrap().to.as_deref(),
        Some(R1)
    );
    assert!(decision.reasons().contains(&"FailoverForced"));
    scene.cut(R1);
    let decision = scene.step();
    assert_eq!((decision.primary(), decision.record.epoch), (R1, 2));
    assert!(
        scene.decide().record.intent.is_none(),
        "once for each time that it is set"
    );
}

#[test]
fn commits_that_waited_for_nobody_forbid_a_failover() {
    let mut scene = Scene::healthy();
    scene.view.record.wait_count = Some(0);
    scene.lose(P);
    assert!(matches!(scene.decide().state, State::Lost(_)));
}

#[test]
fn a_primary_that_lets_nobody_in_and_cannot_be_replaced_is_made_to_answer() {
    let mut scene = Scene::healthy();
    scene.view.record.voters.clear();
    scene.pod(P).server = Server::Offline;
    let shuts = |scene: &mut Scene| {
        let shut = Command::Shut(Target::unseen(P));
        scene.step().orders(&shut)
    };
    assert!(shuts(&mut scene), "while it is doubtful");
    scene.view.now += 60_000;
    assert!(shuts(&mut scene), "and when it is lost");
}
