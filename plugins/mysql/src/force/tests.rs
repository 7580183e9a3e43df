use super::way_out;
use crate::decide::{Command, Decision, Wish};
use crate::gtid::GtidSet;
use crate::names::{FORCE_PRIMARY, SWITCHOVER};
use crate::observe::Receiver;
use crate::status::IntentKind;
use crate::testing::{NOW, P, R1, R2, Scene, gtids, names, target};

/// What became of the annotation.
#[derive(Debug, PartialEq)]
enum Answer {
    Followed,
    Refused,
    Waits,
}

fn answer_to(decision: &Decision, pod: &str) -> Answer {
    let record = &decision.record;
    let intent = record.intent.as_ref();
    let is_forced = intent.is_some_and(|intent| {
        intent.kind == IntentKind::Failover && intent.to.as_deref() == Some(pod)
    });
    let is_answered = record.followed.get(FORCE_PRIMARY).map(String::as_str) == Some(pod);
    let is_refused = record.refused.contains_key(FORCE_PRIMARY);
    let waits = decision.unanswered.is_some();
    match (is_answered, is_forced, is_refused, waits) {
        (true, true, false, false) => Answer::Followed,
        (true, false, true, false) => Answer::Refused,
        (false, false, false, true) => Answer::Waits,
        other => panic!("it is none or several of the three: {other:?}"),
    }
}

/// The primary is gone, the intent to replace it is stored, and both replicas are cut off.
fn fenced() -> Scene {
    let mut scene = Scene::healthy();
    scene.lose(P);
    assert!(scene.step().record.intent.is_some());
    scene.cut(R1);
    scene.cut(R2);
    scene
}

/// The same, but a replica that could have commits of its own has gone silent: the failover cannot go on.
fn stuck() -> Scene {
    let mut scene = fenced();
    scene.silence(R2, NOW);
    scene
}

/// The primary and a replica are gone.
fn lost() -> Scene {
    let mut scene = Scene::healthy();
    scene.lose(P);
    scene.lose(R2);
    scene
}

fn incomparable() -> Scene {
    let mut scene = fenced();
    scene.has(R1, "", "A:1-100,B:1");
    scene.has(R2, "", "A:1-101");
    scene
}

fn with_a_backlog() -> Scene {
    let mut scene = fenced();
    for pod in [R1, R2] {
        scene.has(pod, "A:90-105", "A:1-100");
    }
    scene
}

fn unable_to_apply() -> Scene {
    let mut scene = with_a_backlog();
    for pod in [R1, R2] {
        scene.break_applier(pod);
    }
    scene
}

fn silent_choice() -> Scene {
    let mut scene = lost();
    scene.add(R2);
    let server = scene.server(R2);
    (server.uuid, server.executed) = ("another".to_owned(), gtids("A:1-90"));
    scene.annotate(FORCE_PRIMARY, R2);
    assert_eq!(answer_to(&scene.step(), R2), Answer::Followed);
    scene.silence(R2, NOW);
    scene
}

fn doubtful() -> Scene {
    let mut scene = Scene::healthy();
    scene.silence(P, NOW);
    scene
}

fn opening() -> Scene {
    let mut scene = Scene::healthy();
    let server = scene.server(P);
    (server.read_only, server.super_read_only) = (true, true);
    scene
}

fn handing_over() -> Scene {
    let mut scene = Scene::healthy();
    scene.annotate(SWITCHOVER, R2);
    scene.step();
    scene
}

fn degraded() -> Scene {
    let mut scene = Scene::healthy();
    scene.lose(R2);
    scene
}

fn with_an_empty_one() -> Scene {
    let mut scene = lost();
    scene.server(R1).executed = GtidSet::default();
    scene
}

fn with_a_silent_one() -> Scene {
    let mut scene = lost();
    scene.silence(R1, NOW);
    scene
}

fn with_one_that_ends() -> Scene {
    let mut scene = lost();
    scene.pod(R1).terminating = true;
    scene
}

/// In words, where the cluster stands, and who is named.
type Case = (&'static str, fn() -> Scene, &'static str);

fn check(cases: &[Case], expected: &Answer, event: Option<&str>) {
    for (name, scene, pod) in cases {
        let mut scene = scene();
        scene.annotate(FORCE_PRIMARY, pod);
        let decision = scene.decide();
        assert_eq!(answer_to(&decision, pod), *expected, "{name}: {decision:?}");
        let mut told = decision.reasons().into_iter();
        assert_eq!(told.find(|it| it.contains("Force")), event, "{name}");
    }
}

#[test]
fn a_choice_is_followed_where_the_operator_cannot_go_on_by_itself() {
    let cases: [Case; 5] = [
        ("nobody may take the lost one's place", lost, R1),
        ("an intent stands, too few voters answer", stuck, R1),
        ("an intent stands, none has everything", incomparable, R2),
        ("an intent stands, none can apply", unable_to_apply, R1),
        ("an earlier choice is silent", silent_choice, R1),
    ];
    check(&cases, &Answer::Followed, Some("FailoverForced"));
}

#[test]
fn a_choice_waits_where_the_operator_may_go_on_by_itself() {
    let cases: [Case; 6] = [
        ("a silence may pass", doubtful, R1),
        ("the primary is being opened", opening, R1),
        ("a hand-over is under way", handing_over, R1),
        ("a failover goes on and loses nothing", with_a_backlog, R1),
        ("it does not answer yet", with_a_silent_one, R1),
        ("its Pod is being deleted", with_one_that_ends, R1),
    ];
    check(&cases, &Answer::Waits, None);
}

#[test]
fn a_choice_that_is_not_needed_or_cannot_be_is_refused() {
    let cases: [Case; 6] = [
        ("all is well", Scene::healthy, R1),
        ("it is the primary", Scene::healthy, P),
        ("the primary takes writes", degraded, R1),
        ("there is no such instance", stuck, "my-database-7"),
        ("nor one, and all is well", Scene::healthy, "my-database-7"),
        ("it has no data", with_an_empty_one, R1),
    ];
    check(&cases, &Answer::Refused, Some("ForceRefused"));
}

#[test]
fn a_failover_that_is_stuck_goes_to_the_one_that_is_named() {
    let mut scene = stuck();
    assert!(scene.decide().trouble().contains(FORCE_PRIMARY));
    scene.annotate(FORCE_PRIMARY, R1);
    let decision = scene.step();
    assert_eq!(
        (decision.primary(), decision.record.epoch),
        (P, 1),
        "the intent is stored first"
    );
    let decision = scene.step();
    assert_eq!((decision.primary(), decision.record.epoch), (R1, 2));
    assert_eq!(decision.reasons(), ["PrimaryChosen"]);
}

#[test]
fn a_request_that_was_refused_does_nothing_later() {
    let mut scene = Scene::healthy();
    scene.annotate(FORCE_PRIMARY, R1);
    let decision = scene.step();
    let why = &decision.record.refused[FORCE_PRIMARY];
    for word in [R1, P, SWITCHOVER] {
        assert!(why.contains(word), "{why}");
    }
    assert!(scene.step().notes.is_empty(), "it is told once");
    scene.lose(P);
    scene.lose(R2);
    let decision = scene.step();
    assert_eq!(decision.record.intent, None);
    let trouble = decision.trouble();
    assert!(
        trouble.contains("take the annotation off first"),
        "{trouble}"
    );
}

#[test]
fn one_that_was_taken_off_may_be_set_again() {
    let mut scene = Scene::healthy();
    scene.annotate(FORCE_PRIMARY, R1);
    scene.step();
    scene.view.annotations.clear();
    let record = scene.step().record;
    assert!(record.followed.is_empty() && record.refused.is_empty());
    scene.lose(P);
    scene.lose(R2);
    scene.annotate(FORCE_PRIMARY, R1);
    assert_eq!(answer_to(&scene.decide(), R1), Answer::Followed);
}

#[test]
fn one_that_was_followed_is_not_refused_once_all_is_well() {
    let mut scene = stuck();
    scene.annotate(FORCE_PRIMARY, R1);
    scene.step();
    scene.step();
    scene.lead(R1);
    scene.server(R1).channel = None;
    let record = scene.step().record;
    assert_eq!(record.followed[FORCE_PRIMARY], R1);
    assert!(record.refused.is_empty());
}

#[test]
fn a_request_that_waits_is_refused_once_the_old_primary_goes_on() {
    let mut scene = stuck();
    scene.annotate(FORCE_PRIMARY, R2);
    assert_eq!(answer_to(&scene.step(), R2), Answer::Waits);
    scene.add(P);
    scene.restart(P);
    let decision = scene.step();
    assert_eq!(decision.reasons(), ["FailoverAborted"]);
    assert_eq!(answer_to(&decision, R2), Answer::Waits);
    scene.lead(P);
    scene.add(R2);
    scene.link(R2, P);
    assert_eq!(answer_to(&scene.step(), R2), Answer::Refused);
    let decision = scene.decide();
    assert_eq!(decision.primary(), P);
    assert_eq!(decision.record.intent, None);
}

#[test]
fn whatever_answers_is_fenced_before_the_one_that_was_chosen_is_recorded() {
    let mut scene = stuck();
    scene.annotate(FORCE_PRIMARY, R1);
    scene.step();
    scene.add(P);
    scene.lead(P);
    let decision = scene.decide();
    assert!(decision.orders(&Command::Shut(target(P))));
    assert_eq!(
        decision.primary(),
        P,
        "its clients may yet be told that a commit is done"
    );
    scene.restart(P);
    scene.add(R2);
    scene.link(R2, P);
    let decision = scene.decide();
    assert!(decision.orders(&Command::Cut(target(R2))));
    assert_eq!(decision.primary(), P, "R2 may yet acknowledge");
    scene.channel(R2).receiver = Receiver::Stopped;
    assert_eq!(scene.decide().primary(), R1);
}

#[test]
fn the_way_out_names_every_instance() {
    let scene = Scene::healthy();
    let names = names();
    let wish = Wish {
        names: &names,
        spec: &scene.spec,
    };
    let text = way_out(&wish, &scene.view);
    for word in [FORCE_PRIMARY, P, R1, R2] {
        assert!(text.contains(word), "{text}");
    }
    assert!(!text.contains("first"), "{text}");
}
