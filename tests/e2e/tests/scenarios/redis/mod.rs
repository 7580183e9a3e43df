//! What a user of a Redis sees, with Windlass installed on the cluster.

mod absence;
mod drift;
mod failover;
mod input;
mod life;
mod monitor;
mod planned;
mod replaced;
mod silence;
mod subject;
mod writer;
