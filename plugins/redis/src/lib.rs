//! Redis with one primary and replicas, as a Windlass plugin.
//!
//! Start at [`reconcile`]: it asks, [`observe`] turns the answers into a view, [`decide`] decides, [`plan`] orders
//! what is to be done, [`build`] makes the children and [`report`] the status. README.md lists the states and rules.

pub mod build;
pub mod cluster;
pub mod component;
pub mod decide;
pub mod failover;
pub mod foreign;
pub mod forming;
pub mod frozen;
pub mod grants;
pub mod health;
pub mod live;
pub mod names;
pub mod observe;
pub mod plan;
pub mod planned;
pub mod reconcile;
pub mod refusals;
pub mod reopen;
pub mod report;
pub mod serving;
pub mod settings;
pub mod spec;
pub mod status;
#[cfg(test)]
mod testing;
