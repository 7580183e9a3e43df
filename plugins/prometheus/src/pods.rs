//! The Pods, and what Prometheus runs in each.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{Pod, PodStatus};
use serde::Deserialize;
use windlass_sdk::wire::{HttpTarget, PodPort};
use windlass_sdk::{Context, Error, Partial, Query, pod};

use crate::names::{Names, REVISION};
use crate::workload::STATUS_PORT;

/// The Pods of a Prometheus.
#[derive(Clone, Debug, Default)]
pub struct Pods {
    /// By name.
    pub list: Vec<Seen>,
}

/// A Pod as it was seen.
#[derive(Clone, Debug)]
pub struct Seen {
    /// Its name.
    pub name: String,
    /// Its metadata and status.
    pub object: Partial<Pod, PodStatus>,
    /// What keeps it from running, as its status tells.
    pub trouble: Option<String>,
    /// What its sidecar said.
    pub told: Result<Told, String>,
}

/// What a sidecar says.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Told {
    /// What Prometheus runs, by mounted folder.
    pub revisions: BTreeMap<String, String>,
    /// Why it does not run what is mounted.
    pub error: Option<String>,
}

/// Asks for the Pods, and each one's sidecar.
///
/// # Errors
/// While an answer is missing.
pub fn ask(cx: &Context<'_>, names: &Names) -> Result<Pods, Error> {
    let pods: Vec<Partial<Pod, PodStatus>> =
        cx.objects(Query::selector(&names.selector())).get()?;
    let answers: Vec<_> = pods
        .into_iter()
        .map(|pod| (status(cx, &pod), pod))
        .collect();
    let mut list = Vec::new();
    for (told, object) in answers {
        list.push(Seen {
            name: object.metadata.name.clone().unwrap_or_default(),
            trouble: object.status.as_ref().and_then(pod::trouble),
            told: told?,
            object,
        });
    }
    Ok(Pods { list })
}

fn status(cx: &Context<'_>, pod: &Partial<Pod, PodStatus>) -> Result<Result<Told, String>, Error> {
    let has_address = pod
        .status
        .as_ref()
        .is_some_and(|status| status.pod_ip.is_some());
    if !has_address {
        return Ok(Err("it has no address yet".to_owned()));
    }
    let target = HttpTarget::Pod(PodPort {
        pod: pod.metadata.name.clone().unwrap_or_default(),
        uid: pod.metadata.uid.clone().unwrap_or_default(),
        port: STATUS_PORT,
    });
    Ok(match cx.http(target, "/status").get()? {
        Ok(reply) if reply.status == 200 => serde_json::from_str(&reply.body)
            .map_err(|why| format!("its sidecar's report cannot be read: {why}")),
        Ok(reply) => Err(format!("its sidecar answered {}", reply.status)),
        Err(silence) => Err(format!("its sidecar does not answer: {}", silence.why)),
    })
}

impl Pods {
    /// Whether as many Pods as wanted run, and all run these revisions.
    #[must_use]
    pub fn all_run(&self, revisions: &BTreeMap<String, String>, wanted: i32) -> bool {
        let wanted = usize::try_from(wanted).unwrap_or_default();
        self.list.len() == wanted
            && self
                .list
                .iter()
                .all(|pod| pod.is_ready() && pod.runs(revisions))
    }
}

impl Pods {
    /// Whether there is a Pod to ask again: one that can be reached and does not run these revisions.
    #[must_use]
    pub fn some_may_follow(&self, revisions: &BTreeMap<String, String>) -> bool {
        let mut pods = self.list.iter();
        pods.any(|pod| pod.has_address() && !pod.runs(revisions))
    }
}

impl Seen {
    fn has_address(&self) -> bool {
        let status = self.object.status.as_ref();
        status.is_some_and(|status| status.pod_ip.is_some())
    }

    /// Whether its Prometheus runs these revisions. Folders that are not asked about do not count.
    #[must_use]
    pub fn runs(&self, revisions: &BTreeMap<String, String>) -> bool {
        let Ok(told) = &self.told else {
            return false;
        };
        revisions
            .iter()
            .all(|(folder, revision)| told.revisions.get(folder) == Some(revision))
    }

    /// Whether it serves.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        let conditions = self
            .object
            .status
            .as_ref()
            .and_then(|status| status.conditions.as_ref());
        conditions.is_some_and(|list| {
            list.iter()
                .any(|condition| condition.type_ == "Ready" && condition.status == "True")
        })
    }

    /// Whether its kubelet was made to look for this revision.
    #[must_use]
    pub fn is_marked(&self, revision: &str) -> bool {
        let annotations = self.object.metadata.annotations.as_ref();
        annotations
            .and_then(|all| all.get(REVISION))
            .is_some_and(|marked| marked == revision)
    }

    /// Whether it is of this revision of its StatefulSet.
    #[must_use]
    pub fn is_of(&self, revision: Option<&String>) -> bool {
        let labels = self.object.metadata.labels.as_ref();
        let own = labels.and_then(|all| all.get("controller-revision-hash"));
        own.is_some() && own == revision
    }

    /// Why it does not run what it should.
    #[must_use]
    pub fn why_not(&self, revisions: &BTreeMap<String, String>) -> Option<String> {
        let why = match &self.told {
            Err(why) => why.clone(),
            Ok(_) if self.runs(revisions) => return None,
            Ok(Told {
                error: Some(error), ..
            }) => format!("its Prometheus did not take the configuration: {error}"),
            Ok(_) => "it does not run the newest configuration yet".to_owned(),
        };
        Some(format!("{}: {why}", self.name))
    }
}
