//! What tests of several modules begin with.

use std::collections::BTreeMap;

use crate::decide::{Command, Decision, Target, Wish, decide};
use crate::names::{Names, Role};
use crate::observe::{Aof, Feed, PodView, Server, ServerView, Stance, View, VolumeView};
use crate::serving::MIN_REPLICAS;
use crate::settings::Settings;
use crate::spec::{Redis, RedisSpec};
use crate::status::{Member, Primary, Record};

pub(crate) const MASTER: &str = "my-redis-master-0";
pub(crate) const R0: &str = "my-redis-replica-0";
pub(crate) const R1: &str = "my-redis-replica-1";

/// The history of the data of a healthy scene.
pub(crate) const HISTORY: &str = "history-1";
/// The time of a scene, long after everything in it.
pub(crate) const NOW: u64 = 1_000_000;

/// The first file that users are shown.
pub(crate) fn sample() -> Redis {
    serde_saphyr::from_str(include_str!("../../../deploy/samples/redis.yaml")).unwrap()
}

/// Its spec.
pub(crate) fn spec() -> RedisSpec {
    sample().spec
}

/// What it is called, and what it does to a scene.
pub(crate) type Case = (&'static str, fn(&mut Scene));

/// A Redis and everything that is known about it, to be changed by a test and decided about.
pub(crate) struct Scene {
    pub(crate) spec: RedisSpec,
    pub(crate) view: View,
}

impl Scene {
    /// Pods that were just made: each answers, none has data, no primary was chosen.
    pub(crate) fn new() -> Self {
        let mut view = View {
            now: NOW,
            created: 1_000,
            ..View::default()
        };
        for pod in [MASTER, R0, R1] {
            view.pods.insert(pod.to_owned(), fresh(pod));
            view.volumes.insert(
                pod.to_owned(),
                VolumeView {
                    created: 2_000,
                    ..VolumeView::default()
                },
            );
        }
        let mut scene = Self { spec: spec(), view };
        for pod in [MASTER, R0, R1] {
            let settings = scene.settings().live;
            scene.server(pod).settings = settings;
            scene
                .server(pod)
                .settings
                .insert(MIN_REPLICAS.to_owned(), "0".to_owned());
        }
        scene
    }

    /// One primary and two replicas in sync; there is nothing to do.
    pub(crate) fn healthy() -> Self {
        let mut scene = Self::new();
        scene.view.record = Record {
            primary: Some(Primary {
                pod: MASTER.to_owned(),
                uid: uid(MASTER),
                run_id: run_id(MASTER),
                replid: HISTORY.to_owned(),
                since: 2_000,
            }),
            epoch: 1,
            in_sync: vec![member(R0), member(R1)],
            boots_with_aof: Some(true),
            ..Record::default()
        };
        let volume = scene.view.volumes.get_mut(MASTER).unwrap();
        (volume.epoch, volume.aof) = (Some(1), Some(true));
        scene.lead(MASTER);
        scene.pod(MASTER).role = Some(Role::Primary);
        for pod in [R0, R1] {
            scene.link(pod, MASTER);
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

    /// This Redis takes writes, bound to one replica.
    pub(crate) fn lead(&mut self, name: &str) {
        let server = self.server(name);
        server.stance = Stance::Primary;
        server.replid = HISTORY.to_owned();
        (server.offset, server.keys) = (100, 3);
        server
            .settings
            .insert(MIN_REPLICAS.to_owned(), "1".to_owned());
    }

    /// This Redis follows that one closely.
    pub(crate) fn link(&mut self, name: &str, primary: &str) {
        let replid = self.server(primary).replid.clone();
        let feed = Feed {
            online: true,
            lag: 0,
            offset: 100,
        };
        self.server(primary).feeds.insert(ip(name), feed);
        let server = self.server(name);
        server.stance = Stance::Follows {
            host: ip(primary),
            linked: true,
            last_heard: Some(0),
            copying: false,
        };
        server.replid = replid;
        (server.offset, server.keys) = (100, 3);
    }

    /// The link of this Redis is down for so many seconds.
    pub(crate) fn unlink(&mut self, name: &str, primary: &str, seconds: u64) {
        self.server(name).stance = Stance::Follows {
            host: ip(primary),
            linked: false,
            last_heard: Some(seconds),
            copying: false,
        };
        if let Server::Answers(server) = &mut self.pod(primary).server {
            server.feeds.remove(&ip(name));
        }
    }

    /// The primary has not answered since then, and the replicas have not heard from it either.
    pub(crate) fn silence(&mut self, since: u64) {
        for pod in [R0, R1] {
            self.unlink(pod, MASTER, 9);
        }
        self.pod(MASTER).server = Server::Silent(since);
    }

    /// The Redis in this Pod was restarted, and boots as it always does.
    pub(crate) fn restart(&mut self, name: &str, keys: u64) {
        let settings = self.settings().live;
        let mut server = boot("restarted");
        server.settings = settings;
        server
            .settings
            .insert(MIN_REPLICAS.to_owned(), "0".to_owned());
        server.run_id = format!("{name}-run-2");
        server.replid = format!("{name}-random");
        server.keys = keys;
        self.pod(name).server = Server::Answers(Box::new(server));
    }

    pub(crate) fn settings(&self) -> Settings {
        Settings::of(&self.spec, &BTreeMap::new())
    }

    pub(crate) fn decide(&self) -> Decision {
        let (names, settings) = (Names::of("my-redis"), self.settings());
        let wish = Wish {
            names: &names,
            spec: &self.spec,
            settings: &settings,
        };
        decide(&wish, &self.view)
    }
}

impl Decision {
    /// The Pod that is the primary by this decision.
    pub(crate) fn primary(&self) -> &str {
        &self.record.primary.as_ref().unwrap().pod
    }

    /// The replicas that may be promoted by this decision.
    pub(crate) fn in_sync(&self) -> Vec<&str> {
        self.record
            .in_sync
            .iter()
            .map(|member| member.pod.as_str())
            .collect()
    }

    pub(crate) fn orders(&self, command: &Command) -> bool {
        self.commands.contains(command)
    }
}

pub(crate) fn ip(pod: &str) -> String {
    format!("ip-of-{pod}")
}

pub(crate) fn uid(pod: &str) -> String {
    format!("{pod}-uid")
}

pub(crate) fn run_id(pod: &str) -> String {
    format!("{pod}-run-1")
}

pub(crate) fn member(pod: &str) -> Member {
    Member {
        pod: pod.to_owned(),
        run_id: run_id(pod),
    }
}

pub(crate) fn target(pod: &str) -> Target {
    Target {
        pod: pod.to_owned(),
        run_id: run_id(pod),
    }
}

fn fresh(pod: &str) -> PodView {
    PodView {
        name: pod.to_owned(),
        uid: uid(pod),
        ip: Some(ip(pod)),
        ready: true,
        running_since: Some(3_000),
        server: Server::Answers(Box::new(boot(pod))),
        ..PodView::default()
    }
}

/// Every Redis boots as a replica of nobody.
fn boot(pod: &str) -> ServerView {
    ServerView {
        run_id: run_id(pod),
        stance: Stance::Follows {
            host: "127.0.0.1".to_owned(),
            linked: false,
            last_heard: None,
            copying: false,
        },
        replid: format!("{pod}-random"),
        priority: 100,
        aof: Aof::On,
        ..ServerView::default()
    }
}
