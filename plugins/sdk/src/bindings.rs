//! The guest side of `wit/plugin.wit`, generated. Generated names stay in this file and in [`crate::wire`].
#![allow(missing_docs, unsafe_code, unreachable_pub, clippy::all)]

wit_bindgen::generate!({
    path: "../../wit",
    world: "plugin",
    pub_export_macro: true,
    default_bindings_module: "windlass_sdk::bindings",
    additional_derives: [PartialEq, Eq],
});
