//! What tests of several modules begin with.

use crate::decide::{Command, Decision, Following, Setup, State, Target, Wish, decide};
use crate::gtid::GtidSet;
use crate::names::{Names, Role};
use crate::observe::{Channel, PodView, Receiver, Server, ServerView, Trouble, View, VolumeView};
use crate::spec::{MySQLCluster, MySQLClusterSpec};
use crate::status::{Primary, Record, Repair, Rung, Voter};

pub(crate) const P: &str = "my-database-0";
pub(crate) const R1: &str = "my-database-1";
pub(crate) const R2: &str = "my-database-2";
/// The time of a scene, long after everything in it.
pub(crate) const NOW: u64 = 1_000_000;
/// When everything in a scene was made.
pub(crate) const MADE: u64 = NOW - 9_000;

/// A cluster of three, as users are shown it.
pub(crate) fn spec() -> MySQLClusterSpec {
    let text = r#"
apiVersion: mysql.example.com/v1
kind: MySQLCluster
metadata: {name: my-database}
spec: {replicas: 3, version: "8.0"}
"#;
    serde_saphyr::from_str::<MySQLCluster>(text).unwrap().spec
}

/// A cluster and everything that is known about it, to be changed by a test and decided about.
#[derive(Clone)]
pub(crate) struct Scene {
    pub(crate) spec: MySQLClusterSpec,
    pub(crate) view: View,
}

impl Scene {
    /// Pods that were just made: each answers, none has data, no primary was chosen.
    pub(crate) fn new() -> Self {
        let mut scene = Self {
            spec: spec(),
            view: View {
                now: NOW,
                created: NOW - 10_000,
                ..View::default()
            },
        };
        for pod in [P, R1, R2] {
            scene.add(pod);
        }
        scene
    }

    /// A Pod that was just made.
    pub(crate) fn add(&mut self, pod: &str) {
        self.view.pods.insert(pod.to_owned(), fresh(pod));
        let volume = VolumeView {
            created: MADE,
            ..VolumeView::default()
        };
        self.view.volumes.insert(pod.to_owned(), volume);
    }

    /// One primary and two voters with the same hundred transactions; there is nothing to do.
    pub(crate) fn healthy() -> Self {
        let mut scene = Self::new();
        scene.view.record = Record {
            primary: Some(Primary {
                pod: P.to_owned(),
                uid: uid(P),
                uuid: uuid(P),
                writable_since: Some(MADE + 1_000),
            }),
            epoch: 1,
            voters: vec![voter(R1), voter(R2)],
            wait_count: Some(1),
            version: Some("8.0".to_owned()),
            ..Record::default()
        };
        scene.view.volumes.get_mut(P).unwrap().epoch = Some(1);
        scene.lead(P);
        scene.pod(P).role = Some(Role::Primary);
        for pod in [R1, R2] {
            scene.link(pod, P);
            scene.pod(pod).role = Some(Role::Replica);
        }
        scene
    }

    pub(crate) fn pod(&mut self, name: &str) -> &mut PodView {
        self.view.pods.get_mut(name).unwrap()
    }

    pub(crate) fn server(&mut self, name: &str) -> &mut ServerView {
        match &mut self.pod(name).server {
            Server::Answers(server) => server,
            other => panic!("{name} is {other:?}"),
        }
    }

    pub(crate) fn channel(&mut self, name: &str) -> &mut Channel {
        self.server(name).channel.as_mut().unwrap()
    }

    /// This MySQL takes writes, and waits for one acknowledgement.
    pub(crate) fn lead(&mut self, name: &str) {
        let server = self.server(name);
        (server.read_only, server.super_read_only) = (false, false);
        (server.wait_count, server.acknowledging) = (1, 2);
        server.executed = gtids("A:1-100");
    }

    /// This MySQL follows that one closely, and acknowledges.
    pub(crate) fn link(&mut self, name: &str, primary: &str) {
        let server = self.server(name);
        server.executed = gtids("A:1-100");
        server.acknowledges = true;
        server.channel = Some(Channel {
            host: host(primary),
            receiver: Receiver::Connected,
            applying: true,
            lag: Some(0),
            heard: Some(200),
            ..Channel::default()
        });
    }

    /// This replica received so much, and committed so much of it.
    pub(crate) fn has(&mut self, name: &str, retrieved: &str, executed: &str) {
        self.channel(name).retrieved = gtids(retrieved);
        self.server(name).executed = gtids(executed);
    }

    /// This replica receives nothing any more.
    pub(crate) fn cut(&mut self, name: &str) {
        self.channel(name).receiver = Receiver::Stopped;
    }

    /// This replica stopped applying with an error.
    pub(crate) fn break_applier(&mut self, name: &str) {
        let channel = self.channel(name);
        channel.applying = false;
        channel.apply_error = Some(Trouble {
            code: 1062,
            text: "Duplicate entry '1' for key 'PRIMARY'".to_owned(),
        });
    }

    /// The MySQL in this Pod was restarted around the same data.
    pub(crate) fn restart(&mut self, name: &str) {
        let server = self.server(name);
        server.started = NOW - 1_000;
        (server.read_only, server.super_read_only) = (true, true);
        (server.wait_count, server.acknowledges) = (0, false);
        if let Some(channel) = &mut server.channel {
            (channel.receiver, channel.applying) = (Receiver::Stopped, false);
            channel.heard = None;
        }
    }

    /// It was decided that this one becomes a copy of another.
    pub(crate) fn plan_copy(&mut self, name: &str) {
        let repair = Repair {
            rung: Rung::Clone,
            since: NOW,
            why: "it has nothing".to_owned(),
            times: 0,
        };
        self.view.record.repairs.insert(name.to_owned(), repair);
    }

    /// It has not answered since then.
    pub(crate) fn silence(&mut self, name: &str, since: u64) {
        self.pod(name).server = Server::Silent(since);
    }

    /// Its Pod is gone, and its controller has not made another yet.
    pub(crate) fn lose(&mut self, name: &str) {
        self.view.pods.remove(name);
    }

    /// Replicas heard from the primary so long ago, in milliseconds.
    pub(crate) fn heard(&mut self, age: u64) {
        for pod in [R1, R2] {
            self.channel(pod).heard = Some(age);
        }
    }

    pub(crate) fn annotate(&mut self, annotation: &str, value: &str) {
        let value = value.to_owned();
        self.view.annotations.insert(annotation.to_owned(), value);
    }

    pub(crate) fn decide(&self) -> Decision {
        let names = names();
        let wish = Wish {
            names: &names,
            spec: &self.spec,
        };
        decide(&wish, &self.view)
    }

    /// Decides, and takes over the record as if it was stored and its commands were not run.
    pub(crate) fn step(&mut self) -> Decision {
        let decision = self.decide();
        self.view.record = decision.record.clone();
        decision
    }
}

impl Decision {
    /// The Pod that is the primary by this decision.
    pub(crate) fn primary(&self) -> &str {
        &self.record.primary.as_ref().unwrap().pod
    }

    pub(crate) fn voters(&self) -> Vec<&str> {
        let voters = self.record.voters.iter();
        voters.map(|voter| voter.pod.as_str()).collect()
    }

    pub(crate) fn orders(&self, command: &Command) -> bool {
        self.commands.contains(command)
    }

    pub(crate) fn reasons(&self) -> Vec<&str> {
        self.notes.iter().map(|note| note.reason).collect()
    }

    /// Why it is lost or stuck.
    pub(crate) fn trouble(&self) -> &str {
        match &self.state {
            State::Lost(why) | State::Stuck(why) | State::Failed(why) | State::Doubtful(why) => why,
            other => panic!("{other:?}"),
        }
    }
}

pub(crate) fn names() -> Names {
    Names::of("my-database", "mysql.example.com")
}

pub(crate) fn host(pod: &str) -> String {
    names().host(pod)
}

/// `A`, `B` and `C` stand for the uuids of the three servers.
pub(crate) fn gtids(text: &str) -> GtidSet {
    let text = text
        .replace('A', &uuid(P))
        .replace('B', &uuid(R1))
        .replace('C', &uuid(R2));
    GtidSet::parse(&text).unwrap()
}

pub(crate) fn uid(pod: &str) -> String {
    format!("{pod}-uid")
}

pub(crate) fn uuid(pod: &str) -> String {
    let ordinal = pod.rsplit('-').next().unwrap();
    format!("{ordinal}0000000-71ca-11e1-9e33-c80aa9429562")
}

pub(crate) fn voter(pod: &str) -> Voter {
    Voter {
        pod: pod.to_owned(),
        uid: uid(pod),
        uuid: uuid(pod),
    }
}

pub(crate) fn target(pod: &str) -> Target {
    Target {
        pod: pod.to_owned(),
        uuid: uuid(pod),
    }
}

pub(crate) fn follow(pod: &str, primary: &str, acknowledges: bool, setup: Setup) -> Command {
    let following = Following {
        primary: primary.to_owned(),
        acknowledges,
        setup,
    };
    Command::Follow(target(pod), following)
}

fn fresh(pod: &str) -> PodView {
    let server = ServerView {
        uuid: uuid(pod),
        version: "8.0.39".to_owned(),
        started: MADE,
        read_only: true,
        super_read_only: true,
        ..ServerView::default()
    };
    PodView {
        name: pod.to_owned(),
        uid: uid(pod),
        ip: Some(format!("ip-of-{pod}")),
        ready: true,
        running_since: Some(MADE),
        server: Server::Answers(Box::new(server)),
        ..PodView::default()
    }
}
