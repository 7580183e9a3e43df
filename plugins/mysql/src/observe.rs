//! From facts to a view: what is, in the words that decisions are made in.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::apps::v1::{StatefulSet, StatefulSetStatus};
use k8s_openapi::api::core::v1::{ContainerStatus, PersistentVolumeClaim, Pod, PodStatus};
use windlass_sdk::{Partial, pod};

use crate::backup::{JobView, Told};
use crate::gtid::GtidSet;
use crate::names::{EPOCH, Names, Role};
use crate::status::{Primary, Record, Voter};

/// A Pod as far as decisions look at it.
pub type SeenPod = Partial<Pod, PodStatus>;
/// The StatefulSet as far as decisions look at it.
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
    /// The object's annotations.
    pub annotations: BTreeMap<String, String>,
    /// The StatefulSet has a template that its controller has not seen yet: which Pods are outdated is not known.
    pub unseen_template: bool,
    /// Actions of earlier rounds that were done, by id.
    pub done: BTreeSet<String>,
    /// Actions of earlier rounds that failed, and why.
    pub failed: BTreeMap<String, String>,
    /// The Job of the backup that is being made.
    pub job: JobView,
    /// Long actions that run, by key.
    pub running: BTreeSet<String>,
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
    /// Its container runs since then, in milliseconds; `None` when it does not run.
    pub running_since: Option<u64>,
    /// Its container passes the readiness probe.
    pub ready: bool,
    /// It was made from an older template than its set's.
    pub outdated: bool,
    /// What keeps it from running, as its status tells.
    pub trouble: Option<String>,
    /// What its MySQL says.
    pub server: Server,
}

/// What a MySQL says.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Server {
    /// It was not asked: its Pod has no address.
    #[default]
    Unasked,
    /// It did not answer since then, in milliseconds.
    Silent(u64),
    /// It lets nobody but the operator in: it was taken offline.
    Offline,
    /// It runs, and does not let the operator in: why.
    Refuses(String),
    /// It answered.
    Answers(Box<ServerView>),
}

/// A MySQL that answered.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ServerView {
    /// Names its data directory.
    pub uuid: String,
    /// Its version, such as `8.0.32` or `9.7.4-2`.
    pub version: String,
    /// When it was started, in milliseconds.
    pub started: u64,
    /// It refuses writes of ordinary accounts.
    pub read_only: bool,
    /// It refuses writes of every account.
    pub super_read_only: bool,
    /// Transactions that it has committed.
    pub executed: GtidSet,
    /// Transactions that its binary logs no longer hold.
    pub purged: GtidSet,
    /// What it follows.
    pub channel: Option<Channel>,
    /// How many acknowledgements its commits wait for; 0 when they do not wait.
    pub wait_count: u32,
    /// How many replicas that acknowledge are connected to it.
    pub acknowledging: u32,
    /// Whether it acknowledges what it receives, as soon as it connects anew.
    pub acknowledges: bool,
    /// What became of the last time that it was made a copy of another.
    pub clone: CloneState,
    /// For how many seconds the oldest commit has been waiting for the storage.
    pub stuck_commit: u64,
}

/// What a replica follows.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Channel {
    /// The host that it follows.
    pub host: String,
    /// Whether it receives.
    pub receiver: Receiver,
    /// Whether it applies what it received.
    pub applying: bool,
    /// Transactions that it received over this channel.
    pub retrieved: GtidSet,
    /// Why it does not receive.
    pub receive_error: Option<Trouble>,
    /// Why it does not apply.
    pub apply_error: Option<Trouble>,
    /// Seconds that it is behind, as it sees it itself.
    pub lag: Option<u64>,
    /// Milliseconds since it last heard from the source: a heartbeat, or a transaction.
    pub heard: Option<u64>,
}

/// Whether a replica receives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Receiver {
    /// It was stopped, or gave up.
    #[default]
    Stopped,
    /// It tries to connect.
    Connecting,
    /// It is connected.
    Connected,
}

/// An error of MySQL.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trouble {
    /// Its number.
    pub code: u32,
    /// Its words.
    pub text: String,
}

/// How a copy stands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum CloneState {
    /// None was made since the server started first.
    #[default]
    None,
    /// It is being made.
    InProgress,
    /// It is whole.
    Completed,
    /// It is not, and why.
    Failed(String),
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
}

impl View {
    /// The MySQL in this Pod, if it answered.
    #[must_use]
    pub fn server(&self, pod: &str) -> Option<&ServerView> {
        self.pods.get(pod)?.answering()
    }

    /// The MySQL of the recorded primary, if it answered with the data that it had when it was chosen.
    #[must_use]
    pub fn of_primary(&self, primary: &Primary) -> Option<&ServerView> {
        let server = self.server(&primary.pod)?;
        (server.uuid == primary.uuid).then_some(server)
    }

    /// The MySQL of a voter, if it answered with the data that it had when it became one.
    #[must_use]
    pub fn of_voter(&self, voter: &Voter) -> Option<&ServerView> {
        let server = self.server(&voter.pod)?;
        (server.uuid == voter.uuid).then_some(server)
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
    /// Its MySQL, if it answered.
    #[must_use]
    pub fn answering(&self) -> Option<&ServerView> {
        match &self.server {
            Server::Answers(server) => Some(server),
            Server::Unasked | Server::Silent(_) | Server::Offline | Server::Refuses(_) => None,
        }
    }

    /// Its MySQL, if it answered and the Pod is to stay.
    #[must_use]
    pub fn staying(&self) -> Option<&ServerView> {
        self.answering().filter(|_| !self.terminating)
    }
}

impl ServerView {
    /// Everything that it committed or received.
    #[must_use]
    pub fn received(&self) -> GtidSet {
        match &self.channel {
            Some(channel) => self.executed.and(&channel.retrieved),
            None => self.executed.clone(),
        }
    }

    /// Whether everything that it received is committed.
    #[must_use]
    pub fn is_drained(&self) -> bool {
        let channel = self.channel.as_ref();
        channel.is_none_or(|channel| self.executed.contains(&channel.retrieved))
    }

    /// Whether nothing reaches it from a primary.
    #[must_use]
    pub fn is_cut_off(&self) -> bool {
        let channel = self.channel.as_ref();
        channel.is_none_or(|channel| channel.receiver == Receiver::Stopped)
    }

    /// Whether it follows this host, connected and applying, without an error.
    #[must_use]
    pub fn is_linked_to(&self, host: &str) -> bool {
        self.channel.as_ref().is_some_and(|channel| {
            channel.host == host
                && channel.receiver == Receiver::Connected
                && channel.applying
                && channel.apply_error.is_none()
        })
    }

    /// Whether it takes writes of anybody.
    #[must_use]
    pub fn is_writable(&self) -> bool {
        !self.read_only
    }
}

/// The Pods, before their servers are looked at.
#[must_use]
pub fn pods(pods: &[SeenPod], set: Option<&SeenSet>) -> BTreeMap<String, PodView> {
    let views = pods.iter().map(|pod| pod_view(pod, set));
    views.map(|view| (view.name.clone(), view)).collect()
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

fn pod_view(pod: &SeenPod, set: Option<&SeenSet>) -> PodView {
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
        running_since: container.and_then(running_since),
        ready: container.is_some_and(|container| container.ready),
        outdated: set.is_some_and(|set| is_outdated(pod, set)),
        trouble: status.and_then(pod::trouble),
        server: Server::Unasked,
    }
}

fn running_since(container: &ContainerStatus) -> Option<u64> {
    let running = container.state.as_ref()?.running.as_ref()?;
    Some(milliseconds(running.started_at.as_ref()))
}

/// Whether the set's controller has seen its newest template.
#[must_use]
pub fn is_seen(set: &SeenSet) -> bool {
    let status = set.status.as_ref();
    status.is_some_and(|status| status.observed_generation == set.metadata.generation)
}

/// Whether the set has a newer template than the Pod's, as far as its controller has seen it.
fn is_outdated(pod: &SeenPod, set: &SeenSet) -> bool {
    let status = set.status.as_ref().filter(|_| is_seen(set));
    let revision = status.and_then(|status| status.update_revision.as_ref());
    let labels = pod.metadata.labels.as_ref();
    let own = labels.and_then(|labels| labels.get("controller-revision-hash"));
    matches!((own, revision), (Some(own), Some(revision)) if own != revision)
}

/// What the Pods of a backup say of it.
#[must_use]
pub fn job(pods: &[SeenPod]) -> JobView {
    let Some(status) = pods.last().and_then(|pod| pod.status.as_ref()) else {
        return JobView::Absent;
    };
    let containers = [&status.init_container_statuses, &status.container_statuses];
    let messages = containers
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|container| {
            let ended = container.state.as_ref()?.terminated.as_ref()?;
            Some((ended.exit_code, ended.message.clone().unwrap_or_default()))
        });
    let messages: Vec<(i32, String)> = messages.collect();
    let told = |text: &str| serde_json::from_str::<Told>(text).unwrap_or_default();
    match status.phase.as_deref() {
        Some("Succeeded") => JobView::Succeeded(
            messages
                .last()
                .map(|(_, text)| told(text))
                .unwrap_or_default(),
        ),
        Some("Failed") => {
            let failed = messages.iter().find(|(code, _)| *code != 0);
            let text =
                failed.map(|(_, text)| told(text).error.unwrap_or_else(|| text.trim().to_owned()));
            let text = text.or_else(|| status.message.clone());
            JobView::Failed(text.unwrap_or_else(|| "its Pod failed".to_owned()))
        }
        Some("Pending") => waiting(status).map_or(JobView::Running, JobView::Waiting),
        _ => JobView::Running,
    }
}

/// Why no container of a Pod has started yet; `None` once one has.
fn waiting(status: &PodStatus) -> Option<String> {
    let containers = status.init_container_statuses.iter().flatten();
    let states = containers.filter_map(|container| container.state.as_ref());
    let mut why = None;
    for state in states {
        let waiting = state.waiting.as_ref()?;
        why = why.or(waiting.message.clone()).or(waiting.reason.clone());
    }
    let unscheduled = status.conditions.iter().flatten();
    let unscheduled = unscheduled
        .filter(|condition| condition.type_ == "PodScheduled" && condition.status == "False")
        .find_map(|condition| condition.message.clone());
    let nothing = || "see the Events on it".to_owned();
    Some(unscheduled.or(why).unwrap_or_else(nothing))
}
