//! Backups in S3-compatible storage, made and fetched by the host's own program.

use std::fs;
use std::path::Path;

use clap::Parser;
use object_store::ObjectStoreExt;
use tempfile::TempDir;
use windlass::args::{Arguments, Command};
use windlass_e2e::prelude::*;
use windlass_e2e::tools::S3Server;

/// Larger than one part of an upload.
const LARGE: usize = 20 << 20;

async fn backup(words: &[&str]) -> Result<()> {
    let line = ["windlass", "backup"].iter().chain(words);
    let Command::Backup(arguments) = Arguments::parse_from(line).command else {
        bail!("not a backup command")
    };
    windlass::backup::run(&arguments).await
}

fn shown(path: &Path) -> Result<&str> {
    path.to_str().context("a path that is not UTF-8")
}

#[tokio::test]
async fn a_backup_goes_to_s3_in_parts_and_comes_back_the_same() -> Result<()> {
    let server = S3Server::start().await?;
    let bucket = server.bucket("backups")?;
    let folder = TempDir::new()?;
    let part = |name: &str| folder.path().join(name);
    fs::create_dir(part("dump"))?;
    let large: Vec<u8> = (0..LARGE).map(|at| (at % 251) as u8).collect();
    fs::write(part("dump/ships.sql"), &large)?;
    fs::write(part("dump/empty"), "")?;
    server.write_credentials(&part("credentials"))?;

    let endpoint = server.endpoint();
    let (credentials, report) = (part("credentials"), part("report"));
    let place = [
        "--at",
        "s3://backups/shop",
        "--endpoint",
        &endpoint,
        "--credentials",
        shown(&credentials)?,
    ];
    let dump = part("dump");
    let store = [
        "store",
        "--from",
        shown(&dump)?,
        "--name",
        "first",
        "--report",
        shown(&report)?,
    ];
    backup(&[&store[..], &place].concat()).await?;
    let told: serde_json::Value = serde_json::from_slice(&fs::read(&report)?)?;
    ensure!(told["bytes"] == LARGE, "the report says {told}");
    ensure!(
        told["at"] == "s3://backups/shop/first",
        "the report says {told}"
    );

    let back = part("back");
    let fetch = ["fetch", "--name", "first", "--to", shown(&back)?];
    backup(&[&fetch[..], &place].concat()).await?;
    ensure!(
        fs::read(back.join("ships.sql"))? == large,
        "another file came back"
    );
    ensure!(fs::read(back.join("empty"))?.is_empty());

    let manifest = object_store::path::Path::from("shop/first/backup.json");
    bucket.delete(&manifest).await?;
    backup(&[&store[..], &place].concat())
        .await
        .context("a broken attempt was not replaced")?;
    bucket.head(&manifest).await?;
    Ok(())
}

#[tokio::test]
async fn wrong_credentials_are_told_as_such() -> Result<()> {
    let server = S3Server::start().await?;
    server.bucket("backups")?;
    let folder = TempDir::new()?;
    let part = |name: &str| folder.path().join(name);
    fs::write(part("dump"), "the cargo")?;
    server.write_credentials(&part("credentials"))?;
    fs::write(part("credentials/AWS_SECRET_ACCESS_KEY"), "not-this")?;
    let (dump, credentials, report) = (part("dump"), part("credentials"), part("report"));
    let failed = backup(&[
        "store",
        "--at",
        "s3://backups",
        "--endpoint",
        &server.endpoint(),
        "--credentials",
        shown(&credentials)?,
        "--from",
        shown(&dump)?,
        "--name",
        "a",
        "--report",
        shown(&report)?,
    ])
    .await;
    ensure!(failed.is_err(), "it was stored");
    let told = fs::read_to_string(&report)?;
    ensure!(
        told.contains("SignatureDoesNotMatch"),
        "the report says {told}"
    );
    Ok(())
}
