//! Plugins as OCI artifacts: in registries and in layouts on disk, read and written in one way.
//!
//! The form is that of the CNCF's *Wasm OCI Artifact layout* (what `wkg` writes and reads): an image manifest, one layer
//! `application/wasm`, and a config `application/vnd.wasm.config.v0+json`. Every byte is checked against its digest.
//!
//! In the order of a pull: [`location`] says where, [`repository`] is what a [`registry`] and a [`layout`] have in
//! common, [`fetch`] reads from it through the [`content`] kept on disk, [`artifact`] checks the form, and
//! [`signature`] who made it.
//!
//! What may not live here: what a plugin is allowed or does.

pub mod artifact;
mod bounded;
pub mod content;
pub mod credentials;
pub mod digest;
pub mod fetch;
mod layout;
pub mod location;
mod registry;
pub mod repository;
pub mod signature;
pub mod tool;

pub use artifact::NotAnArtifact;
pub use digest::Digest;
pub use fetch::{FetchError, Fetched, Fetcher};
pub use location::Location;
pub use repository::{Repository, RepositoryError};

pub(crate) use bounded::evict;
