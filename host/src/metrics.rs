//! What the host tells Prometheus about itself.

use prometheus_client::encoding::{EncodeLabelSet, text};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::Registry;

use crate::figures::Figures;
use crate::gate::Written;

/// One plugin.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct OfPlugin {
    /// Its name.
    pub plugin: String,
}

/// One plugin, and how something ended.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct Ending {
    /// The plugin's name.
    pub plugin: String,
    /// A word of a small fixed set: `stored`, `conflict`, `refused`, …
    pub result: &'static str,
}

/// The host's metrics. Cheap to clone; all clones count the same.
#[derive(Clone)]
pub struct Metrics {
    registry: std::sync::Arc<Registry>,
    /// Rounds, by how they ended.
    pub rounds: Family<Ending, Counter>,
    /// Seconds that a round took.
    pub round_seconds: Family<OfPlugin, Histogram>,
    /// Calls into a plugin, by how they ended.
    pub calls: Family<Ending, Counter>,
    /// Seconds that a call into a plugin took.
    pub call_seconds: Family<OfPlugin, Histogram>,
    /// Requests to the API server that change something; not those that renew the lease.
    pub writes: Family<Written, Counter>,
    /// Actions, by how they ended.
    pub actions: Family<Ending, Counter>,
    /// Queue entries that are due and not yet taken.
    pub queued: Family<OfPlugin, Gauge>,
    /// Objects that are served.
    pub objects: Family<OfPlugin, Gauge>,
    /// What plugins measured of their objects.
    pub figures: std::sync::Arc<Figures>,
    /// 1 while this host holds the lease.
    pub leading: Gauge,
}

impl Default for Metrics {
    fn default() -> Self {
        let mut metrics = Self {
            registry: std::sync::Arc::default(),
            rounds: Family::default(),
            round_seconds: Family::new_with_constructor(seconds),
            calls: Family::default(),
            call_seconds: Family::new_with_constructor(seconds),
            writes: Family::default(),
            actions: Family::default(),
            queued: Family::default(),
            objects: Family::default(),
            figures: std::sync::Arc::default(),
            leading: Gauge::default(),
        };
        metrics.registry = std::sync::Arc::new(metrics.registered());
        metrics
    }
}

/// From 50 µs to about 50 s.
fn seconds() -> Histogram {
    Histogram::new(exponential_buckets(0.000_05, 4.0, 11))
}

impl Metrics {
    fn registered(&self) -> Registry {
        let mut registry = Registry::with_prefix("windlass");
        registry.register("rounds", "Rounds, by how they ended", self.rounds.clone());
        registry.register(
            "round_seconds",
            "Time that rounds took",
            self.round_seconds.clone(),
        );
        registry.register(
            "plugin_calls",
            "Calls into plugins, by how they ended",
            self.calls.clone(),
        );
        registry.register(
            "plugin_call_seconds",
            "Time that calls took",
            self.call_seconds.clone(),
        );
        registry.register(
            "writes",
            "Requests to the API server that change something, but those for the lease",
            self.writes.clone(),
        );
        registry.register(
            "actions",
            "Actions, by how they ended",
            self.actions.clone(),
        );
        registry.register("queued", "Queue entries that are due", self.queued.clone());
        registry.register("objects", "Objects that are served", self.objects.clone());
        registry.register(
            "leading",
            "1 while this host holds the lease",
            self.leading.clone(),
        );
        registry.register_collector(Box::new(self.figures.clone()));
        registry
    }

    /// Everything, in the text format that Prometheus reads.
    pub fn text(&self) -> String {
        let mut text = String::new();
        // Writing to a String does not fail.
        let _ = text::encode(&mut text, &self.registry);
        text
    }
}
