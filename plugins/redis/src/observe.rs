//! From facts to a view: what is, in the words that decisions are made in.

use std::collections::BTreeMap;

use k8s_openapi::api::apps::v1::{StatefulSet, StatefulSetStatus};
use k8s_openapi::api::core::v1::{ContainerStatus, PersistentVolumeClaim, Pod, PodStatus};
use windlass_sdk::redis::{Info, RedisReplies, RedisReply};
use windlass_sdk::wire::Unreachable;
use windlass_sdk::{Partial, pod};

use crate::names::{AOF, EPOCH, Names, Role};
use crate::status::Record;

/// A Pod as far as decisions look at it.
pub type SeenPod = Partial<Pod, PodStatus>;
/// A StatefulSet as far as decisions look at it.
pub type SeenSet = Partial<StatefulSet, StatefulSetStatus>;

/// Everything that a decision looks at.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct View {
    /// The round's time in milliseconds.
    pub now: u64,
    /// When the object was made, in milliseconds.
    pub created: u64,
    /// The record as it was received.
    pub record: Record,
    /// The Pods that exist, by name.
    pub pods: BTreeMap<String, PodView>,
    /// The volume claims that exist, by the Pod that they are for.
    pub volumes: BTreeMap<String, VolumeView>,
    /// The Pod that the object's annotation names as primary.
    pub force: Option<String>,
    /// A StatefulSet has a template that its controller has not seen yet: which Pods are outdated is not known.
    pub unseen_template: bool,
}

/// One Pod.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PodView {
    /// Its name.
    pub name: String,
    /// Its uid.
    pub uid: String,
    /// Its address, once it has one.
    pub ip: Option<String>,
    /// What its label says.
    pub role: Option<Role>,
    /// It is being deleted.
    pub terminating: bool,
    /// Its container passes the readiness probe.
    pub ready: bool,
    /// Its container runs since then, in milliseconds.
    pub running_since: Option<u64>,
    /// It was made from an older template than its set's.
    pub outdated: bool,
    /// What keeps it from running, as its status tells.
    pub trouble: Option<String>,
    /// What its Redis says.
    pub server: Server,
}

/// What a Redis says.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Server {
    /// It was not asked: its Pod has no address.
    #[default]
    Unasked,
    /// It did not answer since then, in milliseconds.
    Silent(u64),
    /// It runs, and does not let the operator in: why.
    Refuses(String),
    /// It answered.
    Answers(Box<ServerView>),
}

/// A Redis that answered.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ServerView {
    /// Changes with every start.
    pub run_id: String,
    /// What it takes itself for.
    pub stance: Stance,
    /// The history of its data.
    pub replid: String,
    /// The history before it was promoted.
    pub replid2: String,
    /// How much of the history it has.
    pub offset: i64,
    /// It reads its data from disk.
    pub loading: bool,
    /// How many keys it holds.
    pub keys: u64,
    /// Its priority in elections; 0 never.
    pub priority: u32,
    /// Replicas that it feeds, by address.
    pub feeds: BTreeMap<String, Feed>,
    /// A hand-over is under way on it.
    pub handing_over: bool,
    /// Why it refuses writes though it answers: its disk.
    pub disk_trouble: Option<String>,
    /// Its append-only file.
    pub aof: Aof,
    /// Its settings.
    pub settings: BTreeMap<String, String>,
    /// Bytes of memory in use.
    pub memory: u64,
}

/// What a Redis takes itself for.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Stance {
    /// It takes writes.
    #[default]
    Primary,
    /// It follows another.
    Follows {
        /// The address that it follows.
        host: String,
        /// Its link is up.
        linked: bool,
        /// Seconds since it heard from the primary; `None` when never.
        last_heard: Option<u64>,
        /// It receives a whole copy.
        copying: bool,
    },
}

/// A replica as its primary sees it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Feed {
    /// It receives the stream of writes.
    pub online: bool,
    /// Seconds since it acknowledged.
    pub lag: u64,
    /// How much of the history it acknowledged.
    pub offset: i64,
}

/// An append-only file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Aof {
    /// Writes are not logged.
    #[default]
    Off,
    /// Writes are logged from now on, and the file is being written from what is in memory.
    Starting,
    /// Complete.
    On,
}

/// A volume claim.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct VolumeView {
    /// The claim as it is, to be patched.
    pub claim: PersistentVolumeClaim,
    /// When it was made, in milliseconds.
    pub created: u64,
    /// The epoch in which its Pod became the primary, if it ever did.
    pub epoch: Option<i64>,
    /// Whether its data is in the append-only file.
    pub aof: Option<bool>,
}

impl View {
    /// The Redis in this Pod, if it answered.
    #[must_use]
    pub fn server(&self, pod: &str) -> Option<&ServerView> {
        self.pods.get(pod)?.answering()
    }

    /// What keeps this Pod from running, in brackets; empty where nothing is known to.
    #[must_use]
    pub fn trouble(&self, pod: &str) -> String {
        let trouble = self.pods.get(pod).and_then(|pod| pod.trouble.as_ref());
        trouble.map_or_else(String::new, |trouble| format!(" (its Pod {trouble})"))
    }

    /// Pods other than this one.
    pub fn others<'v, 'n>(
        &'v self,
        pod: &'n str,
    ) -> impl Iterator<Item = &'v PodView> + use<'v, 'n> {
        self.pods.values().filter(move |other| other.name != pod)
    }
}

impl PodView {
    /// Its Redis, if it answered.
    #[must_use]
    pub fn answering(&self) -> Option<&ServerView> {
        match &self.server {
            Server::Answers(server) => Some(server),
            Server::Unasked | Server::Silent(_) | Server::Refuses(_) => None,
        }
    }

    /// Its Redis, if it answered and the Pod is to stay.
    #[must_use]
    pub fn staying(&self) -> Option<&ServerView> {
        self.answering().filter(|_| !self.terminating)
    }
}

impl ServerView {
    /// Whether it follows this address, linked or not.
    #[must_use]
    pub fn follows(&self, ip: &str) -> bool {
        matches!(&self.stance, Stance::Follows { host, .. } if host == ip)
    }

    /// Whether it follows this address and the link is up.
    #[must_use]
    pub fn linked_to(&self, ip: &str) -> bool {
        matches!(&self.stance, Stance::Follows { host, linked: true, .. } if host == ip)
    }

    /// Whether it follows this address and heard from it within so many seconds.
    #[must_use]
    pub fn hears(&self, ip: &str, within: u64) -> bool {
        let heard = match &self.stance {
            Stance::Follows { last_heard, .. } => *last_heard,
            Stance::Primary => None,
        };
        self.linked_to(ip) && heard.is_some_and(|seconds| seconds <= within)
    }

    /// Whether its data is whole: it neither reads it from disk nor receives it.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        let copying = matches!(&self.stance, Stance::Follows { copying: true, .. });
        !self.loading && !copying
    }

    /// Whether it takes itself for a primary.
    #[must_use]
    pub fn is_primary(&self) -> bool {
        self.stance == Stance::Primary
    }
}

/// What the facts say about Kubernetes objects.
pub struct Objects<'a> {
    /// The Pods.
    pub pods: &'a [SeenPod],
    /// The two StatefulSets, where they exist.
    pub sets: &'a [SeenSet],
}

/// The Pods with what their Redis servers answered at this time.
#[must_use]
pub fn pods(objects: &Objects<'_>, replies: &RedisReplies, now: u64) -> BTreeMap<String, PodView> {
    let views = objects.pods.iter().map(|pod| {
        let mut view = pod_view(pod, objects.sets);
        view.server = server(replies.get(&view.name), now);
        (view.name.clone(), view)
    });
    views.collect()
}

/// The volume claims by the Pod that they are for.
#[must_use]
pub fn volumes(claims: &[PersistentVolumeClaim]) -> BTreeMap<String, VolumeView> {
    let prefix = Names::claim("");
    let views = claims.iter().filter_map(|claim| {
        let pod = claim.metadata.name.as_deref()?.strip_prefix(&prefix)?;
        let note = |key: &str| claim.metadata.annotations.as_ref()?.get(key);
        let view = VolumeView {
            claim: claim.clone(),
            created: milliseconds(claim.metadata.creation_timestamp.as_ref()),
            epoch: note(EPOCH).and_then(|epoch| epoch.parse().ok()),
            aof: note(AOF).map(|aof| aof == "true"),
        };
        Some((pod.to_owned(), view))
    });
    views.collect()
}

/// A time of Kubernetes in milliseconds; 0 when absent.
#[must_use]
pub fn milliseconds(time: Option<&k8s_openapi::apimachinery::pkg::apis::meta::v1::Time>) -> u64 {
    time.map_or(0, |time| {
        u64::try_from(time.0.as_millisecond()).unwrap_or(0)
    })
}

fn pod_view(pod: &SeenPod, sets: &[SeenSet]) -> PodView {
    let status = pod.status.as_ref();
    let container = status
        .and_then(|status| status.container_statuses.as_ref())
        .and_then(|containers| containers.first());
    PodView {
        name: pod.metadata.name.clone().unwrap_or_default(),
        uid: pod.metadata.uid.clone().unwrap_or_default(),
        ip: status
            .and_then(|status| status.pod_ip.clone())
            .filter(|ip| !ip.is_empty()),
        role: Role::of(&pod.metadata),
        terminating: pod.metadata.deletion_timestamp.is_some(),
        ready: container.is_some_and(|container| container.ready),
        running_since: container.and_then(running_since),
        outdated: outdated(pod, sets),
        trouble: status.and_then(pod::trouble),
        server: Server::Unasked,
    }
}

fn running_since(container: &ContainerStatus) -> Option<u64> {
    let running = container.state.as_ref()?.running.as_ref()?;
    Some(milliseconds(running.started_at.as_ref()))
}

/// Whether a set's controller has yet to see its newest template.
#[must_use]
pub fn has_unseen_template(sets: &[SeenSet]) -> bool {
    sets.iter().any(|set| !is_seen(set))
}

fn is_seen(set: &SeenSet) -> bool {
    let status = set.status.as_ref();
    status.is_some_and(|status| status.observed_generation == set.metadata.generation)
}

/// Whether the Pod's set has a newer template, as far as its controller has seen it.
fn outdated(pod: &SeenPod, sets: &[SeenSet]) -> bool {
    let owner = pod
        .metadata
        .owner_references
        .as_ref()
        .and_then(|owners| owners.first());
    let set = sets.iter().find(|set| {
        owner.is_some_and(|owner| set.metadata.uid.as_deref() == Some(owner.uid.as_str()))
    });
    let revision = set
        .filter(|set| is_seen(set))
        .and_then(|set| set.status.as_ref()?.update_revision.as_ref());
    let own = pod
        .metadata
        .labels
        .as_ref()
        .and_then(|labels| labels.get("controller-revision-hash"));
    matches!((own, revision), (Some(own), Some(revision)) if own != revision)
}

/// A Redis that answers with errors, such as to a wrong password, lives: its silence never lasts.
fn server(reply: Option<&Result<RedisReply, Unreachable>>, now: u64) -> Server {
    match reply {
        None => Server::Unasked,
        Some(Err(refusal)) if refusal.answered => Server::Refuses(refusal.why.clone()),
        Some(Err(silence)) => Server::Silent(silence.since),
        Some(Ok(reply)) if reply.info("server").get("run_id").is_none() => Server::Silent(now),
        Some(Ok(reply)) => Server::Answers(Box::new(server_view(reply))),
    }
}

fn server_view(reply: &RedisReply) -> ServerView {
    let replication = reply.info("replication");
    let persistence = reply.info("persistence");
    ServerView {
        run_id: text(&reply.info("server"), "run_id"),
        stance: stance(&replication),
        replid: text(&replication, "master_replid"),
        replid2: text(&replication, "master_replid2"),
        offset: replication.number("master_repl_offset").unwrap_or(0),
        loading: persistence.flag("loading") || persistence.flag("async_loading"),
        keys: keys(&reply.info("keyspace")),
        priority: replication.number("slave_priority").unwrap_or(100),
        feeds: feeds(&replication),
        handing_over: replication
            .get("master_failover_state")
            .is_some_and(|state| state != "no-failover"),
        disk_trouble: disk_trouble(&persistence, &reply.config()),
        aof: aof(&persistence),
        settings: reply.config(),
        memory: reply.info("memory").number("used_memory").unwrap_or(0),
    }
}

fn stance(replication: &Info<'_>) -> Stance {
    if replication.get("role") != Some("slave") {
        return Stance::Primary;
    }
    Stance::Follows {
        host: text(replication, "master_host"),
        linked: replication.get("master_link_status") == Some("up"),
        last_heard: replication.number("master_last_io_seconds_ago"),
        copying: replication.flag("master_sync_in_progress"),
    }
}

/// `slave0:ip=10.244.0.7,port=6379,state=online,offset=78,lag=0`.
fn feeds(replication: &Info<'_>) -> BTreeMap<String, Feed> {
    let lines = replication.fields().filter(|(name, _)| {
        name.strip_prefix("slave")
            .is_some_and(|number| number.parse::<u32>().is_ok())
    });
    let feeds = lines.filter_map(|(_, line)| {
        let words: BTreeMap<&str, &str> = line
            .split(',')
            .filter_map(|word| word.split_once('='))
            .collect();
        let number = |key: &str| words.get(key).and_then(|value| value.parse::<i64>().ok());
        let feed = Feed {
            online: words.get("state") == Some(&"online"),
            lag: number("lag")
                .and_then(|lag| u64::try_from(lag).ok())
                .unwrap_or(u64::MAX),
            offset: number("offset").unwrap_or(0),
        };
        Some(((*words.get("ip")?).to_owned(), feed))
    });
    feeds.collect()
}

/// `db0:keys=3,expires=0,avg_ttl=0` for each database that is not empty.
fn keys(keyspace: &Info<'_>) -> u64 {
    let databases = keyspace.fields().filter(|(name, _)| name.starts_with("db"));
    let counts = databases.filter_map(|(_, line)| {
        line.split(',')
            .find_map(|word| word.strip_prefix("keys="))?
            .parse::<u64>()
            .ok()
    });
    counts.sum()
}

/// PING and the replication link look well while Redis refuses writes because of its disk.
fn disk_trouble(persistence: &Info<'_>, settings: &BTreeMap<String, String>) -> Option<String> {
    let saves = settings.get("save").is_none_or(|points| !points.is_empty());
    if persistence.get("aof_last_write_status") == Some("err") {
        Some("it cannot write its append-only file".to_owned())
    } else if saves && persistence.get("rdb_last_bgsave_status") == Some("err") {
        Some("it cannot write its snapshot".to_owned())
    } else {
        None
    }
}

fn aof(persistence: &Info<'_>) -> Aof {
    let rewriting =
        persistence.flag("aof_rewrite_in_progress") || persistence.flag("aof_rewrite_scheduled");
    match persistence.flag("aof_enabled") {
        false => Aof::Off,
        true if rewriting => Aof::Starting,
        true => Aof::On,
    }
}

fn text(info: &Info<'_>, field: &str) -> String {
    info.get(field).unwrap_or_default().to_owned()
}
