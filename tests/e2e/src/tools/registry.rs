//! An OCI registry (distribution).

use std::fs;
use std::net::Ipv4Addr;

use anyhow::{Context, Result};
use oci_client::Client;
use oci_client::client::{ClientConfig, ClientProtocol};

use super::server::Server;
use crate::cluster::use_ring;

/// A registry without authentication; it and its content go when it is dropped.
pub struct Registry {
    server: Server,
}

impl Registry {
    /// Starts one.
    ///
    /// # Errors
    /// When it does not come up.
    pub async fn start() -> Result<Self> {
        let address = Ipv4Addr::LOCALHOST.into();
        let server = Server::start("registry", address, |command, folder, address| {
            let file = folder.join("registry.yaml");
            let storage = folder.join("storage");
            let config = format!(
                "version: 0.1\nstorage:\n  filesystem: {{rootdirectory: {}}}\nhttp: {{addr: \"{address}\"}}\n",
                storage.display()
            );
            fs::write(&file, config).context("failed to write the registry's configuration")?;
            command.arg("serve").arg(&file).env("OTEL_TRACES_EXPORTER", "none");
            Ok(())
        })
        .await?;
        Ok(Self { server })
    }

    /// The full name of an image in it: `127.0.0.1:PORT/REPOSITORY:TAG`.
    #[must_use]
    pub fn image(&self, repository_and_tag: &str) -> String {
        format!("{}/{repository_and_tag}", self.server.address())
    }

    /// A client that speaks plain HTTP.
    #[must_use]
    pub fn client(&self) -> Client {
        use_ring();
        Client::new(ClientConfig {
            protocol: ClientProtocol::Http,
            ..ClientConfig::default()
        })
    }
}
