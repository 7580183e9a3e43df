//! The Redis plugin.
