//! What people read: status, conditions, Events.

use std::collections::BTreeMap;

use k8s_openapi::api::apps::v1::StatefulSet;
use windlass_sdk::wire::ObjectRef;
use windlass_sdk::{Conditions, Context, Error, Plan};

use crate::api::Prometheus;
use crate::api::status::{Candidate, PrometheusStatus, Selection, ShardStatus};
use crate::digest::digest;
use crate::names::Names;
use crate::pick::{NOT_CHOSEN, Verdicts};
use crate::pods::Pods;

/// So many objects are told one by one.
const MOST_TOLD: usize = 500;
/// So many Events a round.
const MOST_EVENTS: usize = 20;
/// The longest text of an Event or condition.
const LONGEST: usize = 900;
/// The condition that names objects which are left out.
const LEFT_OUT: &str = "ObjectsLeftOut";
/// The condition that is True when every Pod runs the newest configuration.
pub const RECONCILED: &str = "Reconciled";
/// Why they are.
const INVALID: &str = "InvalidConfiguration";

/// What a round found.
pub struct Findings<'a> {
    /// Whether this operator writes the configuration.
    pub managed: bool,
    /// Fields that are set and do not work yet.
    pub ignored: Vec<String>,
    /// What came of the objects in reach.
    pub verdicts: &'a Verdicts,
    /// The Pods.
    pub pods: &'a Pods,
    /// What every Pod should run, by mounted folder.
    pub revisions: &'a BTreeMap<String, String>,
    /// How many Pods there should be.
    pub wanted: i32,
    /// The live StatefulSet.
    pub set: Option<StatefulSet>,
}

/// Adds status and Events to the plan.
///
/// # Errors
/// When the status cannot be written, which it always can.
pub fn report(
    prometheus: &Prometheus,
    cx: &Context<'_>,
    names: &Names,
    of: &Findings<'_>,
    plan: &mut Plan,
) -> Result<(), Error> {
    let received = prometheus.status::<PrometheusStatus>().unwrap_or_default();
    let mut conditions =
        Conditions::received(&received.conditions, cx.metadata().generation, cx.time());
    let shard = shard(of);
    available(&mut conditions, of, &shard);
    reconciled(&mut conditions, of);
    unsupported(&mut conditions, of);
    let selection = selection(of.verdicts);
    left_out(&mut conditions, &selection);
    events(cx, &Told::of(&received), &selection, plan);
    plan.status(&PrometheusStatus {
        paused: false,
        replicas: shard.replicas,
        updated_replicas: shard.updated_replicas,
        available_replicas: shard.available_replicas,
        unavailable_replicas: shard.unavailable_replicas,
        shards: Some(1),
        selector: names.selector(),
        shard_statuses: vec![shard],
        selection: Some(selection),
        observed_generation: None,
        conditions: conditions.into_list(),
        windlass: None,
    })
}

fn shard(of: &Findings<'_>) -> ShardStatus {
    let status = of.set.as_ref().and_then(|set| set.status.as_ref());
    let revision = status.and_then(|status| status.update_revision.as_ref());
    let count = |matches: &dyn Fn(&crate::pods::Seen) -> bool| {
        let pods = of.pods.list.iter().filter(|pod| matches(pod)).count();
        i32::try_from(pods).unwrap_or(i32::MAX)
    };
    ShardStatus {
        shard_id: "0".to_owned(),
        replicas: count(&|_| true),
        updated_replicas: count(&|pod| pod.is_of(revision)),
        available_replicas: count(&crate::pods::Seen::is_ready),
        unavailable_replicas: count(&|pod| !pod.is_ready()),
    }
}

fn available(conditions: &mut Conditions, of: &Findings<'_>, shard: &ShardStatus) {
    let (status, reason) = match shard.available_replicas {
        ready if ready >= of.wanted => ("True", "AllPodsReady"),
        0 if of.set.is_none() => ("False", "StatefulSetNotFound"),
        0 => ("False", "NoPodReady"),
        _ => ("Degraded", "SomePodsNotReady"),
    };
    let waiting = of
        .pods
        .list
        .iter()
        .filter(|pod| !pod.is_ready())
        .map(|pod| match &pod.trouble {
            Some(trouble) => format!("{} {trouble}", pod.name),
            None => format!("{} is not ready", pod.name),
        });
    conditions.set(
        "Available",
        status,
        reason,
        waiting.collect::<Vec<_>>().join("; "),
    );
}

fn reconciled(conditions: &mut Conditions, of: &Findings<'_>) {
    if of.pods.all_run(of.revisions, of.wanted) {
        let (reason, message) = match of.managed {
            true => ("Live", "every Pod runs the newest configuration"),
            false => (
                "ConfigurationUnmanaged",
                "no selector of monitors is set, so the configuration is the user's",
            ),
        };
        conditions.set(RECONCILED, "True", reason, message);
        return;
    }
    let wanted = usize::try_from(of.wanted).unwrap_or_default();
    let count = (of.pods.list.len() != wanted)
        .then(|| format!("{} of {wanted} Pods are there", of.pods.list.len()));
    let pods = of
        .pods
        .list
        .iter()
        .filter_map(|pod| pod.why_not(of.revisions));
    let why: Vec<String> = count.into_iter().chain(pods).collect();
    let refused = of
        .pods
        .list
        .iter()
        .any(|pod| pod.told.as_ref().is_ok_and(|told| told.error.is_some()));
    let reason = if refused {
        "ConfigurationRefused"
    } else {
        "InProgress"
    };
    let why = if why.is_empty() {
        "not every Pod is ready".to_owned()
    } else {
        why.join("; ")
    };
    conditions.set(RECONCILED, "False", reason, shortened(&why));
}

fn unsupported(conditions: &mut Conditions, of: &Findings<'_>) {
    match of.ignored.is_empty() {
        true => conditions.clear("UnsupportedFields"),
        false => conditions.set(
            "UnsupportedFields",
            "True",
            "NotYetSupported",
            shortened(&of.ignored.join(", ")),
        ),
    }
}

/// The objects in reach, those left out first.
fn selection(verdicts: &Verdicts) -> Selection {
    let count = |picked: bool| {
        let objects = verdicts
            .candidates
            .iter()
            .filter(|candidate| candidate.picked == picked)
            .count();
        i32::try_from(objects).unwrap_or(i32::MAX)
    };
    let mut objects: Vec<&Candidate> = verdicts.candidates.iter().collect();
    objects.sort_by(|a, b| {
        (order(a), &a.kind, &a.namespace, &a.name).cmp(&(order(b), &b.kind, &b.namespace, &b.name))
    });
    let objects = objects.into_iter().take(MOST_TOLD).cloned().collect();
    Selection {
        picked: count(true),
        left_out: count(false),
        objects,
    }
}

/// What somebody must mend, then what is not chosen, then what is followed.
fn order(candidate: &Candidate) -> u8 {
    match candidate {
        Candidate { picked: true, .. } => 2,
        Candidate { reason, .. } if reason == NOT_CHOSEN => 1,
        _ => 0,
    }
}

/// Those that somebody must mend.
fn to_mend(selection: &Selection) -> impl Iterator<Item = &Candidate> {
    let objects = selection.objects.iter();
    objects.filter(|candidate| order(candidate) == 0)
}

/// For whoever looks at conditions, and where the CRD is upstream's, which keeps no selection.
fn left_out(conditions: &mut Conditions, selection: &Selection) {
    let text = left_out_text(selection);
    match text.is_empty() {
        true => conditions.clear(LEFT_OUT),
        false => conditions.set(LEFT_OUT, "True", INVALID, text),
    }
}

/// Each object with its reason. What is too long ends with a digest of all of it, so that it changes with any part.
fn left_out_text(selection: &Selection) -> String {
    let objects = to_mend(selection).map(|candidate| {
        let Candidate {
            kind,
            namespace,
            name,
            reason,
            ..
        } = candidate;
        format!("{kind} {namespace}/{name}: {reason}")
    });
    let text = objects.collect::<Vec<_>>().join("; ");
    match shortened(&text) {
        short if short == text => text,
        short => format!("{short} [{}]", digest(&text)),
    }
}

/// What was told before.
struct Told<'a> {
    selection: Option<&'a Selection>,
    left_out: &'a str,
}

impl<'a> Told<'a> {
    fn of(received: &'a PrometheusStatus) -> Self {
        let mut conditions = received.conditions.iter();
        let left_out = conditions.find(|condition| condition.type_ == LEFT_OUT);
        Self {
            selection: received.selection.as_ref(),
            left_out: left_out
                .map(|condition| &*condition.message)
                .unwrap_or_default(),
        }
    }

    /// Whether this object of a selection was told with this reason.
    fn has(&self, candidate: &Candidate, all_as_before: bool) -> bool {
        match self.selection {
            Some(selection) => selection.objects.contains(candidate),
            None => all_as_before,
        }
    }
}

/// An Event on each object that is newly left out, or for another reason than before.
fn events(cx: &Context<'_>, before: &Told<'_>, now: &Selection, plan: &mut Plan) {
    let as_before = before.left_out == left_out_text(now);
    let new = to_mend(now).filter(|candidate| !before.has(candidate, as_before));
    for candidate in new.take(MOST_EVENTS) {
        let about = ObjectRef {
            api_version: "monitoring.coreos.com/v1".to_owned(),
            kind: candidate.kind.clone(),
            namespace: Some(candidate.namespace.clone()),
            name: candidate.name.clone(),
        };
        let text = format!(
            "left out of Prometheus {}/{}: {}",
            cx.namespace(),
            cx.name(),
            candidate.reason
        );
        plan.warning(about, INVALID, shortened(&text));
    }
}

fn shortened(text: &str) -> String {
    match text.len() > LONGEST {
        true => format!("{}…", &text[..text.floor_char_boundary(LONGEST)]),
        false => text.to_owned(),
    }
}
