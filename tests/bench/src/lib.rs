//! What the benchmarks have in common: a host in this process, and the part of a cluster that a control plane lacks.
//!
//! The API server is real; what StatefulSets and kubelets would do is done by [`nodes`], and databases are made up by
//! [`servers`]. So a benchmark can have ten thousand Redis objects on a machine that could run fifty.

pub mod control_plane;
pub mod host;
pub mod memory;
pub mod native;
pub mod nodes;
pub mod process;
pub mod servers;

/// The value in the middle.
pub fn median(mut of: Vec<f64>) -> f64 {
    of.sort_by(f64::total_cmp);
    of[of.len() / 2]
}
