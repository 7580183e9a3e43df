//! The guest side of `wit/plugin.wit`, generated.
#![allow(missing_docs, unsafe_code, unreachable_pub, clippy::all)]

wit_bindgen::generate!({
    path: "../../../wit",
    world: "plugin",
    pub_export_macro: true,
    default_bindings_module: "crate::bindings",
});
