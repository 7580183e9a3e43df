//! What the server runs, served to whoever asks.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Context as _;
use axum::extract::State;
use axum::routing::get;
use axum::{Json, Router};
use serde::Serialize;

/// What the server runs.
#[derive(Debug, Default)]
pub(super) struct Report(Mutex<Told>);

/// As it is served.
#[derive(Clone, Debug, Default, Serialize)]
struct Told {
    /// Revisions that the server took, by folder.
    revisions: BTreeMap<String, String>,
    /// Why the newest could not be brought to it; none when it was.
    error: Option<String>,
}

impl Report {
    pub(super) fn runs(&self, revisions: &BTreeMap<String, String>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Told {
            revisions: revisions.clone(),
            error: None,
        };
    }

    pub(super) fn failed(&self, why: &str) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).error = Some(why.to_owned());
    }

    fn told(&self) -> Told {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

/// Serves `/status`, and `/healthz` for probes.
///
/// # Errors
/// When the address cannot be listened on.
pub(super) async fn serve(listen: SocketAddr, report: Arc<Report>) -> anyhow::Result<()> {
    let router = Router::new()
        .route(
            "/status",
            get(async |State(report): State<Arc<Report>>| Json(report.told())),
        )
        .route("/healthz", get(async || "ok"))
        .with_state(report);
    let listener = tokio::net::TcpListener::bind(listen)
        .await
        .with_context(|| format!("failed to listen on {listen}"))?;
    axum::serve(listener, router)
        .await
        .context("failed to serve the report")
}
