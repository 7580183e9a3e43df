//! Scenarios on the real cluster.
