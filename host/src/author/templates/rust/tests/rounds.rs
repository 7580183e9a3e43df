//! Whole rounds against a made-up world: what a user would see.

use k8s_openapi::api::core::v1::{Pod, PodCondition, PodStatus};
use website_operator::controller::WebsiteController;
use website_operator::describe;
use website_operator::spec::{Website, WebsiteStatus};
use windlass_sdk::golden;
use windlass_sdk::harness::{Harness, Round};

#[test]
fn a_new_website_gets_its_page_its_pods_and_an_address() {
    let round = round(&sample(), &[]);
    let kinds: Vec<_> = round.plan().children.iter().map(|child| kind(&child.manifest)).collect();
    assert_eq!(kinds, ["ConfigMap", "Deployment", "Service"]);
    let status = status(&round);
    assert_eq!(status.conditions[0].reason, "Starting");
    assert_eq!(status.url.as_deref(), Some("http://hello.default.svc"));
    assert!(round.plan().events.is_empty());
}

#[test]
fn it_is_ready_once_its_pods_are_and_says_so_once() {
    let mut website = sample();
    let pods = [ready("hello-1"), ready("hello-2")];
    let first = round(&website, &pods);
    assert_eq!(first.plan().events[0].reason, "Published");
    assert_eq!(status(&first).conditions[0].status, "True");

    website.status = Some(status(&first));
    let second = round(&website, &pods);
    assert!(second.plan().events.is_empty());
    assert_eq!(second.plan().status, first.plan().status, "nothing changes when nothing happens");
}

#[test]
fn a_changed_page_rolls_the_pods() {
    let mut website = sample();
    let before = round(&website, &[]);
    website.spec.text.push('!');
    let after = round(&website, &[]);
    assert_ne!(before.plan().children[1], after.plan().children[1]);
}

#[test]
fn the_plugin_is_granted_exactly_what_it_asks_for() {
    let granted = include_str!("../plugin.yaml").lines().filter_map(|line| {
        let grant = line.trim().strip_prefix("- ")?;
        Some(grant.split_whitespace().next()?.to_owned())
    });
    let mut granted: Vec<_> = granted.collect();
    granted.sort();
    assert_eq!(granted, describe().grants());
}

fn sample() -> Website {
    let mut website: Website = golden::object(include_str!("../sample.yaml"));
    website.metadata.namespace = Some("default".to_owned());
    website.metadata.generation = Some(1);
    website
}

fn round(website: &Website, pods: &[Pod]) -> Round {
    Harness::new(website)
        .now(60_000)
        .available(describe().grants())
        .objects(pods)
        .reconcile(&WebsiteController)
}

fn ready(name: &str) -> Pod {
    let mut pod = Pod::default();
    pod.metadata.name = Some(name.to_owned());
    pod.status = Some(PodStatus {
        conditions: Some(vec![PodCondition {
            type_: "Ready".to_owned(),
            status: "True".to_owned(),
            ..PodCondition::default()
        }]),
        ..PodStatus::default()
    });
    pod
}

fn status(round: &Round) -> WebsiteStatus {
    golden::object(round.plan().status.as_deref().expect("a status"))
}

fn kind(manifest: &str) -> String {
    let object: kube::core::TypeMeta = golden::object(manifest);
    object.kind
}
