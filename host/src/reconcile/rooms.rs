//! The rooms that rounds pass through.

use std::sync::Arc;

use crate::actions::Actions;
use crate::apply::Applier;
use crate::cache::Cache;
use crate::clock::SharedClock;
use crate::cluster::Cluster;
use crate::entropy::SharedEntropy;
use crate::events::Recorder;
use crate::explain::History;
use crate::lease::LeaseGuard;
use crate::metrics::Metrics;
use crate::query::Queries;
use crate::secrets::Secrets;
use crate::status::StatusWriter;
use crate::watch::{Index, States};

/// The rooms that rounds of all plugins share.
#[derive(Clone)]
pub struct Rooms {
    /// The API server.
    pub cluster: Cluster,
    /// What is known of it.
    pub cache: Cache,
    /// Who asked about what.
    pub index: Index,
    /// Which kinds can be asked about.
    pub states: States,
    /// Questions to databases.
    pub queries: Arc<Queries>,
    /// Secret values.
    pub secrets: Arc<Secrets>,
    /// Children.
    pub applier: Applier,
    /// Status.
    pub status: StatusWriter,
    /// Everything else that a plan may do.
    pub actions: Arc<Actions>,
    /// Events.
    pub recorder: Recorder,
    /// Time.
    pub clock: SharedClock,
    /// Chance.
    pub entropy: SharedEntropy,
    /// Whether this host may act.
    pub lease: LeaseGuard,
    /// What rounds saw, decided and did.
    pub history: History,
    /// Figures about the host.
    pub metrics: Metrics,
}
