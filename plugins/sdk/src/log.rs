//! Diagnostics: the one thing a plugin may call.
//!
//! Never write what a fact says about people; the text goes to the host's log and to the Plugin. Native tests
//! print to standard error.

/// Something failed.
pub fn error(text: &str) {
    write(Level::Error, text);
}

/// Something that somebody should look into.
pub fn warn(text: &str) {
    write(Level::Warn, text);
}

/// Something worth knowing.
pub fn info(text: &str) {
    write(Level::Info, text);
}

/// Something for whoever looks for a fault.
pub fn debug(text: &str) {
    write(Level::Debug, text);
}

use crate::bindings::windlass::plugin::log::Level;

#[cfg(target_arch = "wasm32")]
fn write(level: Level, text: &str) {
    crate::bindings::windlass::plugin::log::write(level, text);
}

#[cfg(not(target_arch = "wasm32"))]
fn write(level: Level, text: &str) {
    eprintln!("{level:?}: {text}");
}
