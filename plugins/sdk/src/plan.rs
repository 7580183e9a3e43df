//! What a controller decides.

use std::time::Duration;

use serde::Serialize;

use crate::action::Step;
use crate::child::Child;
use crate::context::millis;
use crate::error::Error;
use crate::wire::{self, Event, Measurement, Metric, ObjectRef, Refusal, Severity};

/// The whole of what should be. Effects happen in this order: children, status, prune, actions.
///
/// Children must follow from the status as it was received, never from what this plan decides: what is decided
/// now is stored first and shapes the children of the next round.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan(wire::Plan);

impl Default for Plan {
    fn default() -> Self {
        Self::new()
    }
}

impl Plan {
    /// An empty plan: no children, status as it is.
    #[must_use]
    pub fn new() -> Self {
        Self(wire::Plan {
            children: Vec::new(),
            status: None,
            measurements: Vec::new(),
            refusals: Vec::new(),
            events: Vec::new(),
            actions: Vec::new(),
            requeue_after: None,
            finalized: false,
        })
    }

    /// From `finalize` only: nothing is left to do.
    #[must_use]
    pub fn finalized() -> Self {
        let mut plan = Self::new();
        plan.0.finalized = true;
        plan
    }

    /// Adds an object that should exist. They are applied in the order of adding.
    pub fn child(&mut self, child: Child) {
        self.0.children.push(child.wire());
    }

    /// Sets the plugin's part of status, conditions included.
    ///
    /// # Errors
    /// [`Error::Transient`] when it does not serialise.
    pub fn status<S: Serialize>(&mut self, status: &S) -> Result<(), Error> {
        let status = serde_json::to_string(status)
            .map_err(|why| Error::Transient(format!("failed to write the status: {why}")))?;
        self.0.status = Some(status);
        Ok(())
    }

    /// Says that a field of the spec is not followed while the rest keeps running: why, and what to do.
    pub fn refuse(&mut self, field: impl Into<String>, text: impl Into<String>) {
        self.0.refusals.push(Refusal {
            field: field.into(),
            text: text.into(),
        });
    }

    /// Adds an Event of everyday life.
    pub fn event(&mut self, about: ObjectRef, reason: &str, text: impl Into<String>) {
        self.push_event(about, Severity::Normal, reason, text.into());
    }

    /// Adds an Event that somebody should look into.
    pub fn warning(&mut self, about: ObjectRef, reason: &str, text: impl Into<String>) {
        self.push_event(about, Severity::Warning, reason, text.into());
    }

    /// Adds a figure as a metric only: `windlass_PLUGIN_NAME`, a gauge.
    pub fn metric(
        &mut self,
        name: &str,
        labels: &[(&str, &str)],
        value: impl Into<serde_json::Value>,
    ) {
        let labels = labels
            .iter()
            .map(|&(name, value)| (name.to_owned(), value.to_owned()));
        self.0.measurements.push(Measurement {
            status: None,
            metric: Some(Metric {
                name: name.to_owned(),
                labels: labels.collect(),
            }),
            value: value.into().to_string(),
        });
    }

    /// Adds a figure that status shows at a JSON pointer, written beside another change or once a minute.
    pub fn figure(&mut self, pointer: &str, value: impl Into<serde_json::Value>) {
        self.0.measurements.push(Measurement {
            status: Some(pointer.to_owned()),
            metric: None,
            value: value.into().to_string(),
        });
    }

    /// Adds a step of actions; an empty one is left out.
    pub fn step(&mut self, step: Step) {
        if !step.is_empty() {
            self.0.actions.push(step.wire());
        }
    }

    /// Looks again after this long even if nothing happens; at least half a second.
    pub fn requeue_after(&mut self, after: Duration) {
        self.0.requeue_after = Some(millis(after).max(500));
    }

    /// The plan as it crosses to the host.
    #[must_use]
    pub fn wire(self) -> wire::Plan {
        self.0
    }

    fn push_event(&mut self, about: ObjectRef, severity: Severity, reason: &str, text: String) {
        self.0.events.push(Event {
            about,
            severity,
            reason: reason.to_owned(),
            text,
        });
    }
}
