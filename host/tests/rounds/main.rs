//! Whole hosts against a real API server without nodes: watch, queue, round, children, status, deletion.
//!
//! They want the kubeconfig of a control plane in `WINDLASS_TEST_KUBECONFIG`; `cargo xtask test` makes one. Each test
//! has a namespace of its own, a host that serves only that, and an operator whose decisions it writes itself.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::result_large_err,
    reason = "a test fails by panicking"
)]

#[path = "../api_server/mod.rs"]
mod api_server;
mod crash;
mod deletion;
mod facts;
mod faults;
mod lease;
mod limits;
mod long;
mod operator;
mod outage;
mod queries;
mod servers;
mod steady;
mod wire;
mod world;
