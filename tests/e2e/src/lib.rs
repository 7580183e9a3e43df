//! The fixture under the end-to-end scenarios: a real cluster, one namespace a test, waits that
//! explain themselves, faults that heal when dropped, and evidence when a scenario fails.
//!
//! A scenario reads like a story:
//!
//! ```no_run
//! use windlass_e2e::prelude::*;
//!
//! #[tokio::test]
//! async fn a_killed_pod_returns_with_its_data() -> Result<()> {
//!     scenario(async |ns| {
//!         ns.apply(include_str!("../manifests/redis.yaml")).await?;
//!         let redis = ns.pod("redis-0");
//!         redis.ready().await?;
//!         redis.exec(&["redis-cli", "SET", "ship", "windlass"]).await?;
//!
//!         let killed = redis.kill().await?;
//!         redis.ready_again(&killed).await?;
//!
//!         let kept = redis.exec(&["redis-cli", "GET", "ship"]).await?;
//!         ensure!(kept == "windlass", "the value became {kept:?}");
//!         Ok(())
//!     })
//!     .await
//! }
//! ```

pub mod audit;
pub mod binaries;
pub mod cluster;
pub mod crds;
mod evidence;
pub mod faults;
pub mod guide;
pub mod host;
mod manifest;
pub mod namespace;
pub mod plugins;
pub mod pod;
pub mod scenario;
pub mod tools;
pub mod wait;

/// What a scenario file imports.
pub mod prelude {
    pub use anyhow::{Context as _, Result, bail, ensure};

    pub use crate::cluster::{Cluster, OwnCluster};
    pub use crate::faults::{From, partition};
    pub use crate::namespace::Namespace;
    pub use crate::pod::Pod;
    pub use crate::scenario::scenario;
    pub use crate::wait::{PATIENCE, eventually, throughout};
}
