use crate::decide::Command;
use crate::observe::Receiver;
use crate::spec::Durability;
use crate::testing::{NOW, P, R1, R2, Scene, gtids, target, voter};

const R3: &str = "my-database-3";

#[test]
fn a_replica_joins_the_record_before_it_acknowledges() {
    let mut scene = Scene::healthy();
    scene.view.record.voters = vec![voter(R1)];
    scene.server(R2).acknowledges = false;
    let decision = scene.decide();
    assert_eq!(decision.voters(), [R1, R2]);
    assert!(decision.orders(&Command::Acknowledge(target(R2))));
}

#[test]
fn one_that_is_far_behind_does_not_join() {
    let mut scene = Scene::healthy();
    scene.view.record.voters = vec![voter(R1)];
    scene.server(R2).acknowledges = false;
    scene.channel(R2).lag = Some(300);
    assert_eq!(scene.decide().voters(), [R1]);
}

#[test]
fn with_too_few_voters_only_one_with_everything_joins() {
    let mut scene = Scene::healthy();
    scene.view.record.voters.clear();
    for pod in [R1, R2] {
        scene.server(pod).acknowledges = false;
    }
    scene.server(R1).executed = gtids("A:1-99");
    assert_eq!(scene.decide().voters(), [R2]);
}

#[test]
fn one_that_is_no_voter_must_not_acknowledge() {
    let mut scene = Scene::healthy();
    scene.view.record.voters = vec![voter(R1)];
    scene.channel(R2).lag = Some(300);
    assert!(scene.decide().orders(&Command::Dismiss(target(R2))));
}

#[test]
fn one_that_forgot_in_a_restart_is_told_again() {
    let mut scene = Scene::healthy();
    scene.server(R2).acknowledges = false;
    assert!(scene.decide().orders(&Command::Acknowledge(target(R2))));
}

#[test]
fn a_voter_leaves_when_the_others_have_what_the_primary_had() {
    let mut scene = Scene::healthy();
    scene.lose(R2);
    scene.server(P).executed = gtids("A:1-105");
    let decision = scene.step();
    assert_eq!(
        decision.voters(),
        [R1, R2],
        "an acknowledgement may be on its way"
    );
    scene.view.now += 1_000;
    let decision = scene.step();
    assert_eq!(
        decision.voters(),
        [R1, R2],
        "R1 lacks five that R2 alone may have acknowledged"
    );
    assert_eq!(
        decision.record.retiring.unwrap().mark,
        Some(gtids("A:1-105").to_string())
    );
    scene.server(P).executed = gtids("A:1-200");
    scene.has(R1, "A:1-105", "A:1-100");
    let decision = scene.step();
    assert_eq!(
        decision.voters(),
        [R1],
        "what came later R2 cannot have acknowledged"
    );
    assert_eq!(decision.record.retiring, None);
}

#[test]
fn one_that_returns_with_its_data_stays() {
    let mut scene = Scene::healthy();
    scene.lose(R2);
    scene.step();
    scene.add(R2);
    scene.link(R2, P);
    scene.pod(R2).uid = "another".to_owned();
    let decision = scene.step();
    assert_eq!(
        (decision.voters(), decision.record.retiring.clone()),
        (vec![R1, R2], None)
    );
    assert_eq!(decision.record.voters[1].uid, "another");
}

#[test]
fn a_frozen_voter_stays_one_for_it_may_still_acknowledge() {
    let mut scene = Scene::healthy();
    scene.silence(R2, NOW - 100_000);
    assert_eq!(scene.decide().voters(), [R1, R2]);
}

#[test]
fn a_voter_that_leaves_with_a_scale_in_is_dismissed_first() {
    let mut scene = Scene::healthy();
    scene.spec.replicas = 2;
    let decision = scene.step();
    assert!(decision.orders(&Command::Dismiss(target(R2))));
    assert_eq!(decision.voters(), [R1, R2]);
    scene.cut(R2);
    scene.server(R2).acknowledges = false;
    scene.step();
    scene.view.now += 1_000;
    assert_eq!(scene.step().voters(), [R1]);
}

#[test]
fn the_count_is_recorded_before_it_is_lowered_on_the_primary() {
    let mut scene = Scene::healthy();
    scene.spec.replicas = 1;
    let decision = scene.decide();
    assert_eq!(decision.record.wait_count, Some(0));
    assert!(decision.orders(&Command::Wait(target(P), 0)));
}

#[test]
fn the_count_is_raised_on_the_primary_before_it_is_recorded() {
    let mut scene = Scene::healthy();
    scene.view.record.wait_count = Some(0);
    scene.server(P).wait_count = 0;
    let decision = scene.step();
    assert_eq!(decision.record.wait_count, Some(0));
    assert!(decision.orders(&Command::Wait(target(P), 1)));
    scene.server(P).wait_count = 1;
    scene.server(P).executed = gtids("A:1-101");
    let decision = scene.step();
    assert_eq!(
        decision.record.wait_count,
        Some(0),
        "voters lack a commit that waited for nobody"
    );
    for pod in [R1, R2] {
        scene.has(pod, "A:101", "A:1-100");
    }
    assert_eq!(scene.step().record.wait_count, Some(1));
}

#[test]
fn a_primary_that_forgot_its_count_is_told_again() {
    let mut scene = Scene::healthy();
    scene.server(P).wait_count = 0;
    assert!(scene.decide().orders(&Command::Wait(target(P), 1)));
}

#[test]
fn people_are_told_when_writes_wait() {
    let mut scene = Scene::healthy();
    scene.server(P).acknowledging = 0;
    assert_eq!(scene.step().blocked, None, "a hiccup");
    scene.view.now += 5_000;
    assert!(scene.step().blocked.unwrap().contains("waits for 1"));
    scene.view.now += 100_000;
    assert_eq!(
        scene.decide().record.wait_count,
        Some(1),
        "by default they wait for ever"
    );
    scene.spec.durability = Durability::Available;
    let decision = scene.decide();
    assert_eq!(decision.record.wait_count, Some(0));
    assert!(decision.reasons().contains(&"WritesUnprotected"));
}

#[test]
fn after_a_cut_the_primary_is_not_believed_that_replicas_are_connected() {
    let mut scene = Scene::healthy();
    for pod in [R1, R2] {
        scene.channel(pod).receiver = Receiver::Connecting;
    }
    scene.step();
    scene.view.now += 5_000;
    assert!(scene.step().blocked.unwrap().contains("0 replicas"));
}

#[test]
fn five_instances_wait_for_two_once_everybody_has_everything() {
    let mut scene = Scene::healthy();
    scene.spec.replicas = 5;
    for pod in [R3, "my-database-4"] {
        scene.add(pod);
        scene.link(pod, P);
    }
    let decision = scene.step();
    assert_eq!(decision.voters(), [R1, R2, R3, "my-database-4"]);
    assert!(decision.orders(&Command::Wait(target(P), 2)));
    scene.server(P).wait_count = 2;
    assert_eq!(scene.step().record.wait_count, Some(2));
}
