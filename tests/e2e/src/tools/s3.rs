//! An S3-compatible server (versitygw).

use std::fs;
use std::net::{IpAddr, Ipv4Addr};
use std::path::Path;

use anyhow::{Context, Result};
use object_store::ClientOptions;
use object_store::aws::{AmazonS3, AmazonS3Builder};

use super::server::Server;
use crate::cluster::use_ring;

const ACCESS_KEY: &str = "windlass";
const SECRET_KEY: &str = "only-for-tests";

/// An S3 server on a folder; it and its content go when it is dropped.
pub struct S3Server {
    server: Server,
}

impl S3Server {
    /// Starts one for this machine alone.
    ///
    /// # Errors
    /// When it does not come up.
    pub async fn start() -> Result<Self> {
        Self::start_at(Ipv4Addr::LOCALHOST.into()).await
    }

    /// Starts one at an address of this machine, such as the one that a Pod can reach.
    ///
    /// # Errors
    /// When it does not come up.
    pub async fn start_at(address: IpAddr) -> Result<Self> {
        let server = Server::start("versitygw", address, |command, folder, address| {
            let buckets = folder.join("buckets");
            let attributes = folder.join("attributes");
            for part in [&buckets, &attributes] {
                fs::create_dir(part).context("failed to make a folder for the S3 server")?;
            }
            // Attributes in files of their own: not every file system of a test machine has xattrs.
            command
                .env("ROOT_ACCESS_KEY_ID", ACCESS_KEY)
                .env("ROOT_SECRET_ACCESS_KEY", SECRET_KEY)
                .args(["--port", &address.to_string(), "posix", "--sidecar"])
                .args([attributes, buckets]);
            Ok(())
        })
        .await?;
        Ok(Self { server })
    }

    /// Where it listens.
    #[must_use]
    pub fn endpoint(&self) -> String {
        format!("http://{}", self.server.address())
    }

    /// The two keys of a Secret with its credentials.
    #[must_use]
    pub fn credentials(&self) -> [(&'static str, &'static str); 2] {
        [
            ("AWS_ACCESS_KEY_ID", ACCESS_KEY),
            ("AWS_SECRET_ACCESS_KEY", SECRET_KEY),
        ]
    }

    /// Makes a folder with its credentials, as a mounted Secret holds them.
    ///
    /// # Errors
    /// When the folder exists.
    pub fn write_credentials(&self, folder: &Path) -> Result<()> {
        let write = || {
            fs::create_dir(folder)?;
            let mut keys = self.credentials().into_iter();
            keys.try_for_each(|(key, value)| fs::write(folder.join(key), value))
        };
        write().with_context(|| format!("failed to write credentials to {}", folder.display()))
    }

    /// Makes a bucket and a client of it.
    ///
    /// # Errors
    /// When the bucket exists.
    pub fn bucket(&self, name: &str) -> Result<AmazonS3> {
        use_ring();
        // On this back end a folder is a bucket, and object_store has no call that makes one.
        fs::create_dir(self.server.folder().join("buckets").join(name))
            .with_context(|| format!("failed to make bucket {name}"))?;
        AmazonS3Builder::new()
            .with_endpoint(self.endpoint())
            .with_client_options(ClientOptions::new().with_allow_http(true))
            .with_region("us-east-1")
            .with_access_key_id(ACCESS_KEY)
            .with_secret_access_key(SECRET_KEY)
            .with_bucket_name(name)
            .build()
            .with_context(|| format!("failed to make a client of bucket {name}"))
    }
}
