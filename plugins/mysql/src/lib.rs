//! MySQL with one primary and replicas, as a Windlass plugin.
//!
//! Start at [`reconcile`]: it asks, [`observe`] and [`query`] turn the answers into a view, [`decide`] decides,
//! [`plan`] orders what is to be done, [`build`] makes the children and [`report`] the status. README.md lists the
//! states and rules.

pub mod accounts;
pub mod alias;
pub mod backup;
pub mod build;
pub mod component;
pub mod config;
pub mod decide;
pub mod failover;
pub mod force;
pub mod forming;
pub mod grants;
pub mod gtid;
pub mod health;
pub mod names;
pub mod observe;
pub mod opening;
pub mod plan;
pub mod query;
pub mod reconcile;
pub mod refusals;
pub mod repair;
pub mod report;
pub mod rolling;
pub mod schedule;
pub mod serving;
pub mod spec;
pub mod statements;
pub mod status;
pub mod strays;
pub mod switchover;
#[cfg(test)]
mod testing;
pub mod version;
pub mod voters;
