//! A primary is on record and refuses writes: the others are pointed at it, and it is opened.

use crate::decide::{Command, Decision, Following, Setup, State, Wish};
use crate::gtid::GtidSet;
use crate::observe::{PodView, ServerView, View};
use crate::repair;
use crate::status::Primary;
use crate::strays;

/// Opens the primary once it holds everything that any voter has.
pub fn open(
    wish: &Wish<'_>,
    view: &View,
    primary: &Primary,
    server: &ServerView,
    decision: &mut Decision,
) {
    let wait_count = decision.record.wait_count.unwrap_or(0);
    decision.state = State::Opening(format!("{} is to take writes", primary.pod));
    let held = held_by_voters(view).and(&server.received());
    if !server.executed.contains(&held) {
        let missing = held.minus(&server.executed);
        decision.state = State::Opening(format!(
            "{} is to take writes once it has applied {} transactions",
            primary.pod,
            missing.count()
        ));
        if server
            .channel
            .as_ref()
            .is_some_and(|channel| !channel.applying)
        {
            decision.order(Command::Apply(server.target(&primary.pod)));
        }
        return;
    }
    strays::shut(view, primary, decision);
    if let Some(copy) = repair::copy_to_wait_for(view, &decision.record) {
        decision.state = State::Opening(format!(
            "{} is to take writes once {copy} is a copy of it: before, nobody could acknowledge them",
            primary.pod
        ));
        return;
    }
    let target = server.target(&primary.pod);
    decision.order(Command::Open(target, wait_count, held));
    for pod in view.others(&primary.pod) {
        point(wish, primary, server, pod, decision);
    }
}

/// What the voters that answer committed or received.
fn held_by_voters(view: &View) -> GtidSet {
    let voters = view.record.voters.iter();
    let servers = voters.filter_map(|voter| view.of_voter(voter));
    servers.fold(GtidSet::default(), |sum, server| {
        sum.and(&server.received())
    })
}

/// Points a replica at the primary, unless it has anything that the primary lacks: that is looked at later.
fn point(
    wish: &Wish<'_>,
    primary: &Primary,
    primary_server: &ServerView,
    pod: &PodView,
    decision: &mut Decision,
) {
    let Some(server) = pod.staying() else {
        return;
    };
    if !server.super_read_only
        || !server.is_shut()
        || !primary_server.executed.contains(&server.received())
    {
        return;
    }
    let host = wish.names.host(&primary.pod);
    let channel = server.channel.as_ref();
    let setup = match channel {
        Some(channel) if channel.host == host && !server.is_cut_off() => return,
        Some(channel) if channel.host == host => Setup::Start,
        _ => Setup::Point,
    };
    let is_voter = decision.is_voter(&pod.name, &server.uuid);
    let following = Following {
        primary: primary.pod.clone(),
        acknowledges: is_voter,
        setup,
    };
    decision.order(Command::Follow(server.target(&pod.name), following));
}

#[cfg(test)]
mod tests {
    use crate::decide::{Command, Setup, State};
    use crate::testing::{P, R1, R2, Scene, follow, gtids, target};

    /// R1 was chosen after P was lost, and is not open yet.
    fn chosen() -> Scene {
        let mut scene = Scene::healthy();
        scene.lose(P);
        scene.step();
        scene.cut(R1);
        scene.cut(R2);
        scene.step();
        scene
    }

    #[test]
    fn the_others_are_pointed_at_the_primary_that_is_opened() {
        let decision = chosen().decide();
        let open = Command::Open(target(R1), 1, gtids("A:1-100"));
        assert!(decision.orders(&open), "{:?}", decision.commands);
        assert!(decision.orders(&follow(R2, R1, true, Setup::Point)));
    }

    #[test]
    fn it_stays_shut_while_the_only_one_that_could_acknowledge_is_becoming_its_copy() {
        let mut scene = Scene::healthy();
        scene.server(P).super_read_only = true;
        scene.server(P).read_only = true;
        scene.lose(R1);
        scene.view.record.voters.clear();
        scene.plan_copy(R2);
        scene.view.running.insert("clone".to_owned());
        let opens = |scene: &Scene| {
            let commands = scene.decide().commands;
            commands.iter().any(|it| matches!(it, Command::Open(..)))
        };
        assert!(!opens(&scene));
        scene.view.running.clear();
        assert!(opens(&scene), "the copy ended, one way or the other");
    }

    #[test]
    fn it_is_not_opened_while_a_voter_has_more() {
        let mut scene = chosen();
        scene.has(R2, "A:100-101", "A:1-101");
        let decision = scene.decide();
        assert!(
            !decision
                .commands
                .iter()
                .any(|it| matches!(it, Command::Open(..)))
        );
        assert!(matches!(decision.state, State::Opening(_)));
    }

    #[test]
    fn what_it_received_is_applied_first() {
        let mut scene = chosen();
        scene.has(R1, "A:100-101", "A:1-100");
        scene.channel(R1).applying = false;
        assert!(scene.decide().orders(&Command::Apply(target(R1))));
    }

    #[test]
    fn a_replica_that_has_something_else_is_left_alone() {
        let mut scene = chosen();
        scene.view.record.voters.clear();
        scene.has(R2, "", "A:1-100,C:1");
        let decision = scene.decide();
        assert!(
            !decision
                .commands
                .iter()
                .any(|it| matches!(it, Command::Follow(..)))
        );
    }

    #[test]
    fn the_label_goes_on_only_when_it_was_seen_taking_writes() {
        use crate::names::Role;
        let mut scene = chosen();
        let label = Command::Label(R1.to_owned(), Some(Role::Primary));
        assert!(!scene.decide().orders(&label));
        scene.lead(R1);
        scene.server(R1).channel = None;
        scene.view.record.missed_since = Some(scene.view.now - 4_200);
        let decision = scene.decide();
        assert!(decision.orders(&label));
        let ready = decision
            .notes
            .iter()
            .find(|note| note.reason == "PrimaryReady")
            .unwrap();
        assert_eq!(
            ready.text,
            "my-database-1 takes writes after 4.2 s without, in epoch 2"
        );
    }
}
