//! What plugin authors write against.
