//! The operator host.
