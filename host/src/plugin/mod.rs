//! Plugins: WebAssembly components without authority, and everything that loads, limits and calls them.

pub mod bindings;
