//! What a user of a Prometheus sees, with Windlass installed on the cluster.

mod absence;
mod bad;
mod credentials;
mod follow;
mod life;
mod monitors;
mod planned;
mod selection;
mod served;
mod subject;
mod upstream;
