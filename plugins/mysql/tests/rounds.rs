//! What users see, round by round: the whole controller against a small world.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]

mod world;

use world::World;

const P: &str = "my-database-0";
const R1: &str = "my-database-1";
const R2: &str = "my-database-2";

/// Writes before and after something happens, then checks that all is well and nothing is lost.
fn survives(happens: impl FnOnce(&mut World)) -> World {
    let mut world = World::running();
    world.write(10);
    happens(&mut world);
    for _ in 0..30 {
        world.write(1);
        world.round();
    }
    world.settle();
    world.write(1);
    world.settle();
    assert_eq!(world.lost(), Vec::<u32>::new());
    let servers = world.servers.values();
    let writable: Vec<&str> = servers
        .filter(|it| !it.is_on("read_only"))
        .map(|it| it.pod.as_str())
        .collect();
    assert_eq!(writable, [world.primary()]);
    assert!(
        world.columns().starts_with("Running 3 "),
        "{} {:#?}",
        world.columns(),
        world.object.status
    );
    assert!(world.acknowledged.len() > 12, "{:?}", world.acknowledged);
    world
}

#[test]
fn the_sample_runs_and_then_nothing_changes() {
    let mut world = World::running();
    assert_eq!(world.labelled("primary"), [P]);
    assert_eq!(world.labelled("replica"), [R1, R2]);
    for _ in 0..40 {
        assert!(!world.round(), "steady state is silent");
    }
}

#[test]
fn a_deleted_primary_is_followed_and_comes_back_as_a_replica() {
    let world = survives(|world| world.delete(P));
    assert_ne!(world.primary(), P);
    assert!(world.labelled("replica").contains(&P));
    let told = [
        "PrimaryLost",
        "FailoverStarted",
        "PrimaryChosen",
        "PrimaryReady",
    ];
    let place = |event: &&str| {
        world
            .events
            .iter()
            .rposition(|known| known == event)
            .unwrap()
    };
    assert!(told.iter().map(place).is_sorted(), "{:?}", world.events);
}

#[test]
fn a_killed_primary_is_followed() {
    survives(|world| world.kill(P));
}

#[test]
fn a_primary_without_its_volume_is_followed_and_made_anew() {
    let world = survives(|world| world.lose_volume(P));
    assert_ne!(world.primary(), P);
}

#[test]
fn a_frozen_primary_is_followed_and_shut_when_it_thaws() {
    let world = survives(|world| {
        world.servers.get_mut(P).unwrap().frozen = true;
        world.run(60);
        assert_ne!(world.primary(), P);
        world.servers.get_mut(P).unwrap().frozen = false;
    });
    assert_ne!(world.primary(), P);
}

#[test]
fn two_failures_in_a_row_lose_nothing() {
    survives(|world| {
        world.delete(P);
        world.run(8);
        let second = world.primary();
        world.write(3);
        world.delete(&second);
    });
}

#[test]
fn all_killed_at_once_come_back() {
    survives(|world| {
        for pod in [P, R1, R2] {
            world.kill(pod);
        }
    });
}

#[test]
fn a_replica_without_its_volume_is_rebuilt() {
    survives(|world| {
        let primary = world.servers.get_mut(P).unwrap();
        primary.purged = primary.executed.clone();
        world.lose_volume(R2);
    });
}

#[test]
fn a_row_that_somebody_wrote_on_a_replica_is_told_and_the_replica_rebuilt() {
    let world = survives(|world| {
        let replica = world.servers.get_mut(R2).unwrap();
        let foreign = (replica.uuid.clone(), 1);
        replica.executed.insert(foreign);
    });
    for event in ["ErrantTransactions", "RebuildStarted", "Rebuilt"] {
        assert!(
            world.events.iter().any(|known| known == event),
            "{:?}",
            world.events
        );
    }
}

#[test]
fn a_broken_applier_is_repaired() {
    survives(|world| {
        let replica = world.servers.get_mut(R2).unwrap();
        replica.channel.as_mut().unwrap().error = Some("Duplicate entry".into());
    });
}

#[test]
fn a_hand_over_moves_the_primary_without_a_failover() {
    let world = survives(|world| {
        let annotation = ("mysql.example.com/switchover".into(), R2.into());
        world.object.metadata.annotations = Some([annotation].into());
    });
    assert_eq!(world.primary(), R2);
    assert!(
        !world.events.iter().any(|event| event == "PrimaryLost"),
        "{:?}",
        world.events
    );
}

/// A person says which Pod is to be the primary.
fn force(world: &mut World, pod: &str) {
    let annotation = ("mysql.example.com/force-primary".into(), pod.into());
    world.object.metadata.annotations = Some([annotation].into());
}

fn freeze(world: &mut World, pod: &str) {
    world.servers.get_mut(pod).unwrap().frozen = true;
}

fn thaw_all(world: &mut World) {
    for server in world.servers.values_mut() {
        server.frozen = false;
    }
}

#[test]
fn a_primary_may_be_named_while_a_failover_is_stuck() {
    let mut world = World::running();
    world.write(10);
    world.run(4);
    freeze(&mut world, P);
    for _ in 0..20 {
        if world.record().intent.is_some() {
            break;
        }
        world.round();
    }
    freeze(&mut world, R2);
    world.run(10);
    assert_eq!(world.reason("Ready"), Some("Lost"));
    force(&mut world, R1);
    world.run(10);
    assert_eq!(world.primary(), R1);
    assert_eq!(world.reason("PrimaryForced"), Some("Followed"));
    thaw_all(&mut world);
    world.settle();
    assert_eq!(world.columns(), format!("Running 3 {R1}"));
    assert_eq!(world.lost(), Vec::<u32>::new());
    world.object.metadata.annotations = None;
    world.settle();
    assert_eq!(world.reason("PrimaryForced"), None);
}

#[test]
fn a_request_to_force_a_healthy_cluster_is_refused_and_does_nothing_later() {
    let mut world = World::running();
    force(&mut world, R1);
    world.settle();
    assert_eq!(world.primary(), P);
    assert_eq!(world.reason("PrimaryForced"), Some("Refused"));
    freeze(&mut world, P);
    freeze(&mut world, R2);
    world.run(120);
    assert_eq!(world.reason("Ready"), Some("Lost"));
    thaw_all(&mut world);
    world.settle();
    assert_eq!(world.primary(), P);
    let told = world.events.iter().filter(|event| event.contains("Force"));
    assert_eq!(told.collect::<Vec<_>>(), ["ForceRefused"]);
}

#[test]
fn it_scales_under_writes_and_moves_the_primary_first() {
    let mut world = World::running();
    let annotation = ("mysql.example.com/switchover".into(), R2.into());
    world.object.metadata.annotations = Some([annotation].into());
    world.settle();
    assert_eq!(world.primary(), R2);
    for replicas in [1, 3, 5, 2] {
        world.object.spec.replicas = replicas;
        for _ in 0..40 {
            world.write(1);
            world.round();
        }
        world.settle();
        assert_eq!(world.pods.len(), usize::try_from(replicas).unwrap());
        assert!(
            world.columns().starts_with(&format!("Running {replicas} ")),
            "{}",
            world.columns()
        );
        let record = &world.object.status.as_ref().unwrap().record;
        assert_eq!(record.wait_count, u32::try_from(replicas / 2).ok());
    }
    assert_eq!(world.lost(), Vec::<u32>::new());
    assert!(
        !world.events.iter().any(|event| event == "PrimaryLost"),
        "{:?}",
        world.events
    );
}

#[test]
fn another_template_replaces_pods_one_by_one_and_the_primary_after_a_hand_over() {
    let world = survives(|world| {
        let before: Vec<String> = world
            .pods
            .values()
            .map(|pod| pod["metadata"]["uid"].to_string())
            .collect();
        world
            .object
            .spec
            .node_selector
            .insert("disk".into(), "fast".into());
        world.run(90);
        let after: Vec<String> = world
            .pods
            .values()
            .map(|pod| pod["metadata"]["uid"].to_string())
            .collect();
        assert!(after.iter().all(|uid| !before.contains(uid)), "{after:?}");
    });
    assert!(
        !world.events.iter().any(|event| event == "PrimaryLost"),
        "{:?}",
        world.events
    );
}

#[test]
fn without_acknowledgements_a_failover_would_lose_commits() {
    let mut world = World::running();
    for pod in [R1, R2] {
        world
            .servers
            .get_mut(pod)
            .unwrap()
            .channel
            .as_mut()
            .unwrap()
            .connected = false;
    }
    world
        .servers
        .get_mut(P)
        .unwrap()
        .set("rpl_semi_sync_source_enabled", "OFF");
    world.write(5);
    world.lose_volume(P);
    world.settle();
    assert_eq!(world.lost().len(), 5, "or the client's check is no check");
}
