//! The rooms that write, against a real API server without nodes: children, status, prune, Events.
//!
//! They want the kubeconfig of a control plane in `WINDLASS_TEST_KUBECONFIG`; `cargo xtask test` makes one.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]

#[path = "../api_server/mod.rs"]
mod api_server;
mod children;
mod events;
mod secrets;
mod status;
mod world;
