//! Children: made, left alone, put right, taken over, made again, pruned.

use serde_json::{Value, json};
use windlass::apply::{APPLIED, ChildEnded, Gathered};
use windlass::object::{Kind, OWNER_LABEL};
use windlass::plan::Checked;
use windlass::plugin::bindings::{Child, WhenDropped, WhenImmutable, Write};
use windlass::plugin::configuration::Adopted;

use crate::world::{World, child, config_map};

/// A StatefulSet with much that the API server normalises, fills in and keys lists by.
fn stateful_set() -> Child {
    let container = json!({
        "name": "redis", "image": "redis:7.2", "args": ["--port", "6379"],
        "env": [{"name": "A", "value": ""}, {"name": "IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}],
        "ports": [{"containerPort": 6379}, {"containerPort": 53, "protocol": "UDP", "name": "dns"}],
        "resources": {"requests": {"cpu": "1000m", "memory": "1024Mi"}, "limits": {"cpu": "0.5e1"}},
        "readinessProbe": {"exec": {"command": ["true"]}, "periodSeconds": 1},
        "securityContext": {"capabilities": {"drop": ["ALL"]}, "runAsNonRoot": true},
        "volumeMounts": [{"name": "data", "mountPath": "/data"}, {"name": "tmp", "mountPath": "/tmp"}],
    });
    child(json!({
        "apiVersion": "apps/v1", "kind": "StatefulSet",
        "metadata": {"name": "set", "labels": {"app": "a"}, "annotations": {}},
        "spec": {
            "replicas": 2, "serviceName": "set", "podManagementPolicy": "Parallel",
            "selector": {"matchLabels": {"app": "a"}},
            "updateStrategy": {"type": "OnDelete"},
            "persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Retain"},
            "template": {
                "metadata": {"labels": {"app": "a"}, "creationTimestamp": null},
                "spec": {
                    "containers": [container], "securityContext": {"fsGroup": 999},
                    "tolerations": [{"key": "x", "operator": "Exists"}],
                    "topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": "zone",
                        "whenUnsatisfiable": "ScheduleAnyway", "labelSelector": {"matchLabels": {"app": "a"}}}],
                    "volumes": [{"name": "tmp", "emptyDir": {}},
                        {"name": "conf", "projected": {"sources": [{"configMap": {"name": "c"}}]}}],
                },
            },
            "volumeClaimTemplates": [{"metadata": {"name": "data"}, "spec": {"accessModes": ["ReadWriteOnce"],
                "resources": {"requests": {"storage": "1024Mi"}}}}],
        },
    }))
}

fn service() -> Child {
    child(json!({
        "apiVersion": "v1", "kind": "Service", "metadata": {"name": "svc", "labels": {"app": "a"}},
        "spec": {"selector": {"app": "a"}, "ports": [{"name": "redis", "port": 6379, "targetPort": "redis"},
            {"name": "dns", "port": 53, "protocol": "UDP"}]},
    }))
}

/// How the first child ended, in a word.
async fn ended(world: &mut World, plan: &Checked) -> String {
    let applied = world.apply(plan).await;
    format!("{:?}", applied.children[0].ended)
}

#[tokio::test]
async fn children_in_step_are_left_alone_also_by_a_host_that_remembers_nothing() {
    let mut world = World::new("silent").await;
    let plan = world
        .plan(vec![
            stateful_set(),
            service(),
            config_map("c", json!({"a": "b"})),
        ])
        .await;
    let applied = world.apply(&plan).await;
    assert!(!applied.failed(), "{:?}", applied.children);
    assert_eq!(
        world
            .writes()
            .iter()
            .filter(|write| write.starts_with("PATCH"))
            .count(),
        3
    );
    world.turn_to("one");
    let applied = world.apply(&plan).await;
    assert!(
        applied.settled() && !applied.changed(),
        "{:?}",
        applied.children
    );
    assert_eq!(world.writes(), [""; 0]);
}

#[tokio::test]
async fn what_a_person_changes_is_put_right_once_and_what_others_add_stays() {
    let mut world = World::new("right").await;
    let plan = world.plan(vec![stateful_set(), service()]).await;
    world.apply(&plan).await;
    let others = json!({"metadata": {"labels": {"theirs": "x"}, "annotations": {"theirs": "y"}}});
    world.edit("apps/v1/StatefulSet", "set", others).await;
    assert_eq!(ended(&mut world, &plan).await, "InStep");

    let image = json!([{"name": "redis", "image": "other", "args": ["--port", "6379"]}]);
    for (edit, path) in [
        (json!({"spec": {"replicas": 5}}), "spec.replicas"),
        (
            json!({"metadata": {"labels": {"app": "b"}}}),
            "metadata.labels.app",
        ),
        (
            json!({"metadata": {"labels": {"app": null}}}),
            "metadata.labels",
        ),
        (
            json!({"metadata": {"labels": {OWNER_LABEL: null}}}),
            "metadata.labels",
        ),
        (
            json!({"spec": {"template": {"spec": {"containers": image}}}}),
            "spec.template.spec.containers",
        ),
        (
            json!({"metadata": {"ownerReferences": null}}),
            "metadata.ownerReferences",
        ),
    ] {
        world.edit("apps/v1/StatefulSet", "set", edit.clone()).await;
        let before = ended(&mut world, &plan).await;
        assert!(
            before.starts_with(&format!("PutRight(\"{path}")),
            "{edit}: {before}"
        );
        assert_eq!(ended(&mut world, &plan).await, "InStep", "{edit}");
    }
    let live = world.json("apps/v1/StatefulSet", "set").await;
    assert_eq!(live["spec"]["replicas"], 2);
    assert_eq!(live["metadata"]["labels"]["theirs"], "x");
    assert_eq!(live["metadata"]["annotations"]["theirs"], "y");
}

#[tokio::test]
async fn a_child_that_somebody_deleted_is_made_again() {
    let mut world = World::new("again").await;
    let plan = world.plan(vec![service()]).await;
    assert_eq!(ended(&mut world, &plan).await, "Made");
    world.delete("v1/Service", "svc").await;
    assert_eq!(ended(&mut world, &plan).await, "MadeAgain");
    assert_eq!(ended(&mut world, &plan).await, "InStep");
}

#[tokio::test]
async fn a_field_that_is_no_longer_wanted_goes() {
    let mut world = World::new("gone").await;
    let plan = world
        .plan(vec![config_map("c", json!({"a": "1", "b": "2"}))])
        .await;
    world.apply(&plan).await;
    let plan = world.plan(vec![config_map("c", json!({"a": "1"}))]).await;
    assert_eq!(ended(&mut world, &plan).await, "Changed");
    assert_eq!(
        world.json("v1/ConfigMap", "c").await["data"],
        json!({"a": "1"})
    );
}

#[tokio::test]
async fn one_failing_child_does_not_stop_the_others() {
    let mut world = World::new("failing").await;
    let unknown = child(
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "u"}, "dta": {}}),
    );
    let cluster_scoped = child(
        json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
        "metadata": {"name": "r"}, "rules": []}),
    );
    let bad_name = config_map("Bad_Name", json!({}));
    let plan = world
        .plan(vec![unknown, cluster_scoped, bad_name, service()])
        .await;
    let applied = world.apply(&plan).await;
    let troubles: Vec<_> = applied
        .troubles()
        .map(|(_, trouble)| trouble.to_string())
        .collect();
    assert_eq!(troubles.len(), 3, "{troubles:?}");
    assert!(troubles[0].contains("dta"), "{}", troubles[0]);
    assert!(troubles[1].contains("cluster-scoped"), "{}", troubles[1]);
    assert!(troubles[2].contains("Bad_Name"), "{}", troubles[2]);
    assert!(matches!(applied.children[3].ended, ChildEnded::Made));
}

#[tokio::test]
async fn an_object_that_is_not_ours_is_left_alone_until_it_is_handed_over() {
    let mut world = World::new("taken").await;
    let foreign = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": {"a": "theirs"}});
    world.create(&Kind::new("v1", "ConfigMap"), foreign).await;
    let plan = world
        .plan(vec![config_map("c", json!({"a": "ours"}))])
        .await;
    // The cache does not show what carries no label of ours; the API server does.
    assert!(ended(&mut world, &plan).await.contains("NameTaken"));
    world.see(&Kind::new("v1", "ConfigMap")).await;
    assert!(ended(&mut world, &plan).await.contains("NameTaken"));
    assert_eq!(world.json("v1/ConfigMap", "c").await["data"]["a"], "theirs");

    let namespace = world.namespace.clone();
    world.adopt.insert(Adopted {
        kind: Kind::new("v1", "ConfigMap"),
        namespace,
        name: "c".into(),
    });
    assert_eq!(ended(&mut world, &plan).await, "Changed");
    assert_eq!(world.json("v1/ConfigMap", "c").await["data"]["a"], "ours");
}

#[tokio::test]
async fn what_is_created_only_is_left_alone_afterwards() {
    let mut world = World::new("only").await;
    let created_only = Child {
        write: Write::CreateOnly,
        ..config_map("c", json!({"a": "b"}))
    };
    let plan = world.plan(vec![created_only]).await;
    assert_eq!(ended(&mut world, &plan).await, "Made");
    world
        .edit("v1/ConfigMap", "c", json!({"data": {"a": "theirs"}}))
        .await;
    assert_eq!(ended(&mut world, &plan).await, "InStep");
    assert_eq!(world.json("v1/ConfigMap", "c").await["data"]["a"], "theirs");
}

#[tokio::test]
async fn a_kept_child_has_no_owner_and_the_next_owner_of_that_name_takes_it_over() {
    let mut world = World::new("kept").await;
    let kept = Child {
        when_dropped: WhenDropped::Keep,
        ..config_map("c", json!({"a": "b"}))
    };
    let plan = world.plan(vec![kept.clone()]).await;
    world.apply(&plan).await;
    assert_eq!(
        world.json("v1/ConfigMap", "c").await["metadata"]["ownerReferences"],
        Value::Null
    );
    world.delete("effects.example.com/v1/Thing", "one").await;
    world.make_owner("one").await;
    let plan = world.plan(vec![kept]).await;
    assert_eq!(ended(&mut world, &plan).await, "Changed");
    let nothing = world.plan(vec![]).await;
    for _ in 0..3 {
        assert!(!world.round(&nothing).await.1.changed());
    }
}

#[tokio::test]
async fn a_shared_child_is_wanted_by_each_owner_through_its_own_manager() {
    let mut world = World::new("shared").await;
    world.make_owner("two").await;
    let shared = Child {
        shared: true,
        ..config_map("c", json!({"a": "b"}))
    };
    for owner in ["one", "two"] {
        world.turn_to(owner);
        let plan = world.plan(vec![shared.clone()]).await;
        world.apply(&plan).await;
    }
    world.writes();
    for owner in ["one", "two"] {
        world.turn_to(owner);
        let plan = world.plan(vec![shared.clone()]).await;
        assert_eq!(ended(&mut world, &plan).await, "InStep", "{owner}");
        let nothing = world.plan(vec![]).await;
        for _ in 0..3 {
            assert!(world.round(&nothing).await.1.deleted.is_empty());
        }
    }
    let live = world.json("v1/ConfigMap", "c").await;
    let owners = live["metadata"]["ownerReferences"].as_array().unwrap();
    let names: Vec<_> = owners
        .iter()
        .map(|owner| owner["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["one", "two"]);
    assert!(owners.iter().all(|owner| owner["controller"] != true));
}

#[tokio::test]
async fn a_child_that_cannot_be_changed_is_made_again_after_that_is_stored() {
    let mut world = World::new("immutable").await;
    let map = |value: &str, when_immutable| {
        let manifest = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"},
            "immutable": true, "data": {"a": value}});
        Child {
            when_immutable,
            ..child(manifest)
        }
    };
    let plan = world.plan(vec![map("1", WhenImmutable::Report)]).await;
    world.round(&plan).await;
    let uid = world.json("v1/ConfigMap", "c").await["metadata"]["uid"].clone();

    let plan = world.plan(vec![map("2", WhenImmutable::Report)]).await;
    let (applied, _) = world.round(&plan).await;
    let (_, trouble) = applied.troubles().next().expect("no trouble");
    assert_eq!(trouble.reason(), "FieldImmutable");

    let plan = world.plan(vec![map("2", WhenImmutable::Recreate)]).await;
    world.writes();
    let applied = world.apply(&plan).await;
    assert!(
        matches!(applied.children[0].ended, ChildEnded::ToRecreate(_)),
        "{:?}",
        applied.children
    );
    assert!(
        !world
            .writes()
            .iter()
            .any(|write| write.starts_with("DELETE"))
    );
    world.rest(&plan, &applied, Gathered::Whole).await;
    let order: Vec<_> = world
        .writes()
        .iter()
        .map(|write| write.split(' ').next().unwrap().to_owned())
        .collect();
    assert_eq!(order, ["PUT", "DELETE"]);
    // Nothing collects garbage here, so dependents are not waited for by anybody but us.
    world.edit_finalizers_away("v1/ConfigMap", "c").await;
    let (applied, _) = world.round(&plan).await;
    assert!(applied.settled(), "{:?}", applied.children);
    let live = world.json("v1/ConfigMap", "c").await;
    assert_ne!(live["metadata"]["uid"], uid);
    assert_eq!(live["data"]["a"], "2");
    let status = world.json("effects.example.com/v1/Thing", "one").await["status"].clone();
    assert_eq!(status["windlass"], Value::Null);
}

#[tokio::test]
async fn a_stateful_set_is_made_again_around_its_pods() {
    let mut world = World::new("orphaning").await;
    let plan = world.plan(vec![stateful_set()]).await;
    world.round(&plan).await;
    let mut changed = stateful_set();
    changed.manifest = changed
        .manifest
        .replace("\"serviceName\":\"set\"", "\"serviceName\":\"other\"");
    changed.when_immutable = WhenImmutable::RecreateOrphaning;
    let plan = world.plan(vec![changed]).await;
    world.round(&plan).await;
    let live = world.json("apps/v1/StatefulSet", "set").await;
    assert_eq!(
        live["metadata"]["finalizers"],
        json!(["orphan"]),
        "its Pods would go with it"
    );
    assert_eq!(ended(&mut world, &plan).await, "Waits");
    world
        .edit_finalizers_away("apps/v1/StatefulSet", "set")
        .await;
    assert_eq!(ended(&mut world, &plan).await, "Made");
}

#[tokio::test]
async fn what_two_rounds_no_longer_name_is_pruned() {
    let mut world = World::new("prune").await;
    let (a, b) = (config_map("a", json!({})), config_map("b", json!({})));
    let both = world.plan(vec![a.clone(), b.clone()]).await;
    let one = world.plan(vec![a.clone()]).await;
    world.round(&both).await;
    let (_, first) = world.round(&one).await;
    assert!(first.undecided() && !first.changed());
    let (_, undone) = world.round(&both).await;
    assert!(!undone.undecided() && !undone.changed());
    assert!(world.round(&one).await.1.undecided());
    let (_, second) = world.round(&one).await;
    assert_eq!(second.deleted.len(), 1);
    assert!(
        world
            .get(&Kind::new("v1", "ConfigMap"), "b")
            .await
            .is_none()
    );
    assert!(
        world
            .get(&Kind::new("v1", "ConfigMap"), "a")
            .await
            .is_some()
    );
}

#[tokio::test]
async fn nothing_is_pruned_while_a_child_fails_or_a_fact_is_refused() {
    let mut world = World::new("noprune").await;
    let both = world
        .plan(vec![config_map("a", json!({})), config_map("b", json!({}))])
        .await;
    world.round(&both).await;
    let failing = world.plan(vec![config_map("Bad_Name", json!({}))]).await;
    for _ in 0..3 {
        assert!(!world.round(&failing).await.1.changed());
    }
    let one = world.plan(vec![config_map("a", json!({}))]).await;
    for _ in 0..3 {
        let applied = world.apply(&one).await;
        assert!(
            !world
                .rest(&one, &applied, Gathered::SomeRefused)
                .await
                .changed()
        );
    }
    assert!(
        world
            .get(&Kind::new("v1", "ConfigMap"), "b")
            .await
            .is_some()
    );
}

#[tokio::test]
async fn compressed_keys_are_compared_unpacked() {
    let mut world = World::new("gzip").await;
    let zipped = Child {
        gzip: vec!["a".into()],
        ..config_map("c", json!({"a": "x".repeat(1000), "b": "y"}))
    };
    let plan = world.plan(vec![zipped]).await;
    assert_eq!(ended(&mut world, &plan).await, "Made");
    assert_eq!(ended(&mut world, &plan).await, "InStep");
    let live = world.json("v1/ConfigMap", "c").await;
    assert_eq!(live["data"], json!({"b": "y"}));
    assert!(live["binaryData"]["a"].as_str().unwrap().len() < 100);
    assert!(live["metadata"]["annotations"][APPLIED].is_string());
}
