//! Faults that a scenario makes and that end when their guard is dropped.
//!
//! All act from this machine on the Pod's own process, network namespace or cgroup, so they need
//! root and nothing inside the container.

mod cgroup;
mod cpu;
mod cut;
mod disk;
mod freeze;

pub use cpu::CpuThrottle;
pub use cut::{Cut, From, partition};
pub use disk::FullDisk;
pub use freeze::Freeze;
