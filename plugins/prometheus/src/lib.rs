//! Prometheus and what it scrapes, as a Windlass plugin.
//!
//! Start at [`reconcile`]: it asks for what [`facts`] lists, [`check`] says what can be followed, [`pick`] which
//! monitors, [`config`] and [`rules`] write the configuration, [`workload`] the children and [`report`] the status.

pub mod api;
pub mod check;
pub mod component;
pub mod config;
mod digest;
pub mod facts;
pub mod known;
pub mod names;
pub mod pick;
pub mod pods;
pub mod reconcile;
pub mod report;
pub mod rules;
pub mod settings;
pub mod units;
pub mod version;
pub mod workload;
pub mod yaml;
