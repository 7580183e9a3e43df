//! What the host serves over HTTP: its metrics, whether it lives and is ready; and, on loopback, `explain`.

use std::net::SocketAddr;

use anyhow::Context;
use axum::extract::{Query, State};
use axum::http::StatusCode;
use axum::routing::get;
use axum::{Json, Router};
use serde::{Deserialize, Serialize};

use crate::explain::{Explained, History};
use crate::lease::LeaseGuard;
use crate::metrics::Metrics;
use crate::watch::States;

/// What the endpoints tell about.
#[derive(Clone)]
pub struct Told {
    /// Figures.
    pub metrics: Metrics,
    /// Whether what is watched is known.
    pub states: States,
    /// Whether this host acts.
    pub lease: LeaseGuard,
    /// What rounds saw, decided and did.
    pub history: History,
    /// Whether every installed plugin was tried.
    pub installed: tokio::sync::watch::Receiver<bool>,
}

/// A question of `windlass explain`.
#[derive(Debug, Serialize, Deserialize)]
pub struct Asked {
    /// A kind, in any case, with or without its group.
    pub kind: String,
    /// Its namespace.
    pub namespace: Option<String>,
    /// Its name.
    pub name: String,
}

/// Serves metrics and health until `stop` is done.
///
/// # Errors
/// When the address cannot be listened on.
pub async fn serve(
    listen: SocketAddr,
    told: Told,
    stop: impl Future<Output = ()> + Send + 'static,
) -> anyhow::Result<()> {
    let health = Router::new()
        .route("/metrics", get(metrics))
        .route("/healthz", get(|| async { "ok\n" }))
        .route("/readyz", get(ready))
        .with_state(told);
    listen_on(listen, health, stop).await
}

/// Serves `explain` until `stop` is done.
///
/// # Errors
/// When the address cannot be listened on.
pub async fn serve_explain(
    listen: SocketAddr,
    told: Told,
    stop: impl Future<Output = ()> + Send + 'static,
) -> anyhow::Result<()> {
    let explain = Router::new()
        .route("/explain", get(explained))
        .with_state(told);
    listen_on(listen, explain, stop).await
}

async fn listen_on(
    address: SocketAddr,
    router: Router,
    stop: impl Future<Output = ()> + Send + 'static,
) -> anyhow::Result<()> {
    let listener = tokio::net::TcpListener::bind(address)
        .await
        .with_context(|| format!("failed to listen on {address}: choose another address"))?;
    axum::serve(listener, router)
        .with_graceful_shutdown(stop)
        .await
        .context("failed to serve")
}

async fn metrics(State(told): State<Told>) -> String {
    told.metrics
        .leading
        .set(i64::from(told.lease.remaining().is_some()));
    told.metrics.text()
}

/// Ready when every plugin was tried and everything that is served is watched, whether or not this host acts: a
/// stand-by is ready to.
async fn ready(State(told): State<Told>) -> (StatusCode, String) {
    let waits_for = match (*told.installed.borrow(), told.states.is_settled()) {
        (true, true) => return (StatusCode::OK, "ok\n".into()),
        (false, _) => "plugins are being installed\n",
        (true, false) => "the first lists are not complete\n",
    };
    (StatusCode::SERVICE_UNAVAILABLE, waits_for.into())
}

async fn explained(State(told): State<Told>, Query(asked): Query<Asked>) -> Json<Vec<Explained>> {
    Json(
        told.history
            .find(&asked.kind, asked.namespace.as_deref(), &asked.name),
    )
}
