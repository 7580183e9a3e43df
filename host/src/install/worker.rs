//! One Plugin, from its source to being served, again and again.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use backon::{BackoffBuilder, ExponentialBackoff, ExponentialBuilder};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::api::{Api, DynamicObject, Patch, PatchParams};
use serde_json::json;
use tokio::sync::watch;

use super::admit::{self, NotSwitched, names};
use super::removal;
use super::status::{PluginStatus, Report, Step};
use super::teller::Teller;
use super::unserved::{self, Scope};
use super::{AcquireError, Acquired, Shared, Shown, plugins};
use crate::cluster::{ClusterError, asked};
use crate::controllers::{Controller, NotServed, Plugged};
use crate::object::{FIELD_MANAGER, Kind};
use crate::oci::Digest;
use crate::plugin::configuration::{PluginSpec, Source};
use crate::plugin::loader::LoadError;
use crate::plugin::{Operator, Plugin};

/// How often status is brought up to date with what changes by itself, such as the number of objects.
const TELL_EVERY: Duration = Duration::from_secs(10);

/// How often it is looked whether a tag still means what it meant, in times of the above.
const RESOLVE_EVERY: u32 = 30;

/// Brings one Plugin about.
pub(super) struct Worker {
    name: String,
    shared: Arc<Shared>,
    shown: watch::Receiver<Shown>,
    poke: watch::Receiver<u64>,
    /// The Plugin that was looked at last: another one of the same name begins anew.
    uid: Option<String>,
    served: Option<Served>,
    report: Report,
    /// Which objects were served when something was.
    scope: Option<Scope>,
    /// Looks in a row after which nothing was served.
    in_vain: u32,
    teller: Teller,
}

/// What is served now.
#[derive(Clone)]
struct Served {
    spec: PluginSpec,
    digest: Digest,
    report: Report,
}

/// What of a Plugin asks for another look when it changes.
type Asked = (Option<String>, Option<i64>, bool, bool);

fn asked_for(plugin: &DynamicObject) -> Asked {
    let meta = &plugin.metadata;
    let deleting = meta.deletion_timestamp.is_some();
    let let_go = removal::is_let_go(plugin);
    (meta.uid.clone(), meta.generation, deleting, let_go)
}

/// Why the worker looks again.
enum Woken {
    Changed,
    Poked,
    Retry,
}

impl Worker {
    pub(super) fn new(
        name: String,
        shared: Arc<Shared>,
        shown: watch::Receiver<Shown>,
        poke: watch::Receiver<u64>,
    ) -> Self {
        Self {
            name,
            shared,
            shown,
            poke,
            uid: None,
            served: None,
            report: Report::begun(),
            scope: None,
            in_vain: 0,
            teller: Teller::default(),
        }
    }

    /// Runs until the host ends: a Plugin that is gone may be applied again.
    pub(super) async fn run(mut self) {
        let mut waits = backoff();
        loop {
            let shown = self.shown.borrow_and_update().clone();
            let uid = shown
                .as_ref()
                .and_then(|plugin| plugin.metadata.uid.clone());
            if self.uid.is_some() && self.uid != uid {
                self.forget().await;
                waits = backoff();
            }
            self.uid = uid;
            let Some(plugin) = shown else {
                self.shared.tried(&self.name);
                match self.shown.changed().await {
                    Ok(()) => continue,
                    Err(_) => return,
                }
            };
            let mut shown = self.shown.clone();
            let looked = tokio::select! {
                report = self.look(&plugin) => Some(report),
                () = changed(&mut shown, asked_for(&plugin)) => None,
            };
            let Some(report) = looked else {
                continue;
            };
            self.report = report;
            self.in_vain = match self.controller() {
                Some(_) => 0,
                None => self.in_vain.saturating_add(1),
            };
            self.shared.tried(&self.name);
            self.tell().await;
            tokio::select! {
                () = self.tell_objects(&plugin) => {}
                () = changed(&mut shown, asked_for(&plugin)) => {}
            }
            match self.wait(&plugin, &mut waits).await {
                Woken::Changed => {
                    waits = backoff();
                    self.teller = Teller::default();
                }
                Woken::Poked => waits = backoff(),
                Woken::Retry => {}
            }
        }
    }

    /// Ends what came of a Plugin that is gone.
    async fn forget(&mut self) {
        if let Err(error) = self.leave(None).await {
            tracing::warn!(plugin = self.name, %error, "failed to let a plugin's objects go");
        }
        self.report = Report::begun();
        self.scope = None;
        self.in_vain = 0;
        self.teller = Teller::default();
    }

    /// Waits until there is a reason to look again, telling meanwhile what changes by itself.
    async fn wait(&mut self, plugin: &DynamicObject, waits: &mut ExponentialBackoff) -> Woken {
        let failed = !spec_of(plugin).is_ok_and(|spec| self.served_as(&spec).is_some());
        let retry = match failed {
            true => waits.next().unwrap_or(LONGEST_WAIT),
            false => Duration::MAX,
        };
        let retry = tokio::time::sleep(retry);
        tokio::pin!(retry);
        let mut ticks = tokio::time::interval(TELL_EVERY);
        ticks.reset();
        let mut count: u32 = 0;
        let mut shown = self.shown.clone();
        loop {
            tokio::select! {
                () = changed(&mut shown, asked_for(plugin)) => return Woken::Changed,
                // The sender lives as long as the worker.
                _ = self.poke.changed() => return Woken::Poked,
                () = &mut retry, if failed => return Woken::Retry,
                _ = ticks.tick() => {
                    count = count.wrapping_add(1);
                    if count.is_multiple_of(RESOLVE_EVERY) && !failed {
                        self.check_tag().await;
                    }
                    self.tell().await;
                    if plugin.metadata.deletion_timestamp.is_some() {
                        return Woken::Poked;
                    }
                }
            }
        }
    }

    /// The whole way, from the source to being served.
    async fn look(&mut self, plugin: &DynamicObject) -> Report {
        if plugin.metadata.deletion_timestamp.is_some() {
            return self.remove(plugin).await;
        }
        let mut report = Report::begun();
        let spec = match spec_of(plugin) {
            Ok(spec) => spec,
            Err(error) => {
                let why = format!("spec: {error}");
                report.fail(Step::Fetched, "InvalidSpec", &why);
                return self.not_served(report, "InvalidSpec", &why);
            }
        };
        if let Some(served) = self.served_as(&spec) {
            return served.report.clone();
        }
        let pinned = self.pinned(plugin, &spec);
        let acquired = match self.shared.acquirer.acquire(&spec, pinned.as_ref()).await {
            Ok(acquired) => acquired,
            Err(error) => return self.not_acquired(report, &error),
        };
        report.hold(Step::Fetched, "Fetched", acquired.digest.to_string());
        match acquired.signed {
            true => report.hold(
                Step::Verified,
                "Signed",
                "a key in verify.cosignKeys signed it",
            ),
            false => report.hold(Step::Verified, "NotRequired", "verify is not set"),
        }
        let loaded = self
            .shared
            .loader
            .prepare(&self.name, &spec, &acquired.component)
            .await;
        match loaded {
            Ok(loaded) => self.admit(plugin, spec, &acquired, loaded, report).await,
            Err(error) => self.not_loaded(report, &error),
        }
    }

    async fn admit(
        &mut self,
        plugin: &DynamicObject,
        spec: PluginSpec,
        acquired: &Acquired,
        loaded: Arc<Plugin>,
        mut report: Report,
    ) -> Report {
        let version = loaded.description().version.to_string();
        report.hold(Step::Compiled, "Compiled", format!("version {version}"));
        let missing = loaded.missing_grants();
        match missing.is_empty() {
            true => report.hold(Step::Granted, "Granted", "everything that it asks for"),
            false => report.fail(
                Step::Granted,
                "GrantsMissing",
                format!(
                    "it asks for what grants does not list, and does without: {}",
                    names(&missing)
                ),
            ),
        }
        if let Some(current) = self.shared.controllers.get(&self.name) {
            let new = loaded.description();
            if let Err(why) = admit::replacement(&current, new, &spec.grants) {
                // It does not do without what it misses: it is not served.
                if let NotSwitched::AsksForMore(_) = why {
                    report.fail(Step::Granted, why.reason(), why.to_string());
                }
                return self.not_served(report, why.reason(), &why.to_string());
            }
        }
        if let Err(error) = self.hold(plugin).await {
            return self.not_served(report, "NotHeld", &error.to_string());
        }
        if let Err(fault) = loaded.warm().await {
            return self.not_served(report, "NotStarted", &fault.to_string());
        }
        let kinds = loaded.description().kinds();
        let plugged = Plugged {
            plugin: loaded,
            spec: spec.clone(),
        };
        if let Err(error) = self.shared.claim(&self.name, plugged).await {
            let reason = match error {
                NotServed::KindTaken { .. } => "KindTaken",
                NotServed::Selector(_) => "InvalidSelector",
            };
            return self.not_served(report, reason, &error.to_string());
        }
        tracing::info!(plugin = self.name, %version, digest = %acquired.digest, "plugin served");
        match spec.suspended {
            true => report.fail(
                Step::Serving,
                "Suspended",
                "suspended is true: its objects are left alone",
            ),
            false => report.hold(Step::Serving, "Serving", format!("version {version}")),
        }
        self.scope = Some(Scope {
            kinds: kinds.iter().map(Kind::qualified).collect(),
            namespaces: spec.namespaces.clone(),
        });
        self.served = Some(Served {
            spec,
            digest: acquired.digest.clone(),
            report: report.clone(),
        });
        self.shared
            .note_in_use(&self.name, acquired.contents.clone());
        report
    }

    fn not_acquired(&self, mut report: Report, error: &AcquireError) -> Report {
        let why = error.to_string();
        match error.is_about_signature() {
            true => {
                report.hold(Step::Fetched, "Fetched", "the artifact was fetched");
                report.fail(Step::Verified, error.reason(), &why);
            }
            false => report.fail(Step::Fetched, error.reason(), &why),
        }
        self.not_served(report, error.reason(), &why)
    }

    fn not_loaded(&self, mut report: Report, error: &LoadError) -> Report {
        let why = error.to_string();
        match error {
            LoadError::Configuration(_) => report.hold(Step::Compiled, "Compiled", "compiled"),
            _ => report.fail(Step::Compiled, error.reason(), &why),
        }
        self.not_served(report, error.reason(), &why)
    }

    /// What is served goes on; otherwise nothing is.
    fn not_served(&self, mut report: Report, reason: &'static str, why: &str) -> Report {
        match self.controller() {
            Some(controller) => {
                let version = controller
                    .reconciler()
                    .plugin()
                    .description()
                    .version
                    .to_string();
                let going_on =
                    format!("version {version} goes on; what spec asks for is not served: {why}");
                report.hold(Step::Serving, "PreviousVersion", going_on);
                // So that a step tells why.
                report.fail_if_none(reason, why);
            }
            None => report.fail(Step::Serving, reason, why),
        }
        tracing::warn!(
            plugin = self.name,
            reason,
            why,
            "what a Plugin asks for is not served"
        );
        report
    }

    fn controller(&self) -> Option<Controller> {
        self.shared.controllers.get(&self.name)
    }

    /// What is served, where it is what `spec` asks for.
    fn served_as(&self, spec: &PluginSpec) -> Option<&Served> {
        // A younger Plugin may have had to give way.
        self.controller()?;
        self.served.as_ref().filter(|served| served.spec == *spec)
    }

    /// The digest that the source's tag was resolved to before, by this host or the one that acted.
    /// Layouts and files are not pinned: they come with the host's image.
    fn pinned(&self, plugin: &DynamicObject, spec: &PluginSpec) -> Option<Digest> {
        let Source::Oci(source) = spec.source.clone() else {
            return None;
        };
        let here = self
            .served
            .as_ref()
            .filter(|served| served.spec.source.to_string() == source);
        if let Some(served) = here {
            return Some(served.digest.clone());
        }
        let status = status_of(plugin);
        status.digest.filter(|_| status.source == Some(source))
    }

    /// Tells when a tag means something else than what is served.
    async fn check_tag(&mut self) {
        let Some(served) = &mut self.served else {
            return;
        };
        let Served {
            spec,
            digest,
            report,
        } = served;
        match self.shared.acquirer.resolve(spec).await {
            Ok(Some(now)) if now != *digest => report.hold(
                Step::Fetched,
                "TagMoved",
                format!("{digest} is served; the tag means {now} now: name the digest in source to switch"),
            ),
            Ok(_) => report.hold(Step::Fetched, "Fetched", digest.to_string()),
            Err(error) if error.reason() == "NotFound" => report.hold(
                Step::Fetched,
                "TagVanished",
                format!("{digest} is served from what was fetched before; {error}"),
            ),
            Err(error) => tracing::warn!(plugin = self.name, %error, "failed to look at a tag"),
        }
        self.report = report.clone();
    }

    /// Writes status, if it differs and this host acts.
    async fn tell(&mut self) {
        let Some(plugin) = self.shown.borrow().clone() else {
            return;
        };
        if self.shared.rooms.lease.remaining().is_none() || !self.teller.is_due() {
            return;
        }
        let before = status_of(&plugin);
        let after = self.status(&plugin, &before);
        if before == after {
            return;
        }
        let api: Api<DynamicObject> = Api::all_with(self.shared.rooms.cluster.client(), &plugins());
        let patch = json!({
            "apiVersion": "windlass.dev/v1alpha1",
            "kind": "Plugin",
            "metadata": {"name": self.name},
            "status": after,
        });
        let parameters = PatchParams::apply(FIELD_MANAGER).force();
        let patch = Patch::Apply(&patch);
        let written = asked(
            "write a Plugin's status",
            api.patch_status(&self.name, &parameters, &patch),
        );
        match written.await {
            Ok(_) => self.teller.succeeded(),
            // The watch tells that it is gone.
            Err(error) if error.is_not_found() => {}
            Err(error) => {
                if let Some(error) = self.teller.failed(&error) {
                    tracing::warn!(
                        plugin = self.name,
                        error,
                        "failed to tell how a Plugin stands"
                    );
                }
            }
        }
    }

    /// Says on the objects that nothing serves them. What passes by itself is not worth a write on each of them.
    async fn tell_objects(&self, plugin: &DynamicObject) {
        let acts = self.shared.rooms.lease.remaining().is_some();
        let leaves = plugin.metadata.deletion_timestamp.is_some();
        if self.in_vain < 2 || leaves || !acts {
            return;
        }
        let scope = self.scope(Some(plugin));
        if let Err(error) = unserved::tell(&self.shared, &self.name, &scope).await {
            tracing::warn!(plugin = self.name, %error, "failed to tell objects that nothing serves them");
        }
    }

    /// Which objects it serves or served last; of a Plugin that this host never served, what its status still says.
    fn scope(&self, plugin: Option<&DynamicObject>) -> Scope {
        let stored = || {
            let plugin = plugin?;
            Some(Scope {
                kinds: status_of(plugin).kinds,
                namespaces: spec_of(plugin).ok()?.namespaces,
            })
        };
        self.scope.clone().or_else(stored).unwrap_or_default()
    }

    fn status(&self, plugin: &DynamicObject, before: &PluginStatus) -> PluginStatus {
        let now = i64::try_from(self.shared.rooms.clock.now()).unwrap_or(i64::MAX);
        let now = Time(Timestamp::from_millisecond(now).unwrap_or_default());
        let generation = plugin.metadata.generation;
        let mut status = PluginStatus {
            observed_generation: generation,
            conditions: self.report.conditions(&before.conditions, generation, &now),
            ..PluginStatus::default()
        };
        match self.controller() {
            Some(controller) => status.describe(&controller),
            // They tell whose objects have to hear of it, also after the host starts again.
            None => {
                status.kinds = before.kinds.clone();
                status.kind_names = before.kind_names.clone();
            }
        }
        if let Some(served) = &self.served {
            status.short_digest = Some(served.digest.short().to_owned());
            status.digest = Some(served.digest.clone());
            status.source = Some(served.spec.source.to_string());
        }
        status
    }

    /// Puts the finalizer on, so that the Plugin is not gone while its objects are there.
    async fn hold(&self, plugin: &DynamicObject) -> Result<(), ClusterError> {
        match self.shared.rooms.lease.remaining() {
            Some(_) => removal::hold(&self.shared.rooms, plugin).await,
            None => Ok(()),
        }
    }

    async fn remove(&mut self, plugin: &DynamicObject) -> Report {
        let mut report = self.report.clone();
        let acts = self.shared.rooms.lease.remaining().is_some();
        let waits_for = removal::waits_for(self.controller().as_ref(), plugin);
        match waits_for {
            Some(why) => report.hold(Step::Serving, "RemovalWaits", why),
            None if acts => {
                if let Err(error) = self.let_go(plugin).await {
                    report.fail(Step::Serving, "RemovalFailed", error.to_string());
                }
            }
            None => {}
        }
        report
    }

    async fn let_go(&mut self, plugin: &DynamicObject) -> Result<(), ClusterError> {
        self.leave(Some(plugin)).await?;
        removal::release(&self.shared.rooms, plugin).await
    }

    /// Serves no longer, and leaves the objects to themselves: they say so, and none is held.
    async fn leave(&mut self, plugin: Option<&DynamicObject>) -> Result<(), ClusterError> {
        self.served = None;
        self.shared.controllers.withdraw(&self.name).await;
        tracing::info!(plugin = self.name, "plugin withdrawn");
        self.shared.note_in_use(&self.name, BTreeSet::new());
        let let_go = match self.shared.rooms.lease.remaining() {
            Some(_) => unserved::let_go(&self.shared, &self.name, &self.scope(plugin)).await,
            None => Ok(()),
        };
        // Only now: one of them may serve these objects from now on.
        self.shared.poke_others(&self.name);
        let_go
    }
}

impl Shared {
    /// Serves a plugin; a younger Plugin that has one of its kinds gives way.
    async fn claim(&self, name: &str, plugged: Plugged) -> Result<(), NotServed> {
        loop {
            match self.controllers.serve(plugged.clone()).await {
                Err(NotServed::KindTaken { by, .. }) if self.is_older(name, &by) => {
                    self.controllers.withdraw(&by).await;
                    self.poke_others(name);
                }
                other => return other,
            }
        }
    }
}

fn spec_of(plugin: &DynamicObject) -> serde_json::Result<PluginSpec> {
    serde_json::from_value(plugin.data["spec"].clone())
}

fn status_of(plugin: &DynamicObject) -> PluginStatus {
    // A status that cannot be read is written anew.
    serde_json::from_value(plugin.data["status"].clone()).unwrap_or_default()
}

/// Waits until the Plugin asks for something else than `before`, or is gone.
async fn changed(shown: &mut watch::Receiver<Shown>, before: Asked) {
    let differs = |shown: &Shown| {
        shown
            .as_ref()
            .is_none_or(|plugin| asked_for(plugin) != before)
    };
    // The sender lives as long as the worker.
    let _ = shown.wait_for(differs).await;
}

/// The longest time between two tries.
pub(super) const LONGEST_WAIT: Duration = Duration::from_secs(300);

/// The usual growing times between tries.
pub(super) fn backoff() -> ExponentialBackoff {
    ExponentialBuilder::new()
        .with_min_delay(Duration::from_secs(2))
        .with_max_delay(LONGEST_WAIT)
        .without_max_times()
        .with_jitter()
        .build()
}
