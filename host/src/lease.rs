//! Who acts: one Lease, one holder.
//!
//! Guarantees: a holder knows at any moment, without asking anybody, until when it may act, and that moment lies
//! before the one at which another may take over. Both are measured on a clock that neither jumps nor stands
//! still during a suspend, each on its own machine: the calendar plays no part.
//! Assumptions: the two clocks run at the same speed within a third of the lease's time.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use k8s_openapi::api::coordination::v1::{Lease as LeaseObject, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use k8s_openapi::jiff::Timestamp;
use kube::api::{Api, ObjectMeta, PostParams};
use tokio::sync::watch;

use crate::clock::SharedClock;
use crate::cluster::{Cluster, ClusterError, asked};

/// How the lease is kept.
#[derive(Clone, Debug)]
pub struct LeaseSettings {
    /// The namespace of the Lease object: the host's own.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// This host's name in it, unique among hosts: the Pod's name and a random suffix.
    pub identity: String,
    /// After this long without a renewal another host may take over.
    pub duration: Duration,
}

impl LeaseSettings {
    /// How long after a renewal was begun the holder stops by itself: it leaves a third for clocks and for
    /// requests that are under way.
    fn acting(&self) -> Duration {
        self.duration * 2 / 3
    }

    fn renew_every(&self) -> Duration {
        self.duration / 5
    }
}

/// Tells whether this host may act. Cheap to clone; asked before every single effect.
#[derive(Clone)]
pub struct LeaseGuard {
    clock: SharedClock,
    /// Until when this host may act, in milliseconds on the boot clock; 0: not at all.
    until: Arc<AtomicU64>,
    held: watch::Receiver<bool>,
    /// Of a guard without a keeper the sender, whose end would be the lease's.
    _alone: Option<Arc<watch::Sender<bool>>>,
}

impl LeaseGuard {
    /// What remains of this host's time; None when it must not act.
    pub fn remaining(&self) -> Option<Duration> {
        let until = Duration::from_millis(self.until.load(Ordering::Acquire));
        until
            .checked_sub(self.clock.since_boot())
            .filter(|left| !left.is_zero())
    }

    /// Waits until this host holds the lease.
    pub async fn acquired(&mut self) {
        // An error means that the keeper ended: then the lease is never held again.
        if self.held.wait_for(|held| *held).await.is_err() {
            std::future::pending::<()>().await;
        }
    }

    /// Waits until this host holds the lease no more.
    pub async fn lost(&mut self) {
        // An error means that the keeper ended, and the lease with it.
        let _ = self.held.wait_for(|held| !*held).await;
    }

    /// A guard that never ends, for a host that is alone by construction: tests and the simulator.
    pub fn unshared(clock: SharedClock) -> Self {
        let (sender, held) = watch::channel(true);
        let until = Arc::new(AtomicU64::new(u64::MAX));
        Self {
            clock,
            until,
            held,
            _alone: Some(Arc::new(sender)),
        }
    }
}

/// Acquires, renews and gives back the lease.
pub struct LeaseKeeper {
    cluster: Cluster,
    clock: SharedClock,
    settings: LeaseSettings,
    until: Arc<AtomicU64>,
    held: watch::Sender<bool>,
    /// The holder's last sign of life: its version, and when this host saw it first.
    seen: Option<(String, Duration)>,
}

impl LeaseKeeper {
    /// A keeper, and the guard that everyone else asks.
    pub fn new(
        cluster: Cluster,
        clock: SharedClock,
        settings: LeaseSettings,
    ) -> (Self, LeaseGuard) {
        let (sender, receiver) = watch::channel(false);
        let until = Arc::new(AtomicU64::new(0));
        let until_guarded = Arc::clone(&until);
        let guard = LeaseGuard {
            clock: clock.clone(),
            until: until_guarded,
            held: receiver,
            _alone: None,
        };
        (
            Self {
                cluster,
                clock,
                settings,
                until,
                held: sender,
                seen: None,
            },
            guard,
        )
    }

    /// Keeps the lease until `stop` is done, then gives it back so that another need not wait.
    pub async fn run(mut self, stop: impl Future<Output = ()>) {
        tokio::pin!(stop);
        loop {
            self.timely_turn().await;
            self.publish();
            tokio::select! {
                () = tokio::time::sleep(self.settings.renew_every()) => {}
                () = &mut stop => break,
            }
        }
        if *self.held.borrow() {
            self.until.store(0, Ordering::Release);
            self.publish();
            if let Err(error) = self.give_back().await {
                tracing::warn!(%error, "failed to give the lease back; another host takes over when it ends");
            }
        }
    }

    /// A turn that is given up before the next is due: an API server that does not answer must not keep the
    /// guards from hearing that the time is over.
    async fn timely_turn(&mut self) {
        let patience = self.settings.renew_every() * 2;
        match tokio::time::timeout(patience, self.turn()).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::warn!(%error, "failed to renew or acquire the lease"),
            Err(_) => tracing::warn!(
                ?patience,
                "failed to renew or acquire the lease: no answer in time"
            ),
        }
    }

    /// One look at the Lease, and one write where it is this host's to take or renew.
    async fn turn(&mut self) -> Result<(), ClusterError> {
        let begun = self.clock.since_boot();
        let api = self.api();
        let Some(live) = asked("read the Lease", api.get_opt(&self.settings.name)).await? else {
            let made = self.claim(LeaseObject::default());
            asked(
                "create the Lease",
                api.create(&PostParams::default(), &made),
            )
            .await?;
            self.extend(begun);
            return Ok(());
        };
        if !self.may_claim(&live, begun) {
            return Ok(());
        }
        let claimed = self.claim(live);
        let name = &self.settings.name;
        let parameters = PostParams::default();
        let request = api.replace(name, &parameters, &claimed);
        match asked("renew the Lease", request).await {
            // Another host was first.
            Err(error) if error.is_conflict() => Ok(()),
            renewed => renewed.map(|_| self.extend(begun)),
        }
    }

    /// True when the Lease is this host's, given back, or unrenewed for its whole time *as seen by this host*.
    fn may_claim(&mut self, live: &LeaseObject, now: Duration) -> bool {
        let spec = live.spec.clone().unwrap_or_default();
        match spec.holder_identity.as_deref() {
            None | Some("") => return true,
            Some(holder) if holder == self.settings.identity => return true,
            Some(_) => {}
        }
        let version = live.metadata.resource_version.clone().unwrap_or_default();
        let promised = spec
            .lease_duration_seconds
            .and_then(|seconds| u64::try_from(seconds).ok());
        let lasts = promised.map_or(self.settings.duration, Duration::from_secs);
        match &self.seen {
            Some((known, since)) if *known == version => now.saturating_sub(*since) > lasts,
            _ => {
                self.seen = Some((version, now));
                false
            }
        }
    }

    /// `live` with this host as its holder, at its resourceVersion.
    fn claim(&self, live: LeaseObject) -> LeaseObject {
        let now = calendar(self.clock.now());
        let former = live.spec.unwrap_or_default();
        let mine = former.holder_identity.as_deref() == Some(self.settings.identity.as_str());
        let transitions = former.lease_transitions.unwrap_or_default();
        LeaseObject {
            metadata: ObjectMeta {
                name: Some(self.settings.name.clone()),
                ..live.metadata
            },
            spec: Some(LeaseSpec {
                holder_identity: Some(self.settings.identity.clone()),
                lease_duration_seconds: i32::try_from(self.settings.duration.as_secs()).ok(),
                acquire_time: if mine {
                    former.acquire_time
                } else {
                    now.clone()
                },
                renew_time: now,
                lease_transitions: Some(if mine {
                    transitions
                } else {
                    transitions.saturating_add(1)
                }),
                ..former
            }),
        }
    }

    /// The renewal that was begun at `begun` is stored.
    fn extend(&mut self, begun: Duration) {
        let until = begun + self.settings.acting();
        self.until.store(
            u64::try_from(until.as_millis()).unwrap_or(0),
            Ordering::Release,
        );
        self.seen = None;
    }

    /// Tells the guards when holding began or ended.
    fn publish(&self) {
        let until = Duration::from_millis(self.until.load(Ordering::Acquire));
        let holds = until > self.clock.since_boot();
        self.held.send_if_modified(|held| {
            let changed = *held != holds;
            if changed {
                tracing::info!(
                    identity = self.settings.identity,
                    holds,
                    "the lease changed hands"
                );
            }
            *held = holds;
            changed
        });
    }

    async fn give_back(&self) -> Result<(), ClusterError> {
        let api = self.api();
        let mut live = asked("read the Lease", api.get(&self.settings.name)).await?;
        let Some(spec) = live.spec.as_mut() else {
            return Ok(());
        };
        if spec.holder_identity.as_deref() != Some(self.settings.identity.as_str()) {
            return Ok(());
        }
        spec.holder_identity = None;
        let parameters = PostParams::default();
        let request = api.replace(&self.settings.name, &parameters, &live);
        asked("give back the Lease", request).await.map(drop)
    }

    fn api(&self) -> Api<LeaseObject> {
        Api::namespaced(self.cluster.client(), &self.settings.namespace)
    }
}

fn calendar(milliseconds: u64) -> Option<MicroTime> {
    let milliseconds = i64::try_from(milliseconds).ok()?;
    Timestamp::from_millisecond(milliseconds)
        .ok()
        .map(MicroTime)
}
