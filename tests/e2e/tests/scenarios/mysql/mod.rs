//! What a user of a MySQL cluster sees, with Windlass installed on the cluster.

mod absence;
mod backup;
mod client;
mod cuts;
mod failover;
mod input;
mod life;
mod planned;
mod repair;
mod silence;
mod storage;
mod subject;
mod writer;
