use crate::decide::{Command, Setup, State};
use crate::observe::{Receiver, Trouble};
use crate::spec::ErrantPolicy;
use crate::status::Rung;
use crate::testing::{NOW, P, R1, R2, Scene, follow, gtids, target, voter};

fn rung(scene: &Scene, pod: &str) -> Option<Rung> {
    scene.view.record.repairs.get(pod).map(|repair| repair.rung)
}

#[test]
fn a_stopped_replica_is_started() {
    let mut scene = Scene::healthy();
    scene.restart(R2);
    let decision = scene.step();
    assert!(decision.orders(&follow(R2, P, true, Setup::Start)));
    assert_eq!(rung(&scene, R2), None, "that is no damage");
}

#[test]
fn one_that_tries_to_connect_is_left_to_it() {
    let mut scene = Scene::healthy();
    scene.channel(R2).receiver = Receiver::Connecting;
    let decision = scene.decide();
    assert!(
        !decision
            .commands
            .iter()
            .any(|it| matches!(it, Command::Follow(..)))
    );
    assert!(matches!(decision.state, State::Degraded(_)));
}

#[test]
fn an_error_is_met_by_more_and_more() {
    let mut scene = Scene::healthy();
    scene.break_applier(R2);
    let decision = scene.step();
    assert!(decision.orders(&follow(R2, P, true, Setup::Start)));
    assert!(decision.reasons().contains(&"ReplicaBroken"));
    scene.view.now += 2_000;
    assert!(
        !scene
            .step()
            .commands
            .iter()
            .any(|it| matches!(it, Command::Follow(..))),
        "it gets time"
    );
    scene.view.now += 4_000;
    assert!(scene.step().orders(&follow(R2, P, true, Setup::Anew)));
    scene.view.now += 6_000;
    scene.step();
    assert_eq!(rung(&scene, R2), Some(Rung::Clone));
}

#[test]
fn what_the_primary_lacks_is_never_thrown_away() {
    let mut scene = Scene::healthy();
    scene.break_applier(R2);
    scene.has(R2, "A:101", "A:1-100");
    for _ in 0..5 {
        scene.view.now += 6_000;
        let decision = scene.step();
        assert!(!decision.orders(&follow(R2, P, true, Setup::Anew)));
    }
}

#[test]
fn one_that_lacks_purged_transactions_is_rebuilt_from_a_replica_once_it_is_no_voter() {
    let mut scene = Scene::healthy();
    scene.server(R2).uuid = "new".to_owned();
    scene.server(R2).channel = None;
    scene.server(R2).executed = gtids("");
    scene.server(P).purged = gtids("A:1-50");
    scene.step();
    assert_eq!(rung(&scene, R2), Some(Rung::Clone));
    let clones = |scene: &mut Scene| {
        let decision = scene.step();
        decision
            .commands
            .iter()
            .any(|it| matches!(it, Command::Clone(_, donor) if donor == R1))
    };
    assert!(!clones(&mut scene), "it is a voter on record");
    scene.view.now += 1_000;
    assert!(!clones(&mut scene));
    assert_eq!(scene.view.record.voters, [voter(R1)]);
    assert!(clones(&mut scene));
    assert!(!clones(&mut scene), "it gets time");
}

#[test]
fn one_that_is_connected_is_not_behind_when_the_primary_purges_what_it_is_sent() {
    let mut scene = Scene::healthy();
    scene.server(P).executed = gtids("A:1-103");
    scene.server(P).purged = gtids("A:1-103");
    scene.step();
    assert_eq!(rung(&scene, R2), None);
    scene.cut(R2);
    scene.step();
    assert_eq!(rung(&scene, R2), Some(Rung::Clone));
}

#[test]
fn one_without_data_becomes_a_copy_instead_of_repeating_the_history() {
    let mut scene = Scene::healthy();
    scene.server(R2).uuid = "new".to_owned();
    scene.server(R2).channel = None;
    scene.server(R2).executed = gtids("");
    let mut of_another_series = scene.clone();
    scene.step();
    assert_eq!(rung(&scene, R2), Some(Rung::Clone));
    of_another_series.server(R2).version = "8.4.3".to_owned();
    of_another_series.step();
    assert_eq!(rung(&of_another_series, R2), None, "nobody can be copied");
}

#[test]
fn one_without_data_follows_a_primary_that_has_none_either() {
    let mut scene = Scene::healthy();
    for pod in [P, R1, R2] {
        scene.server(pod).executed = gtids("");
    }
    scene.server(R2).channel = None;
    let decision = scene.step();
    assert!(decision.orders(&follow(R2, P, true, Setup::Point)));
}

#[test]
fn a_copy_is_set_up_anew_after_its_restart() {
    let mut scene = Scene::healthy();
    scene.view.record.voters = vec![voter(R1)];
    scene.server(R2).acknowledges = false;
    scene.server(P).purged = gtids("A:1-50");
    scene.has(R2, "", "");
    scene.cut(R2);
    scene.step();
    scene.step();
    scene.server(R2).started = NOW + 4_000;
    scene.server(R2).executed = gtids("A:1-100");
    scene.view.now += 6_000;
    let decision = scene.step();
    assert!(
        decision.orders(&follow(R2, P, false, Setup::Anew)),
        "{:?}",
        decision.commands
    );
    assert!(decision.reasons().contains(&"Rebuilt"));
    assert_eq!(rung(&scene, R2), Some(Rung::Reset));
}

#[test]
fn only_one_is_rebuilt_at_a_time() {
    let mut scene = Scene::healthy();
    scene.view.record.voters.clear();
    scene.server(P).purged = gtids("A:1-50");
    for pod in [R1, R2] {
        scene.server(pod).acknowledges = false;
        scene.has(pod, "", "");
        scene.cut(pod);
    }
    let copies = |scene: &mut Scene| {
        let commands = scene.step().commands;
        let copies = commands
            .iter()
            .filter(|it| matches!(it, Command::Clone(..)));
        copies.count()
    };
    scene.step();
    let mut of_one_round = scene.clone();
    assert_eq!(copies(&mut of_one_round), 1);
    scene.view.running.insert(super::COPY.to_owned());
    assert_eq!(copies(&mut scene), 0);
}

#[test]
fn foreign_transactions_are_kept_in_status_and_the_instance_from_readers() {
    let mut scene = Scene::healthy();
    scene.has(R2, "", "A:1-100,C:1-2");
    let decision = scene.step();
    assert_eq!(decision.record.errant[R2], gtids("C:1-2").to_string());
    assert!(decision.orders(&Command::Label(R2.to_owned(), None)));
    assert_eq!(rung(&scene, R2), Some(Rung::Clone));
    assert!(decision.reasons().contains(&"ErrantTransactions"));
}

#[test]
fn what_went_with_a_rebuilt_instance_stays_in_status() {
    let mut scene = Scene::healthy();
    scene.has(R2, "", "A:1-100,C:1-2");
    scene.step();
    scene.view.record.voters = vec![voter(R1)];
    scene.server(R2).acknowledges = false;
    scene.step();
    scene.server(R2).started = NOW + 4_000;
    scene.has(R2, "", "A:1-100");
    scene.view.now += 6_000;
    let decision = scene.step();
    assert!(decision.record.errant.is_empty());
    let discarded = &decision.record.discarded[0];
    assert_eq!(
        (discarded.pod.as_str(), &discarded.gtid_set),
        (R2, &gtids("C:1-2").to_string())
    );
}

#[test]
fn what_the_living_primary_began_is_not_foreign() {
    let mut scene = Scene::healthy();
    scene.has(R2, "", "A:1-105");
    assert!(scene.decide().record.errant.is_empty());
}

#[test]
fn by_policy_it_is_left_to_a_person() {
    let mut scene = Scene::healthy();
    scene.spec.errant_policy = ErrantPolicy::Manual;
    scene.has(R2, "", "A:1-100,C:1");
    let decision = scene.step();
    assert_eq!(rung(&scene, R2), None);
    assert!(decision.pending.unwrap().contains("errantPolicy"));
}

#[test]
fn a_replica_that_is_not_let_in_has_the_accounts_made_again() {
    let mut scene = Scene::healthy();
    let channel = scene.channel(R2);
    channel.receiver = Receiver::Connecting;
    channel.receive_error = Some(Trouble {
        code: 1045,
        text: "Access denied".to_owned(),
    });
    let decision = scene.decide();
    assert!(decision.orders(&Command::MakeAccounts(target(P))));
}

#[test]
fn an_old_primary_that_thawed_is_shut_before_anything_else() {
    let mut scene = Scene::healthy();
    scene.lead(R2);
    let decision = scene.decide();
    assert!(decision.orders(&Command::Shut(target(R2))));
    assert!(
        !decision
            .commands
            .iter()
            .any(|it| matches!(it, Command::Follow(..)))
    );
}

#[test]
fn a_repaired_replica_is_forgotten_after_a_while() {
    let mut scene = Scene::healthy();
    scene.break_applier(R2);
    scene.step();
    scene.link(R2, P);
    scene.view.now += 9_000;
    scene.step();
    assert_eq!(rung(&scene, R2), Some(Rung::Start));
    scene.view.now += 1_000;
    assert!(scene.step().reasons().contains(&"ReplicaRepaired"));
    assert_eq!(rung(&scene, R2), None);
}

#[test]
fn commits_that_nobody_could_acknowledge_do_not_hold_up_the_copy_of_their_primary() {
    let mut scene = Scene::healthy();
    scene.lose(R1);
    scene.plan_copy(R2);
    scene.view.record.voters.clear();
    let decision = scene.step();
    assert!(decision.orders(&Command::Clone(target(R2), P.to_owned())));
    assert!(decision.orders(&Command::Shut(target(P))));
}

#[test]
fn a_copy_of_a_primary_whose_commits_are_acknowledged_disturbs_nobody() {
    let mut scene = Scene::healthy();
    scene.channel(R1).lag = Some(300);
    scene.plan_copy(R2);
    scene.view.record.voters = vec![voter(R1)];
    let decision = scene.step();
    assert!(decision.orders(&Command::Clone(target(R2), P.to_owned())));
    assert!(!decision.orders(&Command::Shut(target(P))));
}
