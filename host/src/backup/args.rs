//! The command line of `windlass backup`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};

/// `windlass backup`.
#[derive(Debug, Args)]
pub struct BackupArgs {
    /// What to do.
    #[command(subcommand)]
    pub command: BackupCommand,
}

/// What to do with backups.
#[derive(Debug, Subcommand)]
pub enum BackupCommand {
    /// Copy a file or a folder to a place, verify it, and tell of it in the termination message.
    Store(StoreArgs),
    /// Copy a backup back.
    Fetch(FetchArgs),
    /// Print the complete backups of a place as JSON, oldest first.
    List(ListArgs),
    /// Remove the backups of a place that have expired; prints their names.
    Prune(PruneArgs),
}

/// Where backups are kept.
#[derive(Debug, Args)]
pub struct PlaceArgs {
    /// s3://BUCKET[/PREFIX], or the absolute path of a mounted folder.
    #[arg(long)]
    pub at: String,
    /// The storage's endpoint, such as https://s3.example.com:9000; AWS itself where none is given.
    #[arg(long, env = "AWS_ENDPOINT_URL")]
    pub endpoint: Option<String>,
    /// The storage's region.
    #[arg(long, env = "AWS_REGION", default_value = "us-east-1")]
    pub region: String,
    /// A folder with the files AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, and AWS_SESSION_TOKEN where there is
    /// one: a mounted Secret.
    #[arg(long, default_value = "/etc/windlass/storage")]
    pub credentials: PathBuf,
    /// Certificates in PEM to trust for the endpoint, beside the usual ones.
    #[arg(long)]
    pub ca: Option<PathBuf>,
}

/// `windlass backup store`.
#[derive(Debug, Args)]
pub struct StoreArgs {
    /// Where to.
    #[command(flatten)]
    pub place: PlaceArgs,
    /// The file or folder to copy.
    #[arg(long)]
    pub from: PathBuf,
    /// The backup's name, of letters, digits, `.`, `_` and `-`. A complete backup of this name is not replaced.
    #[arg(long, value_parser = name)]
    pub name: String,
    /// A file with a JSON object to keep with the backup and to report.
    #[arg(long)]
    pub facts: Option<PathBuf>,
    /// Afterwards remove backups older than this many days; none where it is not given.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=36_500))]
    pub keep_days: Option<u32>,
    /// Where the report goes besides standard output.
    #[arg(long, default_value = "/dev/termination-log")]
    pub report: PathBuf,
}

/// `windlass backup fetch`.
#[derive(Debug, Args)]
pub struct FetchArgs {
    /// Where from.
    #[command(flatten)]
    pub place: PlaceArgs,
    /// The backup's name.
    #[arg(long, value_parser = name)]
    pub name: String,
    /// An empty or absent folder.
    #[arg(long)]
    pub to: PathBuf,
}

/// `windlass backup list`.
#[derive(Debug, Args)]
pub struct ListArgs {
    /// Where.
    #[command(flatten)]
    pub place: PlaceArgs,
}

/// `windlass backup prune`.
#[derive(Debug, Args)]
pub struct PruneArgs {
    /// Where.
    #[command(flatten)]
    pub place: PlaceArgs,
    /// Remove backups older than this many days.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=36_500))]
    pub keep_days: u32,
}

impl StoreArgs {
    /// How long backups are kept; None for ever.
    pub fn keep(&self) -> Option<Duration> {
        self.keep_days.map(days)
    }
}

impl PruneArgs {
    /// How long backups are kept.
    pub fn keep(&self) -> Duration {
        days(self.keep_days)
    }
}

fn days(days: u32) -> Duration {
    Duration::from_secs(24 * 3600) * days
}

fn name(text: &str) -> Result<String, String> {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
    match matches!(text.len(), 1..=200) && text.bytes().all(allowed) && !text.starts_with('.') {
        true => Ok(text.into()),
        false => Err("write 1 to 200 of A-Z, a-z, 0-9, _, - and ., not beginning with .".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_stays_within_its_place() {
        assert_eq!(name("20261129-0200.full"), Ok("20261129-0200.full".into()));
        for text in ["", ".", "..", "a/b", "a b", "ä", &"a".repeat(201)] {
            assert!(name(text).is_err(), "{text}");
        }
    }
}
