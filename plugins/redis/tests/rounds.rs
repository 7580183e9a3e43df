//! What users see, round by round: the whole controller against a small world.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]

mod world;

use world::World;

const MASTER: &str = "my-redis-master-0";
const R0: &str = "my-redis-replica-0";
const R1: &str = "my-redis-replica-1";

#[test]
fn the_sample_runs_and_then_nothing_changes() {
    let mut world = World::running();
    assert_eq!(world.primary(), MASTER);
    assert_eq!(world.labelled("master"), [MASTER]);
    assert_eq!(world.labelled("replica"), [R0, R1]);
    for _ in 0..40 {
        assert!(!world.round(), "steady state is silent");
    }
}

#[test]
fn a_deleted_primary_is_followed_and_comes_back_as_a_replica() {
    let mut world = World::running();
    world.servers.get_mut(MASTER).unwrap().keys = 7;
    world.settle();
    world.events.clear();
    world.delete(MASTER);
    world.settle();
    assert_eq!(world.columns(), "Ready 2 Running");
    let primary = world.primary();
    assert_ne!(primary, MASTER);
    assert_eq!(world.labelled("master"), [primary.as_str()]);
    assert!(world.labelled("replica").contains(&MASTER));
    assert_eq!(world.servers[MASTER].keys, 7);
    let story: Vec<&str> = world.events.iter().map(String::as_str).collect();
    let told = ["PrimaryLost", "FailoverStarted", "PrimaryReady"];
    let order: Vec<usize> = told
        .iter()
        .map(|it| story.iter().position(|event| event == it).unwrap())
        .collect();
    assert!(order.is_sorted(), "{story:?}");
}

#[test]
fn a_killed_primary_is_not_reopened_while_a_replica_lives() {
    let mut world = World::running();
    world.kill(MASTER);
    world.settle();
    assert_ne!(world.primary(), MASTER);
    assert_eq!(world.columns(), "Ready 2 Running");
}

#[test]
fn a_frozen_primary_is_fenced_within_ten_seconds() {
    let mut world = World::running();
    world.servers.get_mut(MASTER).unwrap().frozen = true;
    world.run(10);
    assert_ne!(world.primary(), MASTER);
    world.settle();
    assert_eq!(world.columns(), "Ready 2 Running");
}

#[test]
fn all_killed_at_once_come_back_with_their_data() {
    let mut world = World::running();
    world.servers.get_mut(MASTER).unwrap().keys = 7;
    world.settle();
    for pod in [MASTER, R0, R1] {
        world.kill(pod);
    }
    world.settle();
    assert_eq!(world.columns(), "Ready 2 Running");
    assert!(world.servers.values().all(|server| server.keys == 7));
}

#[test]
fn replicas_scale_out_and_in() {
    let mut world = World::running();
    for (replicas, columns) in [
        (4, "Ready 4 Running"),
        (1, "Ready 1 Running"),
        (0, "Ready 0 Running"),
    ] {
        world.object.spec.replicas = replicas;
        world.settle();
        assert_eq!(world.columns(), columns);
        assert_eq!(world.pods.len(), usize::try_from(replicas).unwrap() + 1);
    }
}

#[test]
fn a_primary_that_leaves_hands_over_without_a_failover() {
    let mut world = World::running();
    world.delete(MASTER);
    world.settle();
    assert!([R0, R1].contains(&world.primary().as_str()));
    world.events.clear();
    world.object.spec.replicas = 0;
    world.settle();
    assert_eq!(world.primary(), MASTER);
    assert_eq!(world.pods.keys().collect::<Vec<_>>(), [MASTER]);
    assert!(
        world.events.iter().any(|event| event == "PrimaryMoved"),
        "{:?}",
        world.events
    );
    assert!(
        !world.events.iter().any(|event| event == "PrimaryLost"),
        "{:?}",
        world.events
    );
}

#[test]
fn a_setting_is_set_live_and_no_pod_is_replaced() {
    let mut world = World::running();
    let before: Vec<_> = world
        .pods
        .values()
        .map(|pod| pod["metadata"]["uid"].clone())
        .collect();
    for server in world.servers.values_mut() {
        server
            .config
            .insert("maxmemory-policy".into(), "noeviction".into());
    }
    world
        .object
        .spec
        .settings
        .insert("maxmemory-policy".into(), "allkeys-lru".into());
    world.settle();
    assert!(
        world
            .servers
            .values()
            .all(|it| it.config["maxmemory-policy"] == "allkeys-lru")
    );
    let after: Vec<_> = world
        .pods
        .values()
        .map(|pod| pod["metadata"]["uid"].clone())
        .collect();
    assert_eq!(before, after);
}

#[test]
fn a_setting_that_redis_refuses_is_named_once_and_left_alone() {
    let mut world = World::running();
    for server in world.servers.values_mut() {
        server
            .config
            .insert("maxmemory-policy".into(), "noeviction".into());
    }
    world
        .object
        .spec
        .settings
        .insert("maxmemory-policy".into(), "nonsense".into());
    world.settle();
    let told = |world: &World| {
        world
            .servers
            .values()
            .map(|it| it.told.len())
            .sum::<usize>()
    };
    let before = told(&world);
    for _ in 0..20 {
        assert!(!world.round());
    }
    assert_eq!(told(&world), before);
    let record = &world.object.status.as_ref().unwrap().record;
    assert!(
        record
            .rejected
            .contains_key("spec.settings.maxmemory-policy")
    );
}

#[test]
fn other_resources_replace_pods_one_by_one_and_the_primary_by_hand_over() {
    let mut world = World::running();
    let before: Vec<_> = world
        .pods
        .values()
        .map(|pod| pod["metadata"]["uid"].clone())
        .collect();
    world.events.clear();
    world.object.spec.resources.limits.clear();
    world.settle();
    assert_eq!(world.columns(), "Ready 2 Running");
    assert!(
        world
            .pods
            .values()
            .all(|pod| !before.contains(&pod["metadata"]["uid"]))
    );
    assert!(
        !world.events.iter().any(|event| event == "PrimaryLost"),
        "{:?}",
        world.events
    );
    assert_eq!(
        world
            .events
            .iter()
            .filter(|it| *it == "PodReplaced")
            .count(),
        3
    );
}
